// Answers of the mock to the routes of /v1 that read.

import type {
  Bisected,
  Change,
  Checkpoint,
  Event,
  Json,
  Lineage,
  Page,
  SharePlan,
  Summary,
} from "../../src/api/types.ts";
import { valueAt } from "../../src/pointer.ts";
import type { Lane, Task } from "./logs.ts";
import { MILLION, millionEvent, millionRow, millionTurn, millionTurns } from "./million.ts";
import {
  align,
  isFailed,
  markId,
  metricsOf,
  overview,
  row,
  series,
  summary,
  turnsOf,
} from "./reading.ts";
import type { World } from "./world.ts";

export class Refused extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
  }
}

const hash = (task: string, lineage: number, offset: number) =>
  Array.from({ length: 64 }, (_, i) =>
    ((offset * 31 + lineage * 7 + task.length * i + i * 13) % 16).toString(16),
  ).join("");

export function taskOf(world: World, id: string): Task {
  const task = world.tasks.get(id);
  if (!task) throw new Refused(404, `there is no task \`${id}\``);
  return task;
}

export function laneOf(task: Task, lineage: string | null): Lane {
  const id = lineage === null ? task.active : Number(lineage);
  const lane = task.lanes.find((one) => one.id === id);
  if (!lane) throw new Refused(404, `there is no lineage ${id}`);
  return lane;
}

export interface At {
  task: Task;
  lane: Lane;
  offset: number;
}

export function pointOf(world: World, address: string): At {
  const sign = address.lastIndexOf("@");
  const name = sign < 0 ? address : address.slice(0, sign);
  const selector = sign < 0 ? null : address.slice(sign + 1);
  const slash = /^(.*)\/(\d+)$/.exec(name);
  const task = taskOf(world, slash ? slash[1]! : name);
  const lane = laneOf(task, slash ? slash[2]! : null);
  if (selector === null) return { task, lane, offset: lane.events.length };
  if (/^\d+$/.test(selector)) {
    const offset = Number(selector);
    if (offset > lane.events.length) throw new Refused(404, `${address} is past the head`);
    return { task, lane, offset };
  }
  const mark = lane.events.findIndex((one) => one.body?.["label"] === selector);
  if (mark < 0) throw new Refused(404, `there is no mark ${selector}`);
  return { task, lane, offset: mark };
}

export function pointForm(at: At) {
  return {
    address: `${at.task.id}/${at.lane.id}@${at.offset}`,
    task: at.task.id,
    lineage: at.lane.id,
    offset: at.offset,
    hash: hash(at.task.id, at.lane.id, at.offset),
  };
}

export function lineageForm(task: Task, lane: Lane): Lineage {
  const head = lane.events.length;
  const parent = lane.parent;
  const time = lane.events[lane.fork]?.time_us ?? task.created_us;
  return {
    id: lane.id,
    type: lane.type,
    description: lane.description,
    parent:
      parent === null
        ? null
        : { lineage: parent, offset: lane.fork, hash: hash(task.id, parent, lane.fork) },
    opened: new Date(time / 1000).toISOString(),
    opened_us: time,
    head,
    hash: hash(task.id, lane.id, head),
    begin: lane.begin ?? 0,
    events: head - lane.fork,
    active: lane.id === task.active,
  };
}

function cutTexts(value: unknown, most: number, pointer: string): unknown {
  if (typeof value === "string" && value.length > most) {
    return { cut: value.slice(0, most), bytes: value.length, pointer };
  }
  if (Array.isArray(value)) return value.map((one, i) => cutTexts(one, most, `${pointer}/${i}`));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, cutTexts(one, most, `${pointer}/${name}`)]),
  );
}

export function eventForm(task: Task, lane: Lane, offset: number): Event {
  const event = lane.events[offset];
  if (!event) throw new Refused(404, "there is no event at the head");
  return {
    offset,
    lineage: lane.id,
    kind: event.kind,
    time: new Date(event.time_us / 1000).toISOString(),
    time_us: event.time_us,
    user: task.user,
    ...(event.actor ? { actor: event.actor } : {}),
    body: event.body as Event["body"],
  };
}

