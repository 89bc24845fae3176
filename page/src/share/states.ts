// States of a share: those of the index, with the changes up to an offset.

import { stringify } from "../api/numbers.ts";
import type { Blame, Json, Lineage } from "../api/types.ts";
import { namesOf, valueAt } from "../pointer.ts";
import { words } from "../words/index.ts";
import { bodyOf, timeOf } from "./events.ts";
import type { History } from "./history.ts";
import { missing, notHere } from "./history.ts";
import { ROWS, rowAt, rowsIn } from "./readings.ts";

export type State = { [name: string]: Json };

/** A pointer and the new value, or a pointer alone of a field that was removed. */
type Set = [pointer: string, value?: Json];

interface States {
  from: number;
  state: State;
  changes: [offset: number, sets: Set[]][];
}

/** Offsets of a document of states: as of rows. */
const STATES = ROWS;
const ENTRIES = ["message", "tool_called", "tool_returned"];
const BLAMED = 200;

function setAt(state: State, [pointer, ...value]: Set): void {
  const cut = pointer.lastIndexOf("/");
  const inside = cut < 0 ? undefined : valueAt(state, pointer.slice(0, cut));
  const name = namesOf(pointer.slice(cut))[0];
  if (typeof inside !== "object" || inside === null || name === undefined) return;
  // Not by assignment: a field may be named `__proto__`.
  // A copy: later changes may be within it, and the document stays as it is.
  const own = structuredClone(value[0]);
  const field = { value: own, writable: true, enumerable: true, configurable: true };
  if (value.length === 0) Reflect.deleteProperty(inside, name);
  else Reflect.defineProperty(inside, name, field);
}

async function statesIn(history: History, of: Lineage, part: number): Promise<States | null> {
  return history.document<States>(of, (id) => `states/${id}/${part}`);
}

/** Returns the part that has the changes of the event before an offset. */
function partBefore(of: Lineage, offset: number): number {
  return Math.floor(Math.max(offset - 1, of.begin) / STATES);
}

/** Returns the state at an offset, without messages. */
export async function stateAt(history: History, of: Lineage, offset: number): Promise<State> {
  const found = await statesIn(history, of, partBefore(of, offset));
  if (!found) throw missing(words.value.shareNoState);
  const state = structuredClone(found.state);
  for (const [at, sets] of found.changes) {
    if (at >= offset) break;
    for (const one of sets) setAt(state, one);
  }
  return state;
}

/** Returns an entry of the messages of a state: the body of its event, with the offset. */
async function entry(history: History, of: Lineage, offset: number, kind: string): Promise<Json> {
  const body = bodyOf(await history.line(of, offset));
  return body ? { offset, ...body } : { kind, erased: true, offset };
}

interface Range {
  from: number;
  to: number;
  /** Most messages; of more, the first or the last ones. */
  most: number;
  end: "first" | "last";
}

/** Returns the messages that events of a range made, in their order. */
export async function messagesIn(history: History, of: Lineage, asked: Range): Promise<Json[]> {
  const { from, to, most } = asked;
  const isLast = asked.end === "last";
  const found: { offset: number; kind: string }[] = [];
  const parts = Math.max(0, Math.ceil(to / ROWS) - Math.floor(from / ROWS));
  for (let i = 0; i < parts && found.length < most; i++) {
    const part = isLast ? Math.ceil(to / ROWS) - 1 - i : Math.floor(from / ROWS) + i;
    const rows = await rowsIn(history, of, part);
    for (const row of isLast ? rows.toReversed() : rows) {
      const { offset, kind } = row;
      if (offset >= to || offset < from || !ENTRIES.includes(kind)) continue;
      if (found.length < most) found.push({ offset, kind });
    }
  }
  const entries: Json[] = [];
  for (const one of isLast ? found.reverse() : found) {
    entries.push(await entry(history, of, one.offset, one.kind));
  }
  return entries;
}

/** Returns a value with the fields of its objects by their names, as the service has them. */
export function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name]!)]));
}

/** Returns the state at an offset with its last messages. */
export async function wholeState(
  history: History,
  of: Lineage,
  offset: number,
  messages: number,
): Promise<State> {
  const state = await stateAt(history, of, offset);
  const most = Math.min(messages, Number(state["message_count"] ?? messages));
  const range = { from: of.begin, to: offset, most, end: "last" } as const;
  const last = await messagesIn(history, of, range);
  const { guidance, ...fields } = sorted(state) as State;
  // The service has the lists last.
  return { ...fields, ...(guidance === undefined ? {} : { guidance }), messages: last };
}

/** Whether a change at one pointer changes the value at another. */
function concerns(changed: string, pointer: string): boolean {
  return (
    changed === pointer || pointer.startsWith(`${changed}/`) || changed.startsWith(`${pointer}/`)
  );
}

interface Found {
  offset: number;
  before: Json | undefined;
  after: Json | undefined;
}

function changesOf(states: States, pointer: string, end: number): Found[] {
  const found: Found[] = [];
  const state = structuredClone(states.state);
  for (const [offset, sets] of states.changes) {
    if (offset >= end) break;
    const value = () => structuredClone(valueAt(state, pointer));
    const touched = sets.some(([changed]) => concerns(changed, pointer));
    const before = touched ? value() : undefined;
    for (const one of sets) setAt(state, one);
    const after = touched ? value() : undefined;
    if (stringify(before) !== stringify(after)) found.push({ offset, before, after });
  }
  return found;
}

/** Finds the events that changed a value of the state before an offset, newest first. */
export async function blame(
  history: History,
  of: Lineage,
  offset: number,
  pointer: string,
  all: boolean,
): Promise<Blame> {
  if (concerns("/messages", pointer)) throw notHere(words.value.shareNoBlame);
  const changes: Blame["changes"] = [];
  const most = all ? BLAMED : 1;
  const first = Math.floor(of.begin / STATES);
  let oldest: States | null = null;
  for (let part = partBefore(of, offset); part >= first && changes.length < most; part--) {
    oldest = await statesIn(history, of, part);
    if (!oldest) break;
    for (const one of changesOf(oldest, pointer, offset).toReversed()) {
      if (changes.length >= most) break;
      changes.push(await blamed(history, of, one));
    }
  }
  const isCut = changes.length < most && of.begin > 0 && oldest !== null;
  const wasSet = isCut && valueAt(oldest!.state, pointer) !== undefined;
  return { task: history.task, pointer, changes, before_oldest: wasSet ? of.begin : null };
}

async function blamed(history: History, of: Lineage, one: Found): Promise<Blame["changes"][0]> {
  const row = await rowAt(history, of, one.offset);
  return {
    point: `${history.task}/${of.id}@${one.offset}`,
    offset: one.offset,
    lineage: history.recorder(of, one.offset).id,
    kind: row?.kind ?? "unknown",
    time: timeOf(row?.time_us ?? 0),
    actor: row?.actor ?? null,
    ...(one.before === undefined ? {} : { before: one.before }),
    ...(one.after === undefined ? {} : { after: one.after }),
  };
}
