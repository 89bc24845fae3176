// Shares of the tasks of the mock, as docs/SHARE.md defines the file. Hashes are of the tests' own
// making, so the verification finds faults.

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { Lane, Stored, Task } from "../mock/logs.ts";
import { markId, metricsOf, row, series, summary, turnsOf } from "../mock/reading.ts";
import * as routes from "../mock/routes.ts";
import type { World } from "../mock/world.ts";
import { sha256 } from "./viewer.ts";
import type { Viewer } from "./viewer.ts";

const INDEX_PIECE = 256 * 1024;
const EXPORT_PIECE = 512 * 1024;
const ROWS = 1000;
const TURNS = 500;

/** What of an event is withheld. */
export type Withhold = (event: Stored, offset: number) => "body" | "all" | "trusted" | null;

export interface ShareRequest extends Viewer {
  withhold?: Withhold;
  /** Whether it has states. A task of many events takes long. */
  states?: boolean;
}

type Documents = Map<string, unknown>;

function parts<T>(items: readonly T[], size: number, numberOf: (item: T) => number): T[][] {
  const found: T[][] = [];
  for (const item of items) (found[Math.floor(numberOf(item) / size)] ??= []).push(item);
  return found;
}

/** Changes from one state to the next: pointers of fields, lists as a whole. */
function sets(a: unknown, b: unknown, path: string, found: unknown[][]): unknown[][] {
  const fields = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (JSON.stringify(a) === JSON.stringify(b)) return found;
  if (!fields(a) || !fields(b)) {
    found.push(b === undefined ? [path] : [path, b]);
    return found;
  }
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    sets(a[name], b[name], `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, found);
  }
  return found;
}

function states(task: Task, lane: Lane, add: (name: string, value: unknown) => void): void {
  const at = (offset: number) => {
    const { messages: _, ...state } = routes.stateOf({ task, lane, offset });
    return state;
  };
  for (let from = 0; from < lane.events.length; from += ROWS) {
    const changes = [];
    let now = at(from);
    const state = now;
    for (let offset = from; offset < Math.min(from + ROWS, lane.events.length); offset++) {
      const next = at(offset + 1);
      const changed = sets(now, next, "", []);
      if (changed.length > 0) changes.push([offset, changed]);
      now = next;
    }
    add(`states/${lane.id}/${from / ROWS}`, { from, state, changes });
  }
}

function marksOf(lane: Lane): object[] {
  return lane.events.flatMap((event, offset) => {
    if (event.kind !== "checkpoint_marked" || offset < lane.fork) return [];
    const id = markId(offset);
    const place = { lineage: lane.id, at: offset, mark: offset };
    return [{ id, ...place, label: event.body?.["label"], aliases: [] }];
  });
}

function documentsOf(world: World, task: Task, hasStates: boolean): Documents {
  const found: Documents = new Map();
  const get = new URLSearchParams({ buckets: "200" });
  found.set("summary", summary(task, task.lanes.length));
  found.set("lineages", { items: task.lanes.map((one) => routes.lineageForm(task, one)) });
  const active = task.lanes.find((one) => one.id === task.active)!;
  for (const lane of task.lanes) {
    // What ends at or before the fork is in the documents of the parent.
    const begin = Math.floor(lane.fork / ROWS);
    const firstTurn = turnsOf(lane).findLastIndex((turn) => turn.first <= lane.fork);
    const add = (name: string, value: unknown) => {
      const [of, , k = "0"] = name.split("/");
      const first = of === "turns" ? Math.floor(Math.max(0, firstTurn) / TURNS) : begin;
      if (!["turns", "rows", "states"].includes(of!) || Number(k) >= first) found.set(name, value);
    };
    const { id } = lane;
    const rows = lane.events.map((_, offset) => row(lane, offset));
    parts(rows, ROWS, (one) => one.offset).forEach((of, k) => add(`rows/${id}/${k}`, of));
    const turns = turnsOf(lane);
    parts(turns, TURNS, (one) => one.number).forEach((of, k) => add(`turns/${id}/${k}`, of));
    add(`count/${id}`, { turns: turns.length, head: lane.events.length });
    add(`overview/${id}`, routes.overviewAnswer(world, lane, get));
    add(`metrics/${id}`, routes.metricsAnswer(world, lane));
    const placed = [...metricsOf(lane).keys()].map((name) => {
      const timed = series(lane, name, 500, "time");
      const buckets = series(lane, name, 500, "step");
      return [name, buckets.map((one, i) => ({ ...one, time: timed[i]!.x }))] as const;
    });
    add(`series/${id}`, Object.fromEntries(placed));
    if (hasStates) states(task, lane, add);
    add(`marks/${id}`, marksOf(lane));
    if (lane === active) continue;
    const whole = new URLSearchParams({ limit: "1000000" });
    const pair = [active, lane].map((one) => ({ task, lane: one, offset: one.events.length }));
    for (const name of ["align", "align-texts"]) {
      const { next: _, items, ...rest } = routes.alignAnswer(pair[0]!, pair[1]!, whole);
      const numbered = items.map(({ op, a, b, other }) => {
        return [op, a?.number ?? null, b?.number ?? null, other ?? null];
      });
      found.set(`${name}/${id}`, { ...rest, items: numbered });
    }
  }
  return found;
}

const NUMBERS: Record<string, number> = {
  lineage_opened: 1,
  step_started: 2,
  step_finished: 3,
  message: 13,
  tool_called: 14,
  tool_returned: 15,
  checkpoint_marked: 17,
  application: 21,
};

const hex = (text: string) => createHash("sha256").update(text).digest("hex");

function line(task: Task, lane: Lane, offset: number, withhold: Withhold): object {
  const event = lane.events[offset]!;
  const what = withhold(event, offset);
  const place = { log: String(lane.id), at: String(offset), time_us: String(event.time_us) };
  const head = event.actor ? { ...place, actor: event.actor } : place;
  const hash = hex(`${task.id} ${lane.id} ${offset}`);
  const number = NUMBERS[event.kind] ?? 21;
  const gone = hex("body");
  if (event.body === null) return { ...head, hash, number, erased: gone };
  if (what === "trusted") return { ...head, hash, number, trusted: true, shown: event.body };
  if (what === "all") return { ...head, hash, number, withheld: gone };
  if (what === "body") return { ...head, hash, number, withheld: gone, shown: event.body };
  const mark = event.kind === "checkpoint_marked" ? { checkpoint: markId(offset) } : {};
  return { ...head, salt: hex("salt").slice(0, 32), hash, ...mark, body: event.body };
}

interface Piece {
  lines: string[];
  bytes: number;
  logs: Record<string, number>;
}

function exportOf(task: Task, withhold: Withhold): { pieces: Piece[]; events: number } {
  const pieces: Piece[] = [];
  let events = 0;
  const add = (value: object) => {
    const text = `${JSON.stringify(value)}\n`;
    if (!pieces.at(-1) || pieces.at(-1)!.bytes >= EXPORT_PIECE) {
      pieces.push({ lines: [], bytes: 0, logs: {} });
    }
    const piece = pieces.at(-1)!;
    piece.lines.push(text);
    piece.bytes += Buffer.byteLength(text);
    const { log, at } = value as { log?: string; at?: string };
    if (log !== undefined) piece.logs[log] ??= Number(at);
    if (log !== undefined) events += 1;
  };
  add({ milepost_export: 2, tasks: "1", files: false, redacted: false });
  const heads = task.lanes.map((one) => {
    const next = String(one.events.length);
    return { log: String(one.id), next, hash: hex(`${task.id} ${one.id} ${+next - 1}`) };
  });
  const { id, user, active, created_us } = task;
  const origin = hex("origin");
  add({ task: id, user, created_us: String(created_us), origin, active: String(active), heads });
  // Events of all logs in the order of their times, so that logs are interleaved.
  const all = task.lanes.flatMap((lane) =>
    lane.events.map((event, offset) => ({ event, lane, offset })).slice(lane.fork),
  );
  all.sort((a, b) => a.event.time_us - b.event.time_us);
  for (const { lane, offset } of all) add(line(task, lane, offset, withhold));
  add({ end: { tasks: "1", events: String(events), chunks: "0" }, digest: hex("digest") });
  return { pieces, events };
}

const packed = (text: string) => gzipSync(text, { level: 9 }).toString("base64");

function element(attributes: string, text: string): string {
  return `<script ${attributes}>\n${text}\n</script>\n`;
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Writes a task of the mock as a share. */
export function share(world: World, id: string, asked: ShareRequest): string {
  const task = routes.taskOf(world, id);
  const counts = { body: 0, all: 0, trusted: 0 };
  const withhold: Withhold = (event, offset) => {
    const what = asked.withhold?.(event, offset) ?? null;
    if (what) counts[what] += 1;
    return what;
  };
  const { pieces, events } = exportOf(task, withhold);
  const groups: Record<string, unknown>[] = [];
  const index: Record<string, number> = {};
  let size = Infinity;
  for (const [name, value] of documentsOf(world, task, asked.states ?? true)) {
    if (size >= INDEX_PIECE) {
      groups.push({});
      size = 0;
    }
    groups.at(-1)![name] = value;
    size += JSON.stringify(value).length;
    index[name] = groups.length - 1;
  }
  const contents = {
    share: 1,
    version: "0.1.0",
    task: task.id,
    user: task.user,
    active: task.active,
    keyed: false,
    redacted: true,
    events,
    withheld: counts.body + counts.all,
    trusted: counts.trusted,
    index,
    export: {
      pieces: pieces.map(({ bytes, lines, logs }) => ({ bytes, lines: lines.length, logs })),
    },
  };
  const json = JSON.stringify(contents).replaceAll("<", "\\u003c");
  const { script, style } = asked;
  const policy =
    `default-src 'none'; script-src ${sha256(script)}; style-src ${sha256(style)}; ` +
    "worker-src blob:; base-uri 'none'; form-action 'none'; " +
    "require-trusted-types-for 'script'; trusted-types worker";
  const gzip = "application/gzip;base64";
  return [
    "<!doctype html><!-- milepost share 1 -->\n",
    `<html lang="en"><head><meta http-equiv="Content-Security-Policy" content="${policy}">\n`,
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width">\n',
    '<meta name="color-scheme" content="light dark">\n',
    `<title>${escaped(task.id)} - Milepost</title>\n<style>${style}</style>\n</head><body>\n`,
    '<div id="page"></div>\n',
    element('type="application/json" id="share"', json),
    ...groups.map((one, i) =>
      element(`type="${gzip}" id="index-${i}"`, packed(JSON.stringify(one))),
    ),
    ...pieces.map(({ lines }, i) =>
      element(`type="${gzip}" id="export-${i}"`, packed(lines.join(""))),
    ),
    `<script type="module">${script}</script>\n</body></html>\n`,
  ].join("");
}