/** State of a run after the events before an offset, as far as the tests look at it. */
export function stateOf(at: At): Record<string, unknown> {
  const state: Record<string, unknown> = {
    control: at.task.control,
    message_count: 0,
    metrics: {},
    step: null,
    variables: {},
  };
  const messages: unknown[] = [];
  at.lane.events.slice(0, at.offset).forEach((event, offset) => {
    const body = event.body ?? {};
    if (event.kind === "step_started")
      state["step"] = { number: (body as { step: number }).step, status: "running" };
    if (event.kind === "step_finished") {
      const done = body as { step: number; metrics?: object };
      state["step"] = { number: done.step, status: "finished" };
      state["metrics"] = { ...(state["metrics"] as object), ...done.metrics };
    }
    if (event.kind === "variables_patched") {
      const { patch } = body as { patch?: object };
      state["variables"] = { ...(state["variables"] as object), ...patch };
    }
    if (["message", "tool_called", "tool_returned"].includes(event.kind)) {
      messages.push({ offset, ...body });
    }
  });
  state["message_count"] = messages.length;
  state["messages"] = messages;
  return state;
}

function changes(a: unknown, b: unknown, path: string, found: object[]): void {
  if (JSON.stringify(a) === JSON.stringify(b)) return;
  const inside = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null;
  if (inside(a) && inside(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      changes(a[name], b[name], `${path}/${name}`, found);
    }
  } else if (a === undefined) found.push({ path, kind: "add", after: b });
  else if (b === undefined) found.push({ path, kind: "remove", before: a });
  else found.push({ path, kind: "replace", before: a, after: b });
}

export function diff(a: At, b: At): object[] {
  const found: object[] = [];
  changes(stateOf(a), stateOf(b), "", found);
  return found;
}

function matches(item: Summary, q: string): boolean {
  return q
    .split(/\s+/)
    .filter(Boolean)
    .every((word) => {
      const [, name, rest] = /^(\w+):(.*)$/.exec(word) ?? [];
      const than = (value: number) => {
        const [, sign, number] = /^([<>]?)(.*)$/.exec(rest ?? "") ?? [];
        if (sign === ">") return value > Number(number);
        return sign === "<" ? value < Number(number) : value === Number(number);
      };
      if (name === "has") return item.failed > 0;
      if (name === "state") return item.control === rest;
      if (name === "user") return item.user === rest;
      if (name === "lineages") return than(item.lineages.length);
      if (name === "outcome") {
        return item.lineages.some((one) => JSON.stringify(one.outcome.value) === rest);
      }
      if (name === "steps" || name === "calls" || name === "failed") return than(item[name]);
      return `${item.id} ${item.title ?? ""}`.toLowerCase().includes(word.toLowerCase());
    });
}

function sortValue(item: Summary, column: string): number | string {
  if (column === "id") return item.id;
  if (column === "changed" || column === "created") return item[`${column}_us`];
  if (column === "outcome") return Number(item.lineages[0]?.outcome.good ?? 2);
  if (column === "tokens") return item.usage?.input ?? 0;
  if (column.startsWith("metric:")) return item.metrics[column.slice(7)]?.last ?? 0;
  return item[column as "steps" | "calls" | "failed" | "events"] ?? 0;
}

export function summariesPage(world: World, get: URLSearchParams) {
  const sort = get.get("sort") || "-changed";
  const sign = sort.startsWith("-") ? -1 : 1;
  const column = sort.replace(/^-/, "");
  const all = [...world.tasks.values()]
    .map((task) => summary(task))
    .filter((item) => matches(item, get.get("q") ?? ""));
  all.sort((a, b) => {
    const [x, y] = [sortValue(a, column), sortValue(b, column)];
    return (x < y ? -1 : x > y ? 1 : 0) * sign;
  });
  const from = Number(get.get("cursor") ?? 0);
  const limit = Number(get.get("limit") ?? 100);
  const next = from + limit < all.length ? String(from + limit) : null;
  return { items: all.slice(from, from + limit), next, total: all.length };
}

export function rowsPage(lane: Lane, get: URLSearchParams) {
  const head = lane.events.length;
  const to = Math.min(head, Number(get.get("to") ?? head));
  const limit = Number(get.get("limit") ?? 100);
  const kind = get.get("kind")?.split(",");
  const text = get.get("text")?.toLowerCase();
  const items = [];
  let offset = Number(get.get("from") ?? 0);
  for (; offset < to && items.length < limit; offset++) {
    const event = lane.events[offset]!;
    if (kind && !kind.includes(event.kind)) continue;
    if (get.get("failed") === "true" && !isFailed(event)) continue;
    const one = row(lane, offset);
    if (
      text &&
      !JSON.stringify(event.body ?? "")
        .toLowerCase()
        .includes(text)
    )
      continue;
    items.push(one);
  }
  return { items, next: offset < to ? offset : null, head };
}

