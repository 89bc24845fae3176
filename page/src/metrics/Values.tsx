// Values of each history at the cursor of the charts.

import type { Route } from "../address.ts";
import { count, measure, shortTime } from "../format.ts";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import { known, placeAt } from "./lines.ts";

interface ValuesProps {
  route: Extract<Route, { screen: "metrics" }>;
  names: readonly string[];
  x: number | null;
  chosen: number;
  choose: (index: number) => void;
}

function valueOf(name: string, index: number, x: number | null): string {
  const line = known.value.get(name)?.[index];
  if (!line) return "";
  const place = x === null ? line.places[line.places.length - 1] : placeAt(line, x);
  return place ? measure(place.last) : words.value.notThere;
}

export function Values({ route, names, x, chosen, choose }: ValuesProps) {
  const w = words.value;
  const at = x === null ? null : route.x === "time" ? shortTime(x) : count(x);
  const title = at === null ? w.lastValues : w.valuesAt(at);
  return (
    <aside class="pane side" aria-label={title}>
      <div class="doc" tabIndex={0} role="group" aria-label={title}>
        <h2>{title}</h2>
        {route.at.slice(0, 50).map((address, i) => (
          <>
            <h3>
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
                  <dd class="m">{valueOf(name, i, x)}</dd>
                </>
              ))}
            </dl>
          </>
        ))}
      </div>
    </aside>
  );
}
