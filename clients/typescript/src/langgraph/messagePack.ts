// MessagePack of JSON values: encoding, decoding, and the items of a list. The format is
// compositional, so that a list that grew is stored as its new items.

import { concatenated } from "../bytes.js";
import { fromObject, ofObject, packedObject } from "./objects.js";
import type { Reading } from "./objects.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** Values nest at most this deep: the store refuses JSON that nests deeper. */
const DEPTH_MAX = 100;
/** A longer list is a value like any other. */
const ITEMS_MAX = 1 << 20;

/** Bytes that are no MessagePack, or nest too deep. */
export class PackError extends Error {}

/** Returns the bytes of a JSON value. */
export function pack(value: unknown): Uint8Array {
  const parts: Uint8Array[] = [];
  put(parts, value, DEPTH_MAX);
  return concatenated(parts);
}

function put(parts: Uint8Array[], value: unknown, depth: number): void {
  if (depth === 0) {
    throw new PackError(`nested deeper than ${DEPTH_MAX} levels`);
  }
  if (value === null || value === undefined) {
    parts.push(Uint8Array.of(0xc0));
  } else if (typeof value === "boolean") {
    parts.push(Uint8Array.of(value ? 0xc3 : 0xc2));
  } else if (typeof value === "number") {
    parts.push(numberOf(value));
  } else if (typeof value === "string") {
    const bytes = encoder.encode(value);
    parts.push(header(bytes.length, [0xa0, 32], [0xd9, 0xda, 0xdb]), bytes);
  } else if (Array.isArray(value)) {
    parts.push(header(value.length, [0x90, 16], [undefined, 0xdc, 0xdd]));
    value.forEach((item) => put(parts, item, depth - 1));
  } else {
    const object = packedObject(value as Record<string, unknown>, (inner) => {
      const within: Uint8Array[] = [];
      put(within, inner, depth - 1);
      return concatenated(within);
    });
    if (object !== undefined) {
      putExtension(parts, object);
      return;
    }
    const entries = Object.entries(value as object);
    parts.push(header(entries.length, [0x80, 16], [undefined, 0xde, 0xdf]));
    for (const [name, content] of entries) {
      put(parts, name, depth - 1);
      put(parts, content, depth - 1);
    }
  }
}

function putExtension(parts: Uint8Array[], { kind, bytes }: { kind?: number; bytes: Uint8Array }) {
  if (kind === undefined) {
    parts.push(header(bytes.length, undefined, [0xc4, 0xc5, 0xc6]), bytes);
    return;
  }
  const fixed = [1, 2, 4, 8, 16].indexOf(bytes.length);
  const begin =
    fixed >= 0 ? Uint8Array.of(0xd4 + fixed) : header(bytes.length, undefined, [0xc7, 0xc8, 0xc9]);
  parts.push(begin, Uint8Array.of(kind), bytes);
}

/** Returns the shortest header: short lengths are in the marker, others behind it. */
function header(
  length: number,
  short: [number, number] | undefined,
  [one, two, four]: [number | undefined, number, number],
): Uint8Array {
  if (short !== undefined && length < short[1]) {
    return Uint8Array.of(short[0] + length);
  }
  if (one !== undefined && length < 0x100) {
    return Uint8Array.of(one, length);
  }
  const bytes = new Uint8Array(length < 0x1_0000 ? 3 : 5);
  const view = new DataView(bytes.buffer);
  if (bytes.length === 3) {
    view.setUint8(0, two);
    view.setUint16(1, length);
  } else {
    view.setUint8(0, four);
    view.setUint32(1, length);
  }
  return bytes;
}

function numberOf(value: number): Uint8Array {
  const isWhole = Number.isSafeInteger(value) && !Object.is(value, -0);
  if (isWhole && value >= -32 && value < 128) {
    return Uint8Array.of(value & 0xff);
  }
  const view = new DataView(new ArrayBuffer(9));
  const done = (marker: number, size: number) => {
    view.setUint8(0, marker);
    return new Uint8Array(view.buffer, 0, size + 1);
  };
  if (!isWhole) {
    view.setFloat64(1, value);
    return done(0xcb, 8);
  }
  const sizes = [1, 2, 4] as const;
  const size = sizes.find((size) =>
    value >= 0 ? value < 2 ** (8 * size) : value >= -(2 ** (8 * size - 1)),
  );
  if (size === undefined) {
    view.setBigInt64(1, BigInt(value));
    return done(value < 0 ? 0xd3 : 0xcf, 8);
  }
  const number = value < 0 ? value + 2 ** (8 * size) : value;
  [view.setUint8, view.setUint16, view.setUint32][sizes.indexOf(size)]?.call(view, 1, number);
  return done((value < 0 ? 0xd0 : 0xcc) + sizes.indexOf(size), size);
}

/** Returns the value of the bytes, for the serializer or for people. */
export function unpack(bytes: Uint8Array, reading: Reading): unknown {
  const from = new Reader(bytes);
  const value = from.value(reading, DEPTH_MAX);
  if (from.at !== bytes.length) {
    throw new PackError(`${bytes.length - from.at} bytes behind the value`);
  }
  return value;
}

