// Counts of an alignment, above its items.

import { count } from "../format.ts";
import { words } from "../words/index.ts";
import type { AlignSource } from "./source.ts";

export function Counts({ source }: { source: AlignSource }) {
  const w = words.value;
  const counts = source.counts.value!;
  const first = source.items.value.find((item) => item.op !== "same");
  const place = first
    ? [first.a && `A @${first.a.first}`, first.b && `B @${first.b.first}`]
        .filter(Boolean)
        .join(" · ")
    : w.noDifference;
  const facts: [string, string, string][] = [
    [w.commonTurns, count(source.common.value), ""],
    [w.sameTurns, count(counts.same), ""],
    [w.changedTurns, count(counts.changed), counts.changed === "0" ? "" : "warn"],
    [w.onlyInA, count(counts.only_a), counts.only_a === "0" ? "" : "bad"],
    [w.onlyInB, count(counts.only_b), counts.only_b === "0" ? "" : "bad"],
    [w.movedTurns, count(counts.moved), counts.moved === "0" ? "" : "warn"],
    [w.firstDifference, place, ""],
  ];
  return (
    <div class="facts">
      {facts.map(([name, value, tone]) => (
        <div>
          <span>{name}</span>
          <b class={tone}>{value}</b>
        </div>
      ))}
    </div>
  );
}
