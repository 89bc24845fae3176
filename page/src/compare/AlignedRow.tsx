// A row of the comparison: the turn of each history, and how it relates to that of the first.

import type { AlignItem, Turn } from "../api/types.ts";
import { count } from "../format.ts";
import { briefOf, nameOfTurn } from "../task/StepsList.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import type { Line } from "./lines.ts";
import type { Row } from "./merge.ts";
import type { Columns } from "./source.ts";

export const letterOf = (column: number) => "ABCDEF"[column]!;

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

function Content({ turn, note, tone }: { turn: Turn; note: string; tone: string }) {
  const call = turn.calls[0];
  const more = turn.calls.length - 1 + (turn.more_calls ?? 0);
  return (
    <>
      <div class="top">
        <b class="m">
          {words.value.step} {nameOfTurn(turn)}
        </b>
        <span class="m dim">@{turn.first}</span>
        {note && <span class={tone.startsWith("only") ? "bad" : "warn"}>{note}</span>}
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
    </>
  );
}

interface RowProps {
  line: Line | undefined;
  source: Columns;
  /** Histories that are shown beside the first, from 1. */
  columns: readonly number[];
  /** History that keys act on. */
  chosen: number;
  choose: (column: number) => void;
}

/** Says where the turn of an item is in the other history. */
function elsewhere(item: AlignItem, column: number, source: Columns): string {
  const side = item.a ? "b" : "a";
  const { items } = source.pairs[column - 1]!;
  const turn = items.value.find((one) => one[side]?.number === item.other)?.[side];
  const name = turn ? nameOfTurn(turn) : `·${(item.other ?? 0) + 1}`;
  return words.value.alsoIn(letterOf(item.a ? column : 0), name);
}

/** Note and tone of the turn of the first history. */
function ofFirst(row: Row, { columns, source }: RowProps): [note: string, tone: string] {
  const w = words.value;
  const items = columns.map((column) => row.others[column - 1] ?? null);
  const all = (op: AlignItem["op"]) => items.every((item) => item?.op === op);
  if (all("only_a")) return [w.onlyHere, "only"];
  if (all("changed")) return [w.changedHere, "changed"];
  const notes = items.flatMap((item, i) => {
    return item?.op === "moved" ? [elsewhere(item, columns[i]!, source)] : [];
  });
  return [notes.join(", "), notes.length > 0 ? "moved" : ""];
}

function ofOther(item: AlignItem, column: number, row: Row, source: Columns): [string, string] {
  const w = words.value;
  switch (item.op) {
    case "only_a":
      // Where others have the turn, the empty place stands out.
      return ["", row.others.every((one) => !one || one.op === "only_a") ? "" : "only"];
    case "only_b": {
      const isAlone = row.others.every((one) => !one || one === item);
      return [isAlone ? w.onlyHere : w.notInA, "only b"];
    }
    case "moved":
      return item.b ? [elsewhere(item, column, source), "moved"] : ["", ""];
    case "said":
      return [w.saidOtherwise, ""];
    case "changed":
      return [w.changedHere, "changed"];
    default:
      return ["", ""];
  }
}

const SIGNS = { same: "=", said: "≈", changed: "≠", only_a: "A", moved: "⇅" } as const;

function signOf(item: AlignItem | null, column: number): string {
  if (!item) return "";
  return item.op === "only_b" ? letterOf(column) : SIGNS[item.op];
}

function Other({ row, column, ...props }: RowProps & { row: Row; column: number }) {
  const item = row.others[column - 1] ?? null;
  const [note, tone] = item ? ofOther(item, column, row, props.source) : ["", ""];
  const off = column === (props.chosen || props.columns[0]) ? "" : "off";
  const on = column === props.chosen ? "on" : "";
  return (
    <>
      <div class={`op ${off}`}>{signOf(item, column)}</div>
      <div class={`cell ${tone} ${off} ${on}`} onClick={() => props.choose(column)}>
        {item?.b && <Content turn={item.b} note={note} tone={tone} />}
      </div>
    </>
  );
}

export function AlignedRow(props: RowProps) {
  const { line, columns } = props;
  if (!line) return null;
  if ("run" in line) {
    return (
      <>
        <div class="cell dim">{words.value.sameRun(count(line.run))}</div>
        <div class="op">=</div>
      </>
    );
  }
  const { row } = line;
  const [note, tone] = row.a ? ofFirst(row, props) : ["", ""];
  return (
    <>
      <div class={`cell ${tone} ${props.chosen === 0 ? "on" : ""}`} onClick={() => props.choose(0)}>
        {row.a && <Content turn={row.a} note={note} tone={tone} />}
      </div>
      {columns.map((column) => (
        <Other {...props} row={row} column={column} />
      ))}
    </>
  );
}
