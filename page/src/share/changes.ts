// Changes between two states of a share, as the service lists them.

import { stringify } from "../api/numbers.ts";
import type { Change, Diff, Json, Lineage } from "../api/types.ts";
import { pointerTo } from "../pointer.ts";
import type { History } from "./history.ts";
import { messagesIn, sorted, stateAt } from "./states.ts";

/** Most changes of an answer, and most messages of a side that are compared. */
const CHANGES = 10_000;
const MESSAGES = 1_000;
/** Most levels that are compared; deeper values are compared as a whole. */
const DEPTH = 128;

type Fields = { [name: string]: Json };
const isFields = (value: Json | undefined): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const own = (of: Fields, name: string) => (Object.hasOwn(of, name) ? of[name] : undefined);

/** Adds the changes that turn one value into another; undefined is a value that is not there. */
export function compare(
  path: string,
  before: Json | undefined,
  after: Json | undefined,
  found: Change[],
  depth = 0,
): void {
  if (found.length > CHANGES || before === after) return;
  if (before === undefined) return void found.push({ path, kind: "add", after: after! });
  if (after === undefined) return void found.push({ path, kind: "remove", before });
  if (depth < DEPTH && isFields(before) && isFields(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    for (const name of [...names].sort()) {
      const to = pointerTo(path, name);
      compare(to, own(before, name), own(after, name), found, depth + 1);
    }
  } else if (depth < DEPTH && Array.isArray(before) && Array.isArray(after)) {
    for (let i = 0; i < Math.max(before.length, after.length); i++) {
      compare(`${path}/${i}`, before[i], after[i], found, depth + 1);
    }
  } else if (stringify(before) !== stringify(after)) {
    found.push({ path, kind: "replace", before, after });
  }
}

export interface Side {
  lineage: Lineage;
  offset: number;
}

/** Adds the changes of the messages; returns whether there may be further ones. */
async function compareMessages(
  history: History,
  a: Side,
  b: Side,
  counts: [number, number],
  found: Change[],
): Promise<boolean> {
  const same = Math.min(history.common(a.lineage, b.lineage), a.offset, b.offset);
  const common = same <= a.lineage.begin ? 0 : await countAt(history, a.lineage, same);
  const take = async ({ lineage, offset }: Side) => {
    const range = { from: same, to: offset, most: MESSAGES, end: "first" } as const;
    return (await messagesIn(history, lineage, range)).map(sorted);
  };
  const before = await take(a);
  const after = await take(b);
  for (let i = 0; i < Math.max(before.length, after.length); i++) {
    compare(`/messages/${common + i}`, before[i], after[i], found, 2);
  }
  return Math.max(...counts) - common > MESSAGES;
}

async function countAt(history: History, of: Lineage, offset: number): Promise<number> {
  return Number((await stateAt(history, of, offset))["message_count"] ?? 0);
}

/** Returns the changes from one state to the other, by the names of fields. */
export async function diff(history: History, a: Side, b: Side): Promise<Diff> {
  const at = async (side: Side) => sorted(await stateAt(history, side.lineage, side.offset));
  const before = (await at(a)) as Fields;
  const after = (await at(b)) as Fields;
  const counts: [number, number] = [
    Number(before["message_count"] ?? 0),
    Number(after["message_count"] ?? 0),
  ];
  const items: Change[] = [];
  let more = false;
  const names = new Set([...Object.keys(before), ...Object.keys(after), "messages"]);
  for (const name of [...names].sort()) {
    if (name === "messages") more = await compareMessages(history, a, b, counts, items);
    else compare(pointerTo("", name), own(before, name), own(after, name), items, 1);
  }
  return { items: items.slice(0, CHANGES), more: more || items.length > CHANGES };
}
