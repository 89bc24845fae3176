// A lineage of a million events that is never held: each event is made from its offset.

import type { Row, Turn } from "../../src/api/types.ts";

export const MILLION = 1_000_000;
/** Events of a turn: step, call, result, end, mark. */
const SIZE = 5;

const KINDS = [
  "step_started",
  "tool_called",
  "tool_returned",
  "step_finished",
  "checkpoint_marked",
];

export function millionEvent(offset: number) {
  const step = Math.floor(offset / SIZE) + 1;
  const kind = KINDS[offset % SIZE]!;
  const failed = step % 5000 === 0;
  const bodies: Record<string, object> = {
    step_started: { step },
    tool_called: { call: `c${step}`, tool: "measure", arguments: `{"at":${step}}` },
    tool_returned: { call: `c${step}`, tool: "measure", ok: !failed, output: `value ${step * 7}` },
    step_finished: { step, metrics: { loss: 1 / step } },
    checkpoint_marked: { label: `step-${step}`, status: "success", cause: "step" },
  };
  return { kind, time_us: 1767600000000000 + offset * 1000, body: { kind, ...bodies[kind] } };
}

export function millionRow(offset: number): Row {
  const event = millionEvent(offset);
  const body = event.body as Record<string, unknown>;
  return {
    offset,
    lineage: 0,
    kind: event.kind,
    time_us: event.time_us,
    text: `${event.kind} ${Math.floor(offset / SIZE) + 1}`,
    ...(typeof body["ok"] === "boolean" ? { ok: body["ok"] } : {}),
  };
}

export const millionTurns = MILLION / SIZE;

export function millionTurn(number: number): Turn {
  const step = number + 1;
  return {
    number,
    step,
    turn: 0,
    first: number * SIZE,
    next: (number + 1) * SIZE,
    took_us: 4000,
    time_us: 1767600000000000 + number * 5000,
    calls: [
      {
        call: `c${step}`,
        tool: "measure",
        arguments: String(step),
        ok: step % 5000 !== 0,
        result: `value ${step * 7}`,
        at: number * SIZE + 1,
      },
    ],
    mark: { label: `step-${step}`, status: "success", at: number * SIZE + 4 },
  };
}