export function turnsPage(lane: Lane, get: URLSearchParams) {
  const all = turnsOf(lane);
  const head = lane.events.length;
  const limit = Number(get.get("limit") ?? 100);
  let from = Number(get.get("from") ?? 0);
  const near = get.get("near");
  if (near !== null) {
    const at = all.findLastIndex((turn) => turn.first <= Number(near));
    from = Math.max(0, at - Math.floor(limit / 2));
  }
  const items = all.slice(from, from + limit);
  const next = from + limit < all.length ? from + limit : null;
  return { items, next, total: all.length, read: head, head };
}

/** Answers about the task of a million events. */
export function millionAnswer(path: string, get: URLSearchParams): unknown {
  const head = MILLION;
  const limit = Number(get.get("limit") ?? 100);
  const from = Number(get.get("from") ?? 0);
  const range = (start: number, end: number) =>
    Array.from({ length: Math.max(0, end - start) }, (_, i) => start + i);
  if (path.endsWith("/rows") || path.endsWith("/events")) {
    const to = Math.min(MILLION, Number(get.get("to") ?? MILLION));
    const failed = get.get("failed") === "true";
    const offsets = failed
      ? range(0, 40)
          .map((i) => (i + 1) * 25_000 - 3)
          .filter((o) => o >= from && o < to)
      : range(from, Math.min(from + limit, to));
    const items = path.endsWith("/rows")
      ? offsets.map(millionRow)
      : offsets.map((offset) => ({ offset, lineage: 0, ...millionEvent(offset) }));
    return { items, next: null, head };
  }
  if (path.endsWith("/turns")) {
    const near = get.get("near");
    const start = near === null ? from : Math.max(0, Math.floor(Number(near) / 5) - limit / 2);
    const items = range(start, Math.min(start + limit, millionTurns)).map(millionTurn);
    return { items, next: null, total: millionTurns, read: head, head };
  }
  return undefined;
}

export function seriesAnswer(world: World, get: URLSearchParams) {
  const items = get.getAll("at").map((address) => {
    const at = pointOf(world, address);
    const buckets = series(
      at.lane,
      get.get("metric") ?? "",
      Number(get.get("points") ?? 500),
      get.get("x") ?? "step",
    );
    return { address, buckets, read: at.offset, head: at.offset };
  });
  return { items };
}

export function searchAnswer(world: World, text: string) {
  const items = [];
  let events = 0;
  for (const task of world.tasks.values()) {
    for (const lane of task.lanes) {
      for (let i = lane.fork; i < lane.events.length; i++) {
        events += 1;
        const has = JSON.stringify(lane.events[i]!.body ?? "").includes(text);
        if (has)
          items.push({ address: `${task.id}/${lane.id}@${i}`, task: task.id, row: row(lane, i) });
      }
    }
  }
  return { items: items.slice(0, 100), next: null, events };
}

/** Reads on in a lineage. Returns the part of it that was read, and how far that is. */
function readOn(world: World, lane: Lane): { part: Lane; read: number; head: number } {
  const head = lane.events.length;
  const read = Math.min(head, (world.read.get(lane) ?? 0) + world.slice);
  world.read.set(lane, read);
  const part = read < head ? { ...lane, events: lane.events.slice(0, read) } : lane;
  return { part, read, head };
}

export function metricsAnswer(world: World, lane: Lane) {
  const { part, ...progress } = readOn(world, lane);
  const items = [...metricsOf(part)].map(([name, values]) => {
    const numbers = values.map((one) => one.value);
    return {
      name,
      count: numbers.length,
      last: numbers.at(-1),
      min: Math.min(...numbers),
      max: Math.max(...numbers),
    };
  });
  return { items, ...progress };
}

