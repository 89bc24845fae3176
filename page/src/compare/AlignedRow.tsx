// A row of the comparison: the turn of each side, and how they relate.

import type { AlignItem, Turn } from "../api/types.ts";
import { count } from "../format.ts";
import { briefOf, nameOfTurn } from "../task/StepsList.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import type { Line } from "./lines.ts";

interface CellProps {
  turn: Turn | null;
  item: AlignItem;
  side: "a" | "b";
  note: string;
}

function Result({ turn }: { turn: Turn }) {
  const call = turn.calls[0];
  const failed = turn.failed !== undefined || call?.ok === false;
  const text = turn.failed ?? call?.result ?? (call ? words.value.none : turn.heard);
  return (
    <div class={failed ? "m bad" : "m"}>
      {text !== undefined && (
        <>
          <span class={failed ? "" : "dim"}>{failed ? "✗ " : "→ "}</span>
          <Text text={text} />
        </>
      )}
    </div>
  );
}

function Cell({ turn, item, side, note }: CellProps) {
  if (!turn) return <div class="cell" />;
  const only = item.op === "only_a" || item.op === "only_b";
  const tone = only ? `only ${side}` : item.op === "same" ? "" : item.op;
  const call = turn.calls[0];
  const more = turn.calls.length - 1 + Number(turn.more_calls ?? 0);
  return (
    <div class={`cell ${tone}`}>
      <div class="top">
        <b class="m">
          {words.value.step} {nameOfTurn(turn)}
        </b>
        <span class="m dim">@{turn.first}</span>
        {note && <span class={only ? "bad" : "warn"}>{note}</span>}
      </div>
      <div class={call ? "m" : ""}>
        {call ? (
          <>
            <b>
              <Text text={call.tool} />
            </b>{" "}
            <Text text={briefOf(call.arguments ?? "")} />
            {more > 0 && <span class="dim"> +{more}</span>}
          </>
        ) : (
          <Text text={turn.said ?? turn.name ?? ""} />
        )}
      </div>
      <Result turn={turn} />
    </div>
  );
}

function noteOf(item: AlignItem, items: readonly AlignItem[]): string {
  const w = words.value;
  if (item.op === "only_a" || item.op === "only_b") return w.onlyHere;
  if (item.op === "changed") return w.changedHere;
  if (item.op !== "moved") return "";
  const side = item.a ? "b" : "a";
  const turn = items.find((one) => one[side]?.number === item.other)?.[side];
  const name = turn ? nameOfTurn(turn) : `·${Number(item.other) + 1}`;
  return item.a ? w.alsoInB(name) : w.alsoInA(name);
}

const SIGNS = { same: "=", changed: "≠", only_a: "A", only_b: "B", moved: "⇅" } as const;

export function AlignedRow({
  line,
  items,
}: {
  line: Line | undefined;
  items: readonly AlignItem[];
}) {
  if (!line) return null;
  if ("run" in line) {
    return (
      <>
        <div class="cell dim">{words.value.sameRun(count(line.run))}</div>
        <div class="op">=</div>
        <div class="cell" />
      </>
    );
  }
  const { item } = line;
  const note = noteOf(item, items);
  return (
    <>
      <Cell turn={item.a} item={item} side="a" note={note} />
      <div class="op">{SIGNS[item.op]}</div>
      <Cell turn={item.b} item={item} side="b" note={note} />
    </>
  );
}
