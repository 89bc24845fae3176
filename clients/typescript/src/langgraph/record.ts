// The bytes of a checkpoint's event, and of a thread's state: the forms of the Rust crate
// `milepost-langgraph`, so that a thread of LangGraph.js is read by the same tools.
//
//   event   1, id, parent?, fresh, content, metadata, changes
//   state   1, id, parent?, content, metadata, channels
//   text    length, bytes        typed   encoding, length, bytes

import { concatenated } from "../bytes.js";
import { joined } from "./messagePack.js";

/** The application event that has the bytes, and the reducer that folds them. */
export const EVENT = "langgraph.checkpoint";
export const REDUCER = "langgraph.thread";

const VERSION = 1;

/** Bytes of a serializer, and the name of their encoding. */
export interface Typed {
  encoding: string;
  bytes: Uint8Array;
}

/** The value of a channel: the items of a list, a whole value, or `undefined` after an erasure. */
export type Content = readonly Uint8Array[] | Typed | undefined;

/** A channel: its version, as JSON, and its value. */
export interface Channel {
  version: string;
  content: Content;
}

/** The state of a thread at a checkpoint. */
export interface Thread {
  id: string;
  parent: string | undefined;
  content: Typed;
  metadata: Typed;
  channels: Map<string, Channel>;
}

/** A change of a channel. */
export type Change =
  | { kind: "removed"; name: string }
  | { kind: "version"; name: string; from: string; version: string }
  | { kind: "set"; name: string; version: string; value: Typed }
  | {
      kind: "list";
      name: string;
      from: string;
      version: string;
      kept: number;
      items: readonly Uint8Array[];
    }
  | { kind: "newList"; name: string; version: string; items: readonly Uint8Array[] };

/** A checkpoint, as the changes since its parent. */
export interface ThreadRecord {
  id: string;
  parent: string | undefined;
  /** Whether the channels begin empty here. */
  fresh: boolean;
  content: Typed;
  metadata: Typed;
  changes: readonly Change[];
}

/** Bytes that are not those of a checkpoint. */
export class RecordError extends Error {}

/** Returns a thread without a checkpoint. */
export function emptyThread(): Thread {
  const nothing = { encoding: "null", bytes: new Uint8Array() };
  return { id: "", parent: undefined, content: nothing, metadata: nothing, channels: new Map() };
}

/** Returns a value as a whole; `undefined` if an erasure removed a part of it. */
export function whole(content: Content): Typed | undefined {
  return isItems(content) ? { encoding: "msgpack", bytes: joined(content) } : content;
}

/** Returns whether a value is stored as the items of a list. */
export function isItems(content: Content): content is readonly Uint8Array[] {
  return Array.isArray(content);
}

/** Returns the bytes of an event. */
export function encodeRecord(record: ThreadRecord): Uint8Array {
  const to = new Writer();
  to.byte(VERSION);
  to.text(record.id);
  to.byte(record.parent === undefined ? 0 : 1);
  if (record.parent !== undefined) {
    to.text(record.parent);
  }
  to.byte(record.fresh ? 1 : 0);
  to.typed(record.content);
  to.typed(record.metadata);
  to.number(record.changes.length);
  for (const change of record.changes) {
    putChange(to, change);
  }
  return to.bytes();
}

const KINDS = ["removed", "version", "set", "list", "newList"] as const;

function putChange(to: Writer, change: Change): void {
  to.byte(KINDS.indexOf(change.kind) + 1);
  to.text(change.name);
  if (change.kind === "removed") {
    return;
  }
  if (change.kind === "version" || change.kind === "list") {
    to.text(change.from);
  }
  to.text(change.version);
  if (change.kind === "set") {
    to.typed(change.value);
  } else if (change.kind !== "version") {
    if (change.kind === "list") {
      to.number(change.kept);
    }
    to.number(change.items.length);
    change.items.forEach((item) => to.part(item));
  }
}

