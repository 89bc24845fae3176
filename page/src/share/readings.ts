// Rows and turns of a share, from the documents of its index.

import type { Lineage, Row, Rows, Turn, Turns } from "../api/types.ts";
import { damaged } from "./file.ts";
import type { History } from "./history.ts";
import { bodyText } from "./lines.ts";

/** Offsets of a document of rows, and turns of a document of turns. */
export const ROWS = 1000;
const TURNS = 500;
/** Longest time of a search before it answers, in milliseconds. */
const PATIENCE = 250;

export interface Wanted {
  kinds: readonly string[] | null;
  /** Text in lower case. */
  text: string;
  failed: boolean;
}

export function isFailed(row: Row): boolean {
  return row.kind === "step_failed" || (row.kind === "tool_returned" && row.ok === false);
}

/** Returns the rows of a document that are those of the lineage. */
export async function rowsIn(history: History, of: Lineage, part: number): Promise<Row[]> {
  const { head } = of;
  if (part * ROWS >= head) return [];
  const rows = (await history.document<Row[]>(of, (id) => `rows/${id}/${part}`)) ?? [];
  const last = rows.at(-1);
  return last && last.offset >= head ? rows.filter((row) => row.offset < head) : rows;
}

async function hasText(history: History, of: Lineage, offset: number, text: string) {
  const line = await history.lineText(of, offset);
  return line !== null && bodyText(line).toLowerCase().includes(text);
}

async function takes(history: History, of: Lineage, row: Row, wanted: Wanted): Promise<boolean> {
  if (wanted.kinds && !wanted.kinds.includes(row.kind)) return false;
  if (wanted.failed && !isFailed(row)) return false;
  return wanted.text === "" || hasText(history, of, row.offset, wanted.text);
}

export interface RowsRequest extends Wanted {
  from: number;
  to: number;
  limit: number;
}

/** Answers as the service does: a search may stop early, and `next` says where it goes on. */
export async function rowsPage(history: History, of: Lineage, asked: RowsRequest): Promise<Rows> {
  const end = performance.now() + PATIENCE;
  const searches = asked.kinds !== null || asked.failed || asked.text !== "";
  const to = Math.min(asked.to, of.head);
  const items: Row[] = [];
  let offset = Math.max(asked.from, of.begin);
  const isDone = () => items.length >= asked.limit || (searches && performance.now() > end);
  while (offset < to && !isDone()) {
    const part = Math.floor(offset / ROWS);
    for (const row of await rowsIn(history, of, part)) {
      const at = row.offset;
      if (at < offset) continue;
      if (at >= to || isDone()) break;
      offset = at + 1;
      if (!searches || (await takes(history, of, row, asked))) items.push(row);
    }
    if (!isDone()) offset = Math.max(offset, Math.min(to, (part + 1) * ROWS));
  }
  return { items, next: offset < to ? offset : null, head: of.head };
}

/** Returns the row of an event, or undefined. */
export async function rowAt(
  history: History,
  of: Lineage,
  offset: number,
): Promise<Row | undefined> {
  const rows = await rowsIn(history, of, Math.floor(offset / ROWS));
  return rows.find((row) => row.offset === offset);
}

interface Count {
  turns: number;
  head: number;
}

async function countOf(history: History, of: Lineage): Promise<number> {
  const count = await history.document<Count>(of, (id) => `count/${id}`);
  const turns = count?.turns ?? 0;
  if (!Number.isSafeInteger(turns) || turns < 0) throw damaged(`count/${of.id}`);
  return turns;
}

/** Returns turns by their numbers, undefined for those that the file does not have. */
export async function turnsOf(
  history: History,
  of: Lineage,
  numbers: readonly number[],
): Promise<(Turn | undefined)[]> {
  const all = await countOf(history, of);
  const found: (Turn | undefined)[] = [];
  for (const number of numbers) {
    const part = Math.floor(number / TURNS);
    found.push((await turnsIn(history, of, part, all))[number - part * TURNS]);
  }
  return found;
}

async function turnsIn(history: History, of: Lineage, part: number, all: number) {
  if (part * TURNS >= all) return [];
  const turns = (await history.document<Turn[]>(of, (id) => `turns/${id}/${part}`)) ?? [];
  return turns.slice(0, all - part * TURNS);
}

/** Returns the number of the turn that has an offset, or of the last one before it. */
async function numberNear(history: History, of: Lineage, offset: number, all: number) {
  let [low, high] = [0, Math.ceil(all / TURNS)];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    const first = (await turnsIn(history, of, middle, all))[0];
    if (first && first.first <= offset) low = middle;
    else high = middle;
  }
  const turns = await turnsIn(history, of, low, all);
  const at = turns.findLastIndex((turn) => turn.first <= offset);
  return low * TURNS + Math.max(0, at);
}

export interface TurnsRequest extends Wanted {
  from: number;
  near: number | null;
  limit: number;
}

async function turnTakes(history: History, of: Lineage, turn: Turn, wanted: Wanted) {
  const failed = turn.failed !== undefined || turn.calls.some((call) => call.ok === false);
  if (wanted.failed && !failed) return false;
  if (wanted.text === "") return true;
  for (let offset = turn.first; offset < turn.next; offset++) {
    if (await hasText(history, of, offset, wanted.text)) return true;
  }
  return false;
}

export async function turnsPage(history: History, of: Lineage, asked: TurnsRequest): Promise<Turns> {
  const end = performance.now() + PATIENCE;
  const all = await countOf(history, of);
  const searches = asked.failed || asked.text !== "";
  let at = asked.from;
  if (asked.near !== null) {
    const number = await numberNear(history, of, asked.near, all);
    at = Math.max(0, number - Math.floor(asked.limit / 2));
  }
  const items: Turn[] = [];
  const isDone = () => items.length >= asked.limit || (searches && performance.now() > end);
  while (at < all && !isDone()) {
    const part = Math.floor(at / TURNS);
    const turns = await turnsIn(history, of, part, all);
    for (let i = at - part * TURNS; i < turns.length && !isDone(); i++, at++) {
      if (!searches || (await turnTakes(history, of, turns[i]!, asked))) items.push(turns[i]!);
    }
    // A part that has fewer turns than it should ends the list: the file is damaged.
    if (!isDone() && at < Math.min(all, (part + 1) * TURNS)) break;
  }
  const next = at < all && isDone() ? at : null;
  return { items, next, total: all, read: of.head, head: of.head };
}
