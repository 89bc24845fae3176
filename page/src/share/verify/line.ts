// A line of an export: its fields, and the forms of their values.

import { unsigned } from "./encode.ts";
import { brief, invalid } from "./invalid.ts";
import { Splitter, stringAt } from "./split.ts";
import type { Field } from "./split.ts";
import { fromBase64, fromHex } from "./text.ts";

/** Number of the control log. No lineage has it. */
export const CONTROL = 0xffff_ffff;

/** A point that a line states. */
export interface Point {
  log: string;
  next: number;
  hash: Uint8Array;
}

/** Returns the number of a log: `control`, or a lineage. */
export function logNumber(log: string): number {
  if (log === "control") return CONTROL;
  const number = unsigned(log, BigInt(CONTROL - 1));
  return String(number) === log ? Number(number) : invalid(`\`${brief(log)}\` is no log of a task`);
}

/** Lengths of the beginning and the end of a body, in bytes. */
export type Ends = readonly [before: number, after: number];

/** Fields of an object in a line. */
export class Line {
  constructor(
    readonly text: string,
    readonly fields: readonly Field[],
  ) {}

  /** Splits a line. `inner` names a field whose fields are split, too. */
  static of(text: string, inner = ""): Line {
    try {
      JSON.parse(text);
    } catch {
      invalid("it is no JSON");
    }
    return new Line(text, new Splitter(text).object(inner));
  }

  /** Refuses other fields, and a field that is there twice. */
  only(names: ReadonlySet<string>): void {
    const { fields } = this;
    for (let i = 0; i < fields.length; i++) {
      const { name } = fields[i]!;
      if (!names.has(name)) invalid(`an unknown field \`${brief(name)}\``);
      for (let j = 0; j < i; j++)
        if (fields[j]!.name === name) invalid(`\`${name}\` is there twice`);
    }
  }

  field(name: string): Field | undefined {
    for (const field of this.fields) if (field.name === name) return field;
    return undefined;
  }

  has(name: string): boolean {
    return this.field(name) !== undefined;
  }

  string(name: string): string | undefined {
    const field = this.field(name);
    if (!field) return undefined;
    if (this.text[field.from] !== '"') invalid(`\`${name}\` is no string`);
    return stringAt(this.text, field.from, field.to);
  }

  /** Returns the string of a field that has to be there. */
  need(name: string): string {
    return this.string(name) ?? invalid(`\`${name}\` is missing`);
  }

  /** Returns a number that is written as a string. */
  big(name: string): number | bigint {
    return unsigned(this.need(name));
  }

  /** Returns an offset. Files have no offsets over 2^53. */
  offset(name: string): number {
    const value = this.big(name);
    return typeof value === "number" ? value : invalid(`\`${name}\` is over 2^53`);
  }

  /** Returns a number that is written as one, or `undefined`. */
  number(name: string, max: number): number | undefined {
    const field = this.field(name);
    if (!field) return undefined;
    const word = this.text.slice(field.from, field.to);
    if (!/^(0|[1-9]\d{0,9})$/.test(word) || Number(word) > max)
      invalid(`\`${name}\` is ${brief(word)}`);
    return Number(word);
  }

  flag(name: string): boolean {
    const field = this.field(name);
    if (!field) return false;
    const word = this.text.slice(field.from, field.to);
    return word === "true" || (word !== "false" && invalid(`\`${name}\` is ${brief(word)}`));
  }

  /** Returns the lengths of the ends of a body that are not in chunks. */
  ends(name: string): Ends | undefined {
    const field = this.field(name);
    if (!field) return undefined;
    const word = this.text.slice(field.from, field.to);
    const numbers = /^\[\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\]$/.exec(word);
    return numbers
      ? [Number(numbers[1]), Number(numbers[2])]
      : invalid(`\`${name}\` is ${brief(word)}`);
  }

  id(name: string, bytes: number): Uint8Array | undefined {
    const digits = this.string(name);
    return digits === undefined ? undefined : fromHex(digits, bytes);
  }

  needId(name: string, bytes: number): Uint8Array {
    return this.id(name, bytes) ?? invalid(`\`${name}\` is missing`);
  }

  base64(name: string): Uint8Array {
    return fromBase64(this.need(name)) ?? invalid(`\`${name}\` is not base64`);
  }

  /** Returns the object of a field. */
  object(name: string): Line {
    const field = this.field(name) ?? invalid(`\`${name}\` is missing`);
    return new Line(this.text, new Splitter(this.text, field.from).object());
  }

  /** Returns the points of a list. */
  points(name: string): Point[] {
    const field = this.field(name);
    if (!field) return [];
    return new Splitter(this.text, field.from).list().map(({ from }) => {
      const point = new Line(this.text, new Splitter(this.text, from).object());
      point.only(POINT);
      const log = point.need("log");
      logNumber(log);
      return { log, next: point.offset("next"), hash: point.needId("hash", 32) };
    });
  }

  /** Returns a field whose value is an object, its fields split. */
  body(name: string): Field {
    const field = this.field(name) ?? invalid(`\`${name}\` is missing`);
    return field.fields
      ? field
      : { ...field, fields: new Splitter(this.text, field.from).object() };
  }
}

const POINT = new Set(["log", "next", "hash"]);
