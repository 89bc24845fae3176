// Changes of channels from one checkpoint to the next, and the events that tell people of them.

import { isSame, toBase64 } from "../bytes.js";
import type { NewEvent } from "../client.js";
import { PackError, split, unpack } from "./messagePack.js";
import { emptyThread, encodeRecord, EVENT, isItems } from "./record.js";
import type { Change, Channel, ThreadRecord, Thread, Typed } from "./record.js";

/** A channel to put. Without a value it is that of the parent, which has it in this version. */
export interface Given {
  name: string;
  version: string;
  value: Typed | undefined;
}

/** The largest value that people get as JSON, in bytes, and the largest list. */
const SHOWN_MAX = 1 << 20;
const LIST_SHOWN_MAX = 4 << 20;
const LIST_ITEMS_MAX = 100_000;
/** The most new items of a list that are operations of their own, unless as many are kept. */
const ITEMS_MAX = 1000;
/** The deepest value: the store takes JSON of 100 levels, and the patch has some of its own. */
const DEPTH_MAX = 90;

/** Returns the changes from a state to the given channels, by name. */
export function changesTo(before: Thread, given: readonly Given[]): Change[] {
  const names = new Set(given.map(({ name }) => name));
  const changes: Change[] = given.flatMap(({ name, version, value }) => {
    const change = value && changeTo(before.channels.get(name), name, version, value);
    return change ? [change] : [];
  });
  for (const name of before.channels.keys()) {
    if (!names.has(name)) {
      changes.push({ kind: "removed", name });
    }
  }
  return changes.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function changeTo(
  known: Channel | undefined,
  name: string,
  version: string,
  value: Typed,
): Change | undefined {
  const items = value.encoding === "msgpack" ? split(value.bytes) : undefined;
  const old = known?.content;
  const from = known?.version ?? "";
  const sameValue = (): Change | undefined =>
    from === version ? undefined : { kind: "version", name, from, version };
  if (items === undefined) {
    const isKnown =
      old !== undefined &&
      !isItems(old) &&
      old.encoding === value.encoding &&
      isSame(old.bytes, value.bytes);
    return isKnown ? sameValue() : { kind: "set", name, version, value };
  }
  if (!isItems(old)) {
    return { kind: "newList", name, version, items };
  }
  let kept = 0;
  while (kept < old.length && kept < items.length && isSame(old[kept]!, items[kept]!)) {
    kept += 1;
  }
  if (kept === old.length && kept === items.length) {
    return sameValue();
  }
  return kept === 0
    ? { kind: "newList", name, version, items }
    : { kind: "list", name, from, version, kept, items: items.slice(kept) };
}

/** Returns the state after a checkpoint. The state before stays as it is. */
export function applied(before: Thread, record: ThreadRecord): Thread {
  const channels = new Map(record.fresh ? [] : before.channels);
  for (const change of record.changes) {
    const known = channels.get(change.name);
    if (change.kind === "removed") {
      channels.delete(change.name);
      continue;
    }
    channels.set(change.name, { version: change.version, content: contentAfter(known, change) });
  }
  const { id, parent, content, metadata } = record;
  return { id, parent, content, metadata, channels };
}

function contentAfter(known: Channel | undefined, change: Exclude<Change, { kind: "removed" }>) {
  switch (change.kind) {
    case "set":
      return change.value;
    case "newList":
      return change.items;
    case "version":
      return known?.version === change.from ? known.content : undefined;
    case "list": {
      const items = known?.version === change.from ? known.content : undefined;
      return isItems(items) && change.kept <= items.length
        ? [...items.slice(0, change.kept), ...change.items]
        : undefined;
    }
  }
}

/** Returns the events of a checkpoint after the state of its parent, as the Rust crate does. */
export function eventsOf(
  record: ThreadRecord,
  before: Thread,
  step: { number: number; source: string | undefined } | undefined,
): NewEvent[] {
  const events: NewEvent[] = [];
  if (step !== undefined) {
    const { number, source } = step;
    const body = { step: number, ...(source !== undefined && { name: source }) };
    events.push({ kind: "step_started", body });
  }
  const patch = shown(record.fresh ? emptyThread() : before, record);
  if (patch.length > 0) {
    events.push({ kind: "variables_patched", body: { form: "patch", patch } });
  }
  const data = { base64: toBase64(encodeRecord(record)) };
  events.push({ kind: "application", body: { name: EVENT, data } });
  if (step !== undefined) {
    events.push({ kind: "step_finished", body: { step: step.number } });
  }
  return events;
}

/** An operation of a JSON patch, RFC 6902. */
interface Operation {
  op: "add" | "remove";
  path: string;
  value?: unknown;
}

/** Returns the changes as a JSON patch of the variables, for people. */
function shown(before: Thread, { fresh, changes }: ThreadRecord): Operation[] {
  const operations: Operation[] = fresh ? [{ op: "add", path: "", value: {} }] : [];
  for (const change of changes) {
    const path = `/${change.name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    switch (change.kind) {
      case "version":
        break;
      case "removed":
        operations.push({ op: "remove", path });
        break;
      case "set":
        operations.push({ op: "add", path, value: plain(change.value) });
        break;
      case "newList":
        operations.push({ op: "add", path, value: plainList(change.items) });
        break;
      case "list": {
        const known = before.channels.get(change.name)?.content;
        operations.push(...growth(path, isItems(known) ? known : [], change.kept, change.items));
      }
    }
  }
  return operations;
}

/** Returns the operations that lead from a list to its first items and new ones. */
function growth(
  path: string,
  known: readonly Uint8Array[],
  kept: number,
  added: readonly Uint8Array[],
): Operation[] {
  const all = [...known.slice(0, kept), ...added];
  if (added.length > Math.max(ITEMS_MAX, kept) || !isShown(known) || !isShown(all)) {
    return [{ op: "add", path, value: plainList(all) }];
  }
  const operations: Operation[] = [];
  for (let index = known.length - 1; index >= kept; index -= 1) {
    operations.push({ op: "remove", path: `${path}/${index}` });
  }
  for (const item of added) {
    const value = plain({ encoding: "msgpack", bytes: item });
    operations.push({ op: "add", path: `${path}/-`, value });
  }
  return operations;
}

function sizeOf(items: readonly Uint8Array[]): number {
  return items.reduce((sum, item) => sum + item.length, 0);
}

function isShown(items: readonly Uint8Array[]): boolean {
  return items.length <= LIST_ITEMS_MAX && sizeOf(items) <= LIST_SHOWN_MAX;
}

function plainList(items: readonly Uint8Array[]): unknown {
  return isShown(items)
    ? items.map((bytes) => plain({ encoding: "msgpack", bytes }))
    : described("msgpack", sizeOf(items), "too large to be shown");
}

/** Returns a value for people. What cannot be shown is described. */
function plain(value: Typed): unknown {
  const { encoding, bytes } = value;
  if (bytes.length > SHOWN_MAX) {
    return described(encoding, bytes.length, "too large to be shown");
  }
  const found = decoded(value);
  return isDeeper(found, DEPTH_MAX)
    ? described(encoding, bytes.length, `nested deeper than ${DEPTH_MAX} levels`)
    : found;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function decoded({ encoding, bytes }: Typed): unknown {
  try {
    switch (encoding) {
      case "null":
        return null;
      case "msgpack":
        return unpack(bytes, "people");
      case "json":
        return JSON.parse(new TextDecoder().decode(bytes));
      case "bytes":
      case "bytearray":
        return { base64: toBase64(bytes) };
      default:
        return described(encoding, bytes.length, "of an unknown encoding");
    }
  } catch (error) {
    if (error instanceof PackError || error instanceof SyntaxError) {
      return described(encoding, bytes.length, error.message);
    }
    throw error;
  }
}

function described(encoding: string, bytes: number, why: string) {
  return { encoding, bytes, why };
}
