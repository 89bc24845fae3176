// Numbers of a chart as a table, for reading aloud and copying.

import type { Axis } from "../address.ts";
import { count, measure, shortTime } from "../format.ts";
import { copy } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import type { Line } from "./lines.ts";

const ROWS = 300;

/** Rows as text, columns divided by tabs. */
export function asTsv(lines: readonly Line[]): string {
  const rows = lines.flatMap((line) =>
    line.places.map((one) =>
      [
        line.address,
        ...[one.x, one.count, one.first, one.last, one.min, one.max],
        ...[one.at, one.lastAt, one.minAt, one.maxAt],
      ].join("\t"),
    ),
  );
  return ["address\tx\tcount\tfirst\tlast\tmin\tmax\toffset\tlast_offset\tmin_offset\tmax_offset", ...rows].join("\n");
}

export function NumbersTable(props: { name: string; lines: readonly Line[]; axis: Axis }) {
  const w = words.value;
  const all = props.lines.flatMap((line) => line.places.map((place) => ({ line, place })));
  const x = (value: number) => (props.axis === "time" ? shortTime(value) : count(value));
  const axis = { step: w.axisStep, time: w.axisTime, offset: w.axisOffset }[props.axis];
  return (
    <>
      <button type="button" onClick={() => void copy(asTsv(props.lines))}>
        {w.copy}
      </button>
      <table class="plain" aria-label={props.name}>
        <thead>
          <tr>
            <th scope="col">{w.lineage}</th>
            <th scope="col" class="num">
              {axis}
            </th>
            <th scope="col" class="num">
              {w.last}
            </th>
            <th scope="col" class="num">
              {w.min}
            </th>
            <th scope="col" class="num">
              {w.max}
            </th>
            <th scope="col" class="num">
              {w.columnEvents}
            </th>
          </tr>
        </thead>
        <tbody>
          {all.slice(0, ROWS).map(({ line, place }) => (
            <tr>
              <th scope="row">
                <Text text={line.address} />
              </th>
              <td class="num">{x(place.x)}</td>
              <td class="num">{measure(place.last)}</td>
              <td class="num">{measure(place.min)}</td>
              <td class="num">{measure(place.max)}</td>
              <td class="num">{count(place.count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {all.length > ROWS && <p class="dim">{w.moreItems(count(all.length - ROWS))}</p>}
    </>
  );
}
