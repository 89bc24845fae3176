// Rows, turns, summaries, overview, series and alignment of the mock's logs, as docs/READING.md
// describes them; only as exact as the tests need.

import type { AlignItem, Bucket, Row, SeriesBucket, Summary, Turn } from "../../src/api/types.ts";
import type { Body, Lane, Stored, Task } from "./logs.ts";

const short = (text: unknown) => {
  const line = String(typeof text === "string" ? text : JSON.stringify(text ?? "")).replace(
    /[\s\u0000-\u001f\u007f-\u009f]+/g,
    " ",
  );
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
};

export function brief(given: unknown): string {
  let value: unknown = given;
  try {
    if (typeof value === "string") value = JSON.parse(value);
  } catch {
    return short(given);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return short(value);
  const all = Object.values(value).map((one) =>
    typeof one === "string" ? one : JSON.stringify(one),
  );
  return short(all.join(" "));
}

function text(body: Body): string {
  switch (body.kind) {
    case "message":
      return short(`${String(body["role"])}: ${String(body["content"])}`);
    case "tool_called":
      return short(`${String(body["tool"])} ${brief(body["arguments"])}`);
    case "tool_returned":
      return short(`${body["ok"] === false ? "failed: " : ""}${String(body["output"])}`);
    case "step_started":
    case "step_finished":
      return `step ${String(body["step"])}`;
    default: {
      const { kind: _, ...rest } = body;
      return short(rest);
    }
  }
}

export function row(lane: Lane, offset: number): Row {
  const event = lane.events[offset]!;
  const base = {
    offset,
    lineage: offset < lane.fork ? 0 : lane.id,
    kind: event.kind,
    time_us: event.time_us,
    ...(event.actor ? { actor: event.actor } : {}),
  };
  const { body } = event;
  if (!body) return { ...base, text: "(erased)", erased: true };
  const found: Row = { ...base, text: text(body) };
  if (typeof body["call"] === "string") found.call = body["call"];
  if (typeof body["tool"] === "string") found.tool = body["tool"];
  if (typeof body["ok"] === "boolean") found.ok = body["ok"];
  if (event.kind === "checkpoint_marked") found.mark = markOf(event, offset);
  return found;
}

function markOf({ body }: Stored, offset: number): NonNullable<Row["mark"]> {
  return { label: String(body?.["label"]), status: String(body?.["status"]), at: offset };
}

export const markId = (offset: number) => offset.toString(16).padStart(64, "0");

export function isFailed(event: Stored): boolean {
  return event.body?.["ok"] === false || event.kind === "step_failed";
}

interface Open {
  first: number;
  next: number;
  step: number | null;
  turn: number;
}

function hasCall(lane: Lane, of: Open): boolean {
  return lane.events.slice(of.first, of.next).some((one) => one.kind === "tool_called");
}

/** Divides a lineage into turns. */
function ranges(lane: Lane): Open[] {
  const found: Open[] = [];
  let step: number | null = null;
  let turn = 0;
  let now: Open | null = null;
  const begin = (offset: number) => {
    now = { first: offset, next: offset + 1, step, turn: turn++ };
    found.push(now);
  };
  lane.events.forEach((event, offset) => {
    if (event.kind === "step_started") {
      step = Number(event.body?.["step"]);
      turn = 0;
      begin(offset);
    } else if (event.kind === "lineage_opened") now = null;
    else if (now && event.body?.["role"] === "assistant" && hasCall(lane, now)) begin(offset);
    else if (now) {
      now.next = offset + 1;
      const after = lane.events[offset + 1]?.kind === "checkpoint_marked";
      if (event.kind === "checkpoint_marked" || (event.kind === "step_finished" && !after)) {
        now = null;
        step = null;
      }
    }
  });
  return found;
}

/** Whether an event is a message of another role, which is behind what a turn itself does. */
const isHeard = (one: Stored) => one.kind === "message" && one.body?.["role"] !== "assistant";

function turnOf(lane: Lane, open: Open, number: number): Turn {
  const events = lane.events.slice(open.first, open.next);
  const at = (kind: string) => events.filter((one) => one.kind === kind);
  const said = at("message").find((one) => one.body?.["role"] === "assistant");
  const returned = new Map(at("tool_returned").map((one) => [one.body?.["call"], one]));
  const calls = at("tool_called").map((one) => {
    const result = returned.get(one.body?.["call"]);
    return {
      call: String(one.body?.["call"]),
      tool: String(one.body?.["tool"]),
      arguments: brief(one.body?.["arguments"]),
      ok: result ? result.body?.["ok"] !== false : null,
      ...(result ? { result: short(result.body?.["output"]), took_us: 40_000 } : {}),
      at: open.first + events.indexOf(one),
    };
  });
  const mark = events.findIndex((one) => one.kind === "checkpoint_marked");
  const usage = said?.body?.["usage"] as { input: number; output: number; model?: string };
  const metrics = at("step_finished")[0]?.body?.["metrics"] as Record<string, number>;
  const failed = events.find(isFailed);
  const own = events.findLast((one) => one.kind !== "checkpoint_marked" && !isHeard(one));
  const took = (own ?? events[0]!).time_us - events[0]!.time_us;
  return {
    number,
    step: open.step,
    turn: open.turn,
    first: open.first,
    next: open.next,
    time_us: events[0]!.time_us,
    ...(took > 0 ? { took_us: took } : {}),
    calls,
    ...(said ? { said: short(said.body?.["content"]) } : {}),
    ...(failed ? { failed: short(failed.body?.["output"] ?? failed.body?.["error"]) } : {}),
    ...(usage
      ? { usage: { input: usage.input, output: usage.output, model: usage.model ?? null } }
      : {}),
    ...(metrics && Object.keys(metrics).length > 0 ? { metrics } : {}),
    ...(mark < 0 ? {} : { mark: markOf(events[mark]!, open.first + mark) }),
  };
}

const cache = new WeakMap<Stored[], { length: number; turns: Turn[] }>();

export function turnsOf(lane: Lane): Turn[] {
  const known = cache.get(lane.events);
  if (known?.length === lane.events.length) return known.turns;
  const turns = ranges(lane).map((open, i) => turnOf(lane, open, i));
  cache.set(lane.events, { length: lane.events.length, turns });
  return turns;
}

export function overview(lane: Lane, most: number): { width: number; buckets: Bucket[] } {
  let width = 1;
  while (lane.events.length / width > most) width *= 2;
  const buckets: Bucket[] = [];
  for (let from = 0; from < lane.events.length; from += width) {
    const some = lane.events.slice(from, from + width);
    const n = (test: (one: Stored) => boolean) => some.filter(test).length;
    buckets.push({
      from,
      events: some.length,
      steps: n((one) => one.kind === "step_started"),
      calls: n((one) => one.kind === "tool_called"),
      failed: n(isFailed),
      marks: n((one) => one.kind === "checkpoint_marked"),
      time_us: some[0]!.time_us,
    });
  }
  return { width, buckets };
}

export function metricsOf(lane: Lane): Map<string, { step: number; at: number; value: number }[]> {
  const found = new Map<string, { step: number; at: number; value: number }[]>();
  lane.events.forEach((event, at) => {
    const metrics = event.body?.["metrics"];
    if (event.kind !== "step_finished" || !metrics) return;
    for (const [name, value] of Object.entries(metrics as Record<string, number>)) {
      const list = found.get(name) ?? [];
      list.push({ step: Number(event.body?.["step"]), at, value });
      found.set(name, list);
    }
  });
  return found;
}

export function series(lane: Lane, metric: string, points: number, x: string): SeriesBucket[] {
  const values = metricsOf(lane).get(metric) ?? [];
  const size = Math.max(1, Math.ceil(values.length / points));
  const buckets: SeriesBucket[] = [];
  for (let i = 0; i < values.length; i += size) {
    const some = values.slice(i, i + size);
    const numbers = some.map((one) => one.value);
    const first = some[0]!;
    const place = { step: first.step, offset: first.at, time: lane.events[first.at]!.time_us }[x];
    buckets.push({
      x: place ?? first.step,
      first: numbers[0]!,
      last: numbers.at(-1)!,
      min: Math.min(...numbers),
      max: Math.max(...numbers),
      count: numbers.length,
      at: first.at,
      last_at: some.at(-1)!.at,
      min_at: some.find((one) => one.value === Math.min(...numbers))!.at,
      max_at: some.find((one) => one.value === Math.max(...numbers))!.at,
    });
  }
  return buckets;
}

/** Summary of a task, in a list with its newest lineages only. */
export function summary(task: Task, most = 20): Summary {
  const active = task.lanes.find((lane) => lane.id === task.active)!;
  const n = (lane: Lane, test: (one: Stored) => boolean) => lane.events.filter(test).length;
  const counts = (lane: Lane) => ({
    steps: n(lane, (one) => one.kind === "step_started"),
    calls: n(lane, (one) => one.kind === "tool_called"),
    failed: n(lane, isFailed),
  });
  const metrics: Summary["metrics"] = {};
  for (const [name, values] of metricsOf(active)) {
    const numbers = values.map((one) => one.value);
    metrics[name] = {
      last: numbers.at(-1)!,
      min: Math.min(...numbers),
      max: Math.max(...numbers),
    };
  }
  const user = active.events.find((one) => one.body?.["role"] === "user");
  const failed = active.events.findLast(isFailed);
  const changed = active.events.at(-1)?.time_us ?? task.created_us;
  const uses = turnsOf(active).flatMap((turn) => (turn.usage ? [turn.usage] : []));
  const sum = (part: "input" | "output") =>
    uses.reduce((total, one) => total + (one[part] ?? 0), 0);
  const time = (us: number) => new Date(us / 1000).toISOString();
  return {
    id: task.id,
    user: task.user,
    title: user ? short(user.body?.["content"]) : null,
    created: time(task.created_us),
    created_us: task.created_us,
    changed: time(changed),
    changed_us: changed,
    active: task.active,
    head: active.events.length,
    events: task.lanes.reduce((all, lane) => all + lane.events.length - lane.fork, 0),
    control: task.control,
    ...counts(active),
    last_error: failed ? short(failed.body?.["output"]) : null,
    metrics,
    ...(uses.length > 0 ? { usage: { input: sum("input"), output: sum("output") } } : {}),
    lineages: task.lanes.slice(-most).map((lane) => ({
      id: lane.id,
      head: lane.events.length,
      parent: lane.parent,
      fork: lane.parent === null ? null : lane.fork,
      outcome: lane.outcome as Summary["lineages"][number]["outcome"],
      ...counts(lane),
    })),
    older_lineages: Math.max(0, task.lanes.length - most),
  };
}

function key(turn: Turn): string {
  if (turn.calls.length === 0) return `said ${turn.said ?? ""}`;
  return turn.calls.map((call) => `${call.tool} ${call.arguments}`).join("|");
}

/** Aligns two lists of turns by their longest common subsequence. */
export function align(a: Turn[], b: Turn[]): AlignItem[] {
  const [m, n] = [a.length, b.length];
  const best = Array.from({ length: m + 1 }, () => new Array<number>(n + 1).fill(0));
  for (let i = m - 1; i >= 0; i--) {
    for (let j = n - 1; j >= 0; j--) {
      best[i]![j] =
        key(a[i]!) === key(b[j]!)
          ? best[i + 1]![j + 1]! + 1
          : Math.max(best[i + 1]![j]!, best[i]![j + 1]!);
    }
  }
  const items: AlignItem[] = [];
  let [i, j] = [0, 0];
  while (i < m || j < n) {
    if (i < m && j < n && key(a[i]!) === key(b[j]!)) {
      items.push({ op: "same", a: a[i++]!, b: b[j++]!, other: null });
    } else if (j >= n || (i < m && best[i + 1]![j]! >= best[i]![j + 1]!)) {
      items.push({ op: "only_a", a: a[i++]!, b: null, other: null });
    } else items.push({ op: "only_b", a: null, b: b[j++]!, other: null });
  }
  items.forEach((item) => {
    if (item.op !== "only_a") return;
    const other = items.findIndex((one) => one.op === "only_b" && key(one.b!) === key(item.a!));
    if (other < 0) return;
    item.op = "moved";
    item.other = items[other]!.b!.number;
    items[other]!.op = "moved";
    items[other]!.other = item.a!.number;
  });
  return items;
}
