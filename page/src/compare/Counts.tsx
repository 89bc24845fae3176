// Counts of the alignments, above their rows: a line for each history.

import { count } from "../format.ts";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import { letterOf } from "./AlignedRow.tsx";
import type { AlignSource, Columns } from "./source.ts";

function placeOf(pair: AlignSource, letter: string): string {
  const first = pair.items.value.find((item) => item.op !== "same" && item.op !== "said");
  if (!first) return pair.done.value ? words.value.noDifference : "…";
  const places = [first.a && `A @${first.a.first}`, first.b && `${letter} @${first.b.first}`];
  return places.filter(Boolean).join(" · ");
}

function Numbers({ pair, letter }: { pair: AlignSource; letter: string }) {
  const counts = pair.counts.value;
  // What has no alignment says why.
  const problem = pair.problem.value;
  if (problem) {
    return (
      <td class="warn" colSpan={7}>
        <Text text={problem.detail || problem.title || words.value.noAnswer} />
      </td>
    );
  }
  if (!counts) return <td colSpan={7}>…</td>;
  const cells: [number, string][] = [
    [pair.common.value, ""],
    [counts.same, ""],
    [counts.changed, "warn"],
    [counts.only_a, "bad"],
    [counts.only_b, "bad"],
    [counts.moved, "warn"],
  ];
  return (
    <>
      {cells.map(([value, tone]) => (
        <td class={value === 0 ? "" : tone}>{count(value)}</td>
      ))}
      <td>{placeOf(pair, letter)}</td>
    </>
  );
}

export function Counts({ source }: { source: Columns }) {
  const w = words.value;
  const names = [
    w.compareWith,
    w.commonTurns,
    w.sameTurns,
    w.changedTurns,
    w.onlyInA,
    w.onlyInOther,
    w.movedTurns,
    w.firstDifference,
  ];
  return (
    <table class="facts">
      <thead>
        <tr>
          {names.map((name) => (
            <th scope="col">{name}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {source.pairs.map((pair, i) => (
          <tr>
            <th scope="row">
              {letterOf(i + 1)} <Text text={pair.b} />
            </th>
            <Numbers pair={pair} letter={letterOf(i + 1)} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}