/** Returns the checkpoint of an event. */
export function decodeRecord(bytes: Uint8Array): ThreadRecord {
  const from = new Reader(bytes);
  from.version();
  const record: ThreadRecord = {
    id: from.text(),
    parent: from.flag() ? from.text() : undefined,
    fresh: from.flag(),
    content: from.typed(),
    metadata: from.typed(),
    changes: from.each(() => change(from)),
  };
  from.end();
  return record;
}

function change(from: Reader): Change {
  const kind = KINDS[from.byte() - 1];
  const name = from.text();
  switch (kind) {
    case "removed":
      return { kind, name };
    case "version":
      return { kind, name, from: from.text(), version: from.text() };
    case "set":
      return { kind, name, version: from.text(), value: from.typed() };
    case "list": {
      const texts = { from: from.text(), version: from.text() };
      return { kind, name, ...texts, kept: from.number(), items: from.each(() => from.part()) };
    }
    case "newList":
      return { kind, name, version: from.text(), items: from.each(() => from.part()) };
    default:
      throw new RecordError("a change of an unknown kind");
  }
}

/** Returns the state of the bytes that the reducer encodes. */
export function decodeThread(bytes: Uint8Array): Thread {
  const from = new Reader(bytes);
  from.version();
  const thread: Thread = {
    id: from.text(),
    parent: from.flag() ? from.text() : undefined,
    content: from.typed(),
    metadata: from.typed(),
    channels: new Map(from.each(() => [from.text(), channel(from)])),
  };
  from.end();
  return thread;
}

function channel(from: Reader): Channel {
  const version = from.text();
  switch (from.byte()) {
    case 0:
      return { version, content: undefined };
    case 1:
      return { version, content: from.typed() };
    case 2:
      return { version, content: from.each(() => from.part()) };
    default:
      throw new RecordError("a value of an unknown kind");
  }
}

class Writer {
  readonly #parts: Uint8Array[] = [];

  bytes(): Uint8Array {
    return concatenated(this.#parts);
  }

  byte(value: number): void {
    this.#parts.push(Uint8Array.of(value));
  }

  /** A variable-length integer, as in `docs/FORMAT.md`. */
  number(value: number): void {
    if (value <= 250) {
      this.byte(value);
      return;
    }
    const bytes = new Uint8Array(value <= 0xffff ? 3 : 5);
    const view = new DataView(bytes.buffer);
    if (value <= 0xffff) {
      view.setUint8(0, 251);
      view.setUint16(1, value, true);
    } else {
      view.setUint8(0, 252);
      view.setUint32(1, value, true);
    }
    this.#parts.push(bytes);
  }

  part(bytes: Uint8Array): void {
    this.number(bytes.length);
    this.#parts.push(bytes);
  }

  text(text: string): void {
    this.part(new TextEncoder().encode(text));
  }

  typed({ encoding, bytes }: Typed): void {
    this.text(encoding);
    this.part(bytes);
  }
}

class Reader {
  #at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  version(): void {
    const version = this.byte();
    if (version !== VERSION) {
      throw new RecordError(`a checkpoint of version ${version}, of which this client knows ${VERSION}`);
    }
  }

  end(): void {
    if (this.#at !== this.#bytes.length) {
      throw new RecordError(`${this.#bytes.length - this.#at} bytes behind a checkpoint`);
    }
  }

  byte(): number {
    return this.#take(1)[0] ?? 0;
  }

  flag(): boolean {
    return this.byte() === 1;
  }

  number(): number {
    const first = this.byte();
    const at = this.#at;
    switch (first) {
      case 251:
        this.#take(2);
        return this.#view.getUint16(at, true);
      case 252:
        this.#take(4);
        return this.#view.getUint32(at, true);
      case 253:
      case 254:
        throw new RecordError("a length over 4 GiB");
      default:
        return first;
    }
  }

  part(): Uint8Array {
    return this.#take(this.number());
  }

  text(): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.part());
  }

  typed(): Typed {
    return { encoding: this.text(), bytes: this.part() };
  }

  each<Item>(read: () => Item): Item[] {
    const count = this.number();
    const items: Item[] = [];
    for (let item = 0; item < count; item += 1) {
      items.push(read());
    }
    return items;
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) {
      throw new RecordError("a checkpoint that is cut off");
    }
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}
