// List of turns, a line each; open turns show their events.

import { parse, stringify } from "../api/numbers.ts";
import type { Row, Turn } from "../api/types.ts";
import { count, measure } from "../format.ts";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";

/** Number of a turn as it is shown: that of its step, and of the turn within it. */
export function nameOfTurn(turn: Turn): string {
  if (turn.step == null) return `·${turn.number + 1}`;
  const within = turn.turn === 0 ? "" : `.${turn.turn + 1}`;
  return `${turn.step}${within}`;
}

function MarkSign({ mark }: { mark: Turn["mark"] }) {
  if (!mark) return null;
  const bad = mark.status === "failure";
  return (
    <span class={bad ? "bad" : "dim"} title={mark.label ?? undefined}>
      <span aria-hidden="true">{bad ? "◆ ✗" : "◆"}</span>
      <span class="hidden">{mark.label ?? words.value.checkpoint}</span>
    </span>
  );
}

export function hasFailed(turn: Turn): boolean {
  return Boolean(turn.failed) || turn.calls.some((call) => call.ok === false);
}

/** Values of arguments that are a JSON object, as one line; other arguments as they are. */
export function briefOf(given: string): string {
  if (!given.startsWith("{")) return given;
  try {
    const values = Object.values(parse(given) as object);
    return values
      .map((value: unknown) => (typeof value === "string" ? value : stringify(value)))
      .join(" · ");
  } catch {
    return given;
  }
}

function firstLine(turn: Turn) {
  const call = turn.calls[0];
  if (call) {
    const others = turn.calls.length - 1 + (turn.more_calls ?? 0);
    return (
      <span class="m">
        <b>
          <Text text={call.tool} />
        </b>{" "}
        <Text text={briefOf(call.arguments ?? "")} />
        {others > 0 && <span class="dim"> +{others}</span>}
      </span>
    );
  }
  return (
    <span>
      {turn.said ? <b>assistant</b> : <b>{words.value.step}</b>}{" "}
      <Text text={turn.said ?? turn.name ?? ""} />
    </span>
  );
}

/** A number as it is read; NaN and infinities come as texts. */
function number(value: number | string): string {
  return typeof value === "number" ? measure(value) : value;
}

function metricsText(turn: Turn): string {
  const metrics = Object.entries(turn.metrics ?? {});
  return metrics.map(([name, value]) => `${name} ${number(value)}`).join("  ");
}

function secondLine(turn: Turn) {
  const call = turn.calls[0];
  if (turn.failed) {
    return (
      <span class="m bad">
        ✗ <Text text={turn.failed} />
      </span>
    );
  }
  if (call) {
    const failed = call.ok === false;
    return (
      <span class={failed ? "m bad" : "m"}>
        {failed ? "✗" : "→"} <Text text={call.result ?? words.value.none} />
      </span>
    );
  }
  const metrics = metricsText(turn);
  return (
    <span class={metrics ? "m" : ""}>{turn.heard ? <Text text={turn.heard} /> : metrics}</span>
  );
}

interface TurnRowProps {
  turn: Turn;
  open: boolean;
  /** If the turn begins a step of several: how many turns are folded, or 0; and folds them. */
  step: { turns: number; toggle: () => void } | null;
}

function StepButton({ turn, step }: { turn: Turn; step: NonNullable<TurnRowProps["step"]> }) {
  const w = words.value;
  const name = nameOfTurn(turn);
  return (
    <button
      type="button"
      class="link"
      tabIndex={-1}
      aria-label={step.turns > 0 ? w.unfoldStep(name, count(step.turns)) : w.foldStep(name)}
      onClick={(event) => {
        event.stopPropagation();
        step.toggle();
      }}
      onDblClick={(event) => event.stopPropagation()}
    >
      {step.turns > 0 ? `+ ${w.countTurns(count(step.turns))}` : `− ${w.fold}`}
    </button>
  );
}

export function TurnRow({ turn, open, step }: TurnRowProps) {
  return (
    <>
      <span class="l1">
        <span class="m dim">
          <span aria-hidden="true">{open ? "▾ " : "▸ "}</span>
          {nameOfTurn(turn)}
        </span>
        {firstLine(turn)}
        <span class="m">
          <MarkSign mark={turn.mark} /> {step && <StepButton turn={turn} step={step} />}
        </span>
      </span>
      <span class="l2 dim">
        <span />
        {secondLine(turn)}
        <span class="m">@{turn.first}</span>
      </span>
    </>
  );
}

/** Short word of a kind of event. */
export function kindWord(row: Pick<Row, "kind" | "mark">): string {
  const w = words.value;
  const short: Record<string, string> = {
    tool_called: w.call,
    tool_returned: w.result,
    message: w.kindMessage,
    checkpoint_marked: `◆ ${w.kindMark}`,
    lineage_opened: `↳ ${w.lineage}`,
    step_started: w.hintStep,
    step_finished: w.kindEnd,
    step_failed: `✗ ${w.kindEnd}`,
    guidance_given: w.kindGuidance,
    control_changed: w.control,
  };
  return short[row.kind] ?? row.kind;
}

export function EventCells({ row }: { row: Row }) {
  const failed = row.ok === false || row.kind === "step_failed";
  const mono = row.kind.startsWith("tool_");
  const tool = row.kind === "tool_called" && row.tool && !row.text.startsWith(row.tool);
  return (
    <>
      <span class="m dim">@{row.offset}</span>
      <span class="m dim">{kindWord(row)}</span>
      <span class={`${mono ? "m" : ""} ${failed ? "bad" : ""}`}>
        {tool && (
          <b>
            <Text text={row.tool ?? ""} />{" "}
          </b>
        )}
        {row.erased ? <i class="dim">{row.text}</i> : <Text text={row.text} />}
      </span>
      <span class="m dim">{row.actor && <Text text={row.actor} />}</span>
    </>
  );
}