export function alignAnswer(a: At, b: At, get: URLSearchParams) {
  const items = align(turnsOf(a.lane), turnsOf(b.lane));
  const n = (op: string) => items.filter((item) => item.op === op).length;
  const from = Number(get.get("from") ?? 0);
  const limit = Number(get.get("limit") ?? 1000);
  const first = items.findIndex((item) => item.op !== "same");
  return {
    common: first < 0 ? items.length : first,
    counts: {
      same: n("same"),
      said: n("said"),
      changed: n("changed"),
      only_a: n("only_a"),
      only_b: n("only_b"),
      moved: n("moved"),
    },
    items: items.slice(from, from + limit),
    next: from + limit < items.length ? from + limit : null,
  };
}

export function eventAnswer(at: At, cut: number) {
  const event = eventForm(at.task, at.lane, at.offset);
  const body = cutTexts(event.body, cut, "") as Event["body"];
  const mark = event.kind === "checkpoint_marked" ? { checkpoint: markId(at.offset) } : {};
  return { ...event, body, task: at.task.id, hash: pointForm(at).hash, ...mark };
}

export function overviewAnswer(world: World, lane: Lane, get: URLSearchParams) {
  const { part, ...progress } = readOn(world, lane);
  const parts = overview(part, Number(get.get("buckets") ?? 200));
  return { ...parts, turns: turnsOf(part).length, ...progress };
}

/** Marks of all lanes, the last lane first; two a page. */
export function checkpointsPage(task: Task, get: URLSearchParams): Page<Checkpoint> {
  const all: Checkpoint[] = task.lanes.toReversed().flatMap((lane) => {
    const own = lane.events.map((event, offset) => ({ event, offset })).slice(lane.fork);
    const marks = own.filter(({ event }) => event.kind === "checkpoint_marked").toReversed();
    return marks.map(({ event, offset }) => ({
      id: markId(offset),
      task: task.id,
      lineage: lane.id,
      at: offset,
      mark: offset,
      label: String(event.body?.["label"] ?? ""),
      status: String(event.body?.["status"]),
      cause: String(event.body?.["cause"]),
      time: new Date(event.time_us / 1000).toISOString(),
      time_us: event.time_us,
      aliases: [],
      hash: hash(task.id, lane.id, offset),
    }));
  });
  const from = Number(get.get("cursor") ?? 0);
  const next = from + 2;
  return { items: all.slice(from, next), next: next < all.length ? String(next) : null };
}

/** Plan of a share that finds the same in each task. A small file leaves long texts out. */
export function sharePlan(task: Task, get: URLSearchParams): SharePlan {
  const withhold = get.getAll("withhold");
  if (withhold.includes("(")) throw new Refused(400, "the regular expression ( is none");
  const places = [`${task.id}/0@1`, `${task.id}/0@3`];
  const redacts = get.get("redact") === "true";
  const secret = { name: "api_key", count: 3, places };
  const control = { name: "withhold", count: 1, places: [`${task.id}, control log at 2`] };
  const small = Number(get.get("max")) < 1_000_000;
  return {
    bytes: small ? 90_000 : 1_234_567,
    events: task.lanes.reduce((sum, one) => sum + one.events.length - one.fork, 2),
    withheld: redacts ? 3 : withhold.length > 0 ? 1 : 0,
    trusted: withhold.length > 0 ? 1 : 0,
    finds: [...(redacts ? [secret] : []), ...(withhold.length > 0 ? [control] : [])],
    long: small ? 2 : 0,
    ...(small ? { longest: 1024 } : {}),
    copy_only: small,
    captures: small ? 1 : 0,
  };
}

/** The first event after which a number of the state is below another: `/pointer < number`. */
export function bisected(at: At, when: string): Bisected {
  const [, pointer, limit] = /^(\/\S+) < (\S+)$/.exec(when) ?? [];
  if (pointer === undefined) throw new Refused(400, "no condition at character 1");
  const { task, lane } = at;
  const holds = (offset: number) => {
    const value = valueAt(stateOf({ task, lane, offset }) as Json, pointer);
    return typeof value === "number" && value < Number(limit);
  };
  let offset = 0;
  while (offset < at.offset && !holds(offset + 1)) offset += 1;
  if (offset === at.offset) throw new Refused(400, "the condition does not hold at the end");
  const [before, after] = [offset, offset + 1].map((one) => ({ task, lane, offset: one }));
  return {
    found: pointForm(before!).address,
    event: eventForm(task, lane, offset),
    step: null,
    changes: { items: diff(before!, after!) as Change[], more: false },
    states: at.offset,
  };
}
