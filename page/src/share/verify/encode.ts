// Encodes the JSON form of a body to the bytes that are stored.

import { brief, invalid } from "./invalid.ts";
import type { ByteWriter } from "./bytes.ts";
import { APPLICATION, MESSAGE, kindOf } from "./kinds.ts";
import { Splitter, stringAt } from "./split.ts";
import type { Field, Part } from "./split.ts";
import { fromBase64, fromHex } from "./text.ts";
import type { Fields, Type } from "./types.ts";

/** Levels of arrays and objects in a stored value of JSON. */
const DEPTH_MAX = 100;

const BOOLS = ["false", "true"];

const U64_MAX = 2n ** 64n - 1n;

/** Returns the number that digits give, as a `bigint` if it is over 2^53. */
export function unsigned(digits: string, max: bigint = U64_MAX): number | bigint {
  if (!/^\d{1,40}$/.test(digits)) invalid(`\`${brief(digits)}\` is no number`);
  const large = BigInt(digits);
  if (large > max) invalid(`${digits} is over ${max}`);
  return large <= Number.MAX_SAFE_INTEGER ? Number(large) : large;
}

/** Orders texts by their bytes in UTF-8. */
export function byBytes(a: string, b: string): number {
  // Surrogates stand for code points over all that have one unit.
  const rank = (unit: number) =>
    unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [one, other] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

/** Returns the field of a name. The name may occur once. */
export function fieldOf(fields: readonly Field[], name: string): Field | undefined {
  let found: Field | undefined;
  for (const field of fields) {
    if (field.name !== name) continue;
    if (found) invalid(`\`${name}\` is there twice`);
    found = field;
  }
  return found;
}

/**
 * Encoder of the values in one text. With `asStored`, `null` in place of an optional value of JSON
 * is that value, and an object of base64 alone is JSON: bodies can be stored so, though none is
 * read so.
 */
export class Encoder {
  constructor(
    readonly text: string,
    readonly out: ByteWriter,
    readonly asStored = false,
  ) {}

  /** Puts the payload of a body. Returns the number of its kind. */
  body(body: Field, isControl: boolean): number {
    const fields = body.fields ?? invalid("its body is no object");
    const named = fieldOf(fields, "kind") ?? invalid("its body has no `kind`");
    const name = stringAt(this.text, named.from, named.to);
    const kind = kindOf(name, isControl);
    if (kind) {
      const rest = this.#structure(fields, kind.fields, "kind");
      if (kind.number === MESSAGE) this.#extra(rest);
      else if (rest[0]) invalid(`${name} has no field \`${brief(rest[0].name)}\``);
      return kind.number;
    }
    if (isControl) invalid(`there is no control event \`${brief(name)}\``);
    this.out.text(name);
    this.out.u8(0);
    this.#json(body);
    return APPLICATION;
  }

  /** Puts fields in stored order. Returns those that the structure does not have. */
  #structure(fields: readonly Field[], of: Fields, tag = ""): Field[] {
    let left = fields.length;
    for (const [name, { type, absent }] of of) {
      const field = fieldOf(fields, name);
      if (field) {
        left--;
        this.#value(field, type);
      } else if (absent !== undefined) this.out.u8(absent);
      else invalid(`\`${name}\` is missing`);
    }
    if (left === (tag === "" ? 0 : 1)) return [];
    return fields.filter(({ name }) => name !== tag && !of.has(name));
  }

  /** Puts the other fields of a message as an object, values word for word. */
  #extra(rest: readonly Field[]): void {
    if (rest.length === 0) return this.out.u8(0);
    const parts = rest.map(({ name, from, to, depth }) => {
      if (depth >= DEPTH_MAX) invalid(`JSON nested deeper than ${DEPTH_MAX} levels`);
      return `${JSON.stringify(name)}:${this.text.slice(from, to)}`;
    });
    this.out.u8(1);
    this.out.text(`{${parts.join(",")}}`);
  }

  #value(at: Part, type: Type): void {
    const { out, text } = this;
    switch (type.is) {
      case "string":
        return this.#string(at);
      case "json":
        return this.#json(at);
      case "data":
        return this.#data(at);
      case "integer":
        return this.#integer(at, type.bits, type.signed);
      case "f64":
        return out.f64(this.#float(at));
      case "bool":
        return out.u8(this.#oneOf(text.slice(at.from, at.to), BOOLS));
      case "names":
        return out.varint(this.#oneOf(stringAt(text, at.from, at.to), type.names));
      case "id":
        return out.raw(fromHex(stringAt(text, at.from, at.to), type.bytes));
      case "option":
        if (this.#isNull(at) && !(this.asStored && type.of.is === "json")) return out.u8(0);
        out.u8(1);
        return this.#value(at, type.of);
      case "list": {
        const items = new Splitter(text, at.from).list();
        out.varint(items.length);
        for (const item of items) this.#value(item, type.of);
        return;
      }
      case "map":
        return this.#map(at, type.of);
      case "structure": {
        const rest = this.#structure(new Splitter(text, at.from).object(), type.fields);
        if (rest[0]) invalid(`a field \`${brief(rest[0].name)}\` that is unknown`);
      }
    }
  }

  #isNull({ from, to }: Part): boolean {
    return to - from === 4 && this.text.startsWith("null", from);
  }

  #string({ from, to }: Part): void {
    const decoded = stringAt(this.text, from, to);
    if (decoded.length === to - from - 2) this.out.text(this.text, from + 1, to - 1);
    else this.out.text(decoded);
  }

  #json({ from, to, depth }: Part): void {
    if (depth > DEPTH_MAX) invalid(`JSON nested deeper than ${DEPTH_MAX} levels`);
    this.out.text(this.text, from, to);
  }

  /** Puts JSON, or the bytes of an object that has `base64` alone. */
  #data(at: Part): void {
    const bytes = this.asStored ? null : this.#base64(at);
    this.out.u8(bytes ? 1 : 0);
    if (!bytes) return this.#json(at);
    this.out.varint(bytes.length);
    this.out.raw(bytes);
  }

  #base64(at: Part): Uint8Array | null {
    const { text } = this;
    if (at.depth !== 1 || text[at.from] !== "{") return null;
    // The name is seen without a pass over the value, unless it is escaped.
    const start = text
      .slice(at.from + 1, at.to)
      .trimStart()
      .slice(0, 40);
    if (!start.startsWith('"base64"') && !start.includes("\\")) return null;
    const fields = new Splitter(text, at.from).object();
    const field = fields.length === 1 ? fields[0]! : null;
    if (field?.name !== "base64" || text[field.from] !== '"') return null;
    return fromBase64(stringAt(text, field.from, field.to));
  }

  #integer({ from, to }: Part, bits: number, signed: boolean): void {
    const word = this.text.slice(from, to);
    if (!/^(0|-?[1-9]\d{0,39})$/.test(word)) invalid(`${brief(word)} is no integer`);
    if (!signed) {
      if (word.startsWith("-")) invalid(`${word} is negative`);
      return this.out.varint(unsigned(word, bits === 32 ? 0xffff_ffffn : U64_MAX));
    }
    const value = BigInt(word);
    if (BigInt.asIntN(bits, value) !== value) invalid(`${word} has more than ${bits} bits`);
    const zigzag = value >= 0n ? 2n * value : -2n * value - 1n;
    this.out.varint(zigzag <= Number.MAX_SAFE_INTEGER ? Number(zigzag) : zigzag);
  }

  #float({ from, to }: Part): number {
    const word = this.text.slice(from, to);
    if (word.startsWith('"')) {
      const name = stringAt(this.text, from, to);
      if (name !== "NaN" && !/^-?Infinity$/.test(name)) invalid(`${brief(word)} is no number`);
      return Number(name);
    }
    const value = /^[-\d]/.test(word) ? Number(word) : NaN;
    return Number.isFinite(value) ? value : invalid(`${brief(word)} is no number`);
  }

  /** Puts names and values in the order of the names' bytes. The last value of a name counts. */
  #map(at: Part, of: Type): void {
    const fields = new Splitter(this.text, at.from).object();
    const byName = new Map(fields.map((field) => [field.name, field]));
    const sorted = [...byName.values()].sort((a, b) => byBytes(a.name, b.name));
    this.out.varint(sorted.length);
    for (const field of sorted) {
      this.out.text(field.name);
      this.#value(field, of);
    }
  }

  #oneOf(name: string, names: readonly string[]): number {
    const position = names.indexOf(name);
    return position >= 0 ? position : invalid(`\`${brief(name)}\` is none of ${names.join(", ")}`);
  }
}
