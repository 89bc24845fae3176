// Small parts that all screens share.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Problem } from "../api/problem.ts";
import { stringify } from "../api/numbers.ts";
import type { Outcome } from "../api/types.ts";
import { say } from "../app-state.ts";
import { clock } from "../format.ts";
import { keyOf } from "../keys.ts";
import type { Act } from "../keys.ts";
import { screenAction } from "../keyboard.ts";
import { Text } from "../text/Text.tsx";
import type { Asked } from "../use-ask.ts";
import { words } from "../words/index.ts";

export function Key({ act }: { act: Act }) {
  return <kbd aria-hidden="true">{keyOf(act)}</kbd>;
}

/** Button of an action: what its key does, disabled with the reason. */
export function ActButton(props: { act: Act; main?: boolean; children: ComponentChildren }) {
  const action = screenAction(props.act);
  const why = action ? action.why : words.value.notYet;
  return (
    <button
      type="button"
      class={props.main ? "main" : ""}
      aria-disabled={why !== undefined}
      aria-keyshortcuts={keyOf(props.act)}
      title={why}
      onClick={() => (why === undefined ? action?.run() : say(why))}
    >
      {props.children} <Key act={props.act} />
    </button>
  );
}

export function ProblemBox({ problem, reload }: { problem: Problem; reload?: () => void }) {
  const w = words.value;
  const missing = problem.status === 404;
  const title = missing ? w.notFound : problem.title || w.failedTitle;
  const detail = problem.status === 0 ? w.noAnswer : problem.detail;
  return (
    <div class="state" role="alert">
      <h2>{title}</h2>
      <p>
        <Text text={missing && !detail ? w.notFoundHow : detail} />
      </p>
      {problem.hint && <p class="dim">{problem.hint}</p>}
      {problem.instance && (
        <p class="dim">
          {w.requestId} <code>{problem.instance}</code> <Copy text={problem.instance} />
        </p>
      )}
      {reload && (
        <button type="button" onClick={reload}>
          {w.reload}
        </button>
      )}
    </div>
  );
}

/** Shown while an answer is missing: nothing at first, then a line; the error if it failed. */
export function Waiting({ of, what }: { of: Asked<unknown>; what: string }) {
  const w = words.value;
  if (of.problem) return <ProblemBox problem={of.problem} reload={of.reload} />;
  if (!of.slow) return null;
  return (
    <div class="state dim" role="status">
      {of.long ? w.stillReading(what) : w.loading}
      {of.long && (
        <button type="button" onClick={of.stop}>
          {w.stop}
        </button>
      )}
    </div>
  );
}

/** Line above what stays on the screen though asking again failed. */
export function Stale({ of }: { of: Asked<unknown> }) {
  if (!of.problem || of.value === null) return null;
  return (
    <div class="bar warn" role="status">
      {of.problem.detail || of.problem.title || words.value.noAnswer} ·{" "}
      {words.value.asOf(clock(of.asOf))}
      <button type="button" onClick={of.reload}>
        {words.value.reload}
      </button>
    </div>
  );
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(words.value.copied);
}

export function Copy({ text }: { text: string }) {
  return (
    <button type="button" class="link" onClick={() => void copy(text)}>
      {words.value.copy}
    </button>
  );
}

/** Mark of an outcome: a sign and a word for those who do not see the colour. */
export function OutcomeSign({ of, long = false }: { of: Outcome; long?: boolean }) {
  const w = words.value;
  const sign = of.good === true ? "✓" : of.good === false ? "✗" : "·";
  const tone = of.good === true ? "ok" : of.good === false ? "bad" : "dim";
  const text = outcomeText(of);
  const spoken = of.good === true ? w.good : of.good === false ? w.bad : (text ?? w.notRecorded);
  return (
    <span class={tone}>
      <span aria-hidden="true">{sign}</span>
      <span class="hidden">{spoken}</span>
      {long && text !== null && (
        <>
          {" "}
          <Text text={text} />
        </>
      )}
    </span>
  );
}

export function outcomeText(of: Outcome): string | null {
  const { value, status } = of;
  if (value !== undefined && value !== null) {
    return typeof value === "string" ? value : stringify(value);
  }
  return status ?? null;
}

export function controlWord(control: string): string {
  const w = words.value;
  const known: Record<string, string> = {
    idle: w.controlIdle,
    running: w.controlRunning,
    paused: w.controlPaused,
    stopped: w.controlStopped,
  };
  return known[control] ?? control;
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  of: readonly (readonly [value: T, name: string])[];
  onChange: (value: T) => void;
  plain?: boolean;
}

/** Choice of a few, as a select with a name. */
export function Choice<T extends string>(props: ChoiceProps<T>) {
  const id = useId();
  return (
    <span class="choice">
      <label for={id} class={props.plain ? "" : "hidden"}>
        {props.label}
      </label>
      <select
        id={id}
        value={props.value}
        onChange={(event) => props.onChange(event.currentTarget.value as T)}
      >
        {props.of.map(([value, name]) => (
          <option value={value} selected={value === props.value}>
            {name}
          </option>
        ))}
      </select>
    </span>
  );
}

/** Name and value in a list of facts; "not recorded" where there is no value. */
export function Fact({ name, children }: { name: string; children?: ComponentChildren }) {
  const empty = children === null || children === undefined || children === "";
  return (
    <>
      <dt>{name}</dt>
      <dd>{empty ? <span class="dim">{words.value.notRecorded}</span> : children}</dd>
    </>
  );
}