/** Returns the bytes of each item of a list; `undefined` if the bytes are no list. */
export function split(bytes: Uint8Array): Uint8Array[] | undefined {
  const from = new Reader(bytes);
  try {
    const count = from.listLength();
    if (count === undefined || count > ITEMS_MAX) {
      return undefined;
    }
    // A header in another than the shortest form would not be joined to the same bytes.
    if (from.at !== header(count, [0x90, 16], [undefined, 0xdc, 0xdd]).length) {
      return undefined;
    }
    const items: Uint8Array[] = [];
    for (let item = 0; item < count; item += 1) {
      const begin = from.at;
      from.value("people", DEPTH_MAX);
      items.push(bytes.subarray(begin, from.at));
    }
    return from.at === bytes.length ? items : undefined;
  } catch (error) {
    if (error instanceof PackError) {
      return undefined;
    }
    throw error;
  }
}

/** Returns the bytes of a list of items. */
export function joined(items: readonly Uint8Array[]): Uint8Array {
  return concatenated([header(items.length, [0x90, 16], [undefined, 0xdc, 0xdd]), ...items]);
}

class Reader {
  at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Returns the number of items of a list, and goes to the first; `undefined` at another value. */
  listLength(): number | undefined {
    const marker = this.#number(1, (at) => this.#view.getUint8(at));
    if (marker >= 0x90 && marker < 0xa0) {
      return marker - 0x90;
    }
    return marker === 0xdc ? this.#length(2) : marker === 0xdd ? this.#length(4) : undefined;
  }

  value(reading: Reading, depth: number): unknown {
    if (depth === 0) {
      throw new PackError(`nested deeper than ${DEPTH_MAX} levels`);
    }
    const view = this.#view;
    const marker = this.#length(1);
    if (marker < 0x80) return marker;
    if (marker >= 0xe0) return marker - 0x100;
    if (marker < 0x90) return this.#map(marker - 0x80, reading, depth);
    if (marker < 0xa0) return this.#list(marker - 0x90, reading, depth);
    if (marker < 0xc0) return this.#text(marker - 0xa0);
    switch (marker) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: case 0xc5: case 0xc6:
        return fromObject(this.#take(this.#length(2 ** (marker - 0xc4))), reading);
      case 0xc7: case 0xc8: case 0xc9:
        return this.#extension(this.#length(2 ** (marker - 0xc7)), reading, depth);
      case 0xca: return real(this.#number(4, (at) => view.getFloat32(at)), reading);
      case 0xcb: return real(this.#number(8, (at) => view.getFloat64(at)), reading);
      case 0xcc: case 0xcd: case 0xce: return this.#length(2 ** (marker - 0xcc));
      case 0xcf: return this.#number(8, (at) => Number(view.getBigUint64(at)));
      case 0xd0: return this.#number(1, (at) => view.getInt8(at));
      case 0xd1: return this.#number(2, (at) => view.getInt16(at));
      case 0xd2: return this.#number(4, (at) => view.getInt32(at));
      case 0xd3: return this.#number(8, (at) => Number(view.getBigInt64(at)));
      case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8:
        return this.#extension(2 ** (marker - 0xd4), reading, depth);
      case 0xd9: case 0xda: case 0xdb: return this.#text(this.#length(2 ** (marker - 0xd9)));
      case 0xdc: case 0xdd: return this.#list(this.#length(2 ** (marker - 0xdb)), reading, depth);
      case 0xde: case 0xdf: return this.#map(this.#length(2 ** (marker - 0xdd)), reading, depth);
      default: throw new PackError("a byte that begins no value");
    }
  }

  #list(count: number, reading: Reading, depth: number): unknown[] {
    const items: unknown[] = [];
    for (let item = 0; item < count; item += 1) {
      items.push(this.value(reading, depth - 1));
    }
    return items;
  }

  #map(count: number, reading: Reading, depth: number): Record<string, unknown> {
    // Without a prototype, `__proto__` is a name like any other.
    const map = Object.create(null) as Record<string, unknown>;
    for (let entry = 0; entry < count; entry += 1) {
      const key = this.value(reading, depth - 1);
      map[typeof key === "string" ? key : JSON.stringify(key)] = this.value(reading, depth - 1);
    }
    return map;
  }

  #text(length: number): string {
    return decoder.decode(this.#take(length));
  }

  #extension(length: number, reading: Reading, depth: number): unknown {
    const kind = this.#number(1, (at) => this.#view.getInt8(at));
    const bytes = this.#take(length);
    return ofObject(kind, bytes, reading, () => {
      const inner = new Reader(bytes);
      const value = inner.value(reading, depth - 1);
      if (inner.at !== bytes.length) {
        throw new PackError("bytes behind the value of an extension");
      }
      return value;
    });
  }

  #length(size: number): number {
    const view = this.#view;
    return this.#number(size, (at) =>
      size === 1 ? view.getUint8(at) : size === 2 ? view.getUint16(at) : view.getUint32(at),
    );
  }

  #number(size: number, read: (at: number) => number): number {
    if (this.at + size > this.#bytes.length) {
      throw new PackError("cut off");
    }
    this.at += size;
    return read(this.at - size);
  }

  #take(length: number): Uint8Array {
    if (this.at + length > this.#bytes.length) {
      throw new PackError(`cut off: ${length} bytes are claimed`);
    }
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }
}

/** JSON has no numbers that are not finite. People get their names. */
function real(number: number, reading: Reading): unknown {
  return reading === "people" && !Number.isFinite(number) ? String(number) : number;
}
