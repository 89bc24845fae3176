// Values of each history at the cursor of the charts.

import type { Route } from "../address.ts";
import { count, measure, shortTime } from "../format.ts";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import type { Pointed } from "./Chart.tsx";
import { endsOf, known, lookOf, nearest, placeAt } from "./lines.ts";
import type { Line, Near } from "./lines.ts";

/** Histories of which all have their least and greatest values; of more, the chosen one. */
const FEW = 10;

interface ValuesProps {
  route: Extract<Route, { screen: "metrics" }>;
  names: readonly string[];
  pointed: Pointed | null;
  chosen: number;
  choose: (index: number) => void;
  onOpen: (address: string, offset: number) => void;
}

/** Values of a bucket: the last one, or that at the pointer, and how far the others reach. */
function valueOf(name: string, index: number, pointed: Pointed | null) {
  const w = words.value;
  const line = known.value.get(name)?.[index];
  if (!line) return "";
  const place = pointed ? placeAt(line, pointed.x) : line.places.at(-1);
  if (!place) return w.notThere;
  const near = pointed?.name === name ? nearest(place, pointed.height).value : place.last;
  return (
    <>
      {measure(near)}
      {place.min !== place.max && (
        <span class="dim">
          {" "}
          {w.ofValues(count(place.count), measure(place.min), measure(place.max))}
        </span>
      )}
    </>
  );
}

/** The least and the greatest value of a line, which lead to their events. */
function Ends({ line, open }: { line: Line | undefined; open: (offset: number) => void }) {
  const w = words.value;
  const ends = line && endsOf(line);
  if (!ends) return null;
  const link = (name: string, { value, at }: Near) => (
    <>
      {name}{" "}
      <button type="button" class="link" title={`@${at}`} onClick={() => open(at)}>
        {measure(value)}
      </button>{" "}
    </>
  );
  return (
    <div class="dim">
      {link(w.min, ends.min)}
      {link(w.max, ends.max)}
    </div>
  );
}

/** Piece of a line, as the charts draw it. */
function Swatch({ index, chosen }: { index: number; chosen: number }) {
  const { colour, dash, width } = lookOf(index, chosen);
  return (
    <svg width="26" height="8" aria-hidden="true">
      <path
        d="M0 4H26"
        style={{ stroke: `var(${colour})`, strokeWidth: String(width) }}
        stroke-dasharray={dash.join(" ")}
      />
    </svg>
  );
}

export function Values({ route, names, pointed, chosen, choose, onOpen }: ValuesProps) {
  const w = words.value;
  const x = pointed?.x ?? null;
  const at = x === null ? null : route.x === "time" ? shortTime(x) : count(x);
  const title = at === null ? w.lastValues : w.valuesAt(at);
  return (
    <aside class="pane side" aria-label={title}>
      <div class="doc" tabIndex={0} role="group" aria-label={title}>
        <h2>{title}</h2>
        {route.at.slice(0, 50).map((address, i) => (
          <>
            <h3>
              <Swatch index={i} chosen={chosen} />
              <button
                type="button"
                class="link"
                aria-pressed={i === chosen}
                onClick={() => choose(i)}
              >
                {i === chosen ? (
                  <b>
                    <Text text={address} />
                  </b>
                ) : (
                  <Text text={address} />
                )}
              </button>
            </h3>
            <dl>
              {names.map((name) => (
                <>
                  <dt>
                    <Text text={name} />
                  </dt>
                  <dd class="m">
                    {valueOf(name, i, pointed)}
                    {(i === chosen || route.at.length <= FEW) && (
                      <Ends
                        line={known.value.get(name)?.[i]}
                        open={(offset) => onOpen(address, offset)}
                      />
                    )}
                  </dd>
                </>
              ))}
            </dl>
          </>
        ))}
      </div>
    </aside>
  );
}
