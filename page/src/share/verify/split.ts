// Splits JSON into parts that are kept word for word: names of fields, and where values are.

import { invalid } from "./invalid.ts";

/** The place of a value in a text. */
export interface Part {
  /** Position of its first character. */
  from: number;
  /** Position after its last character. */
  to: number;
  /** Levels of arrays and objects in it, itself included. */
  depth: number;
}

/** A field of an object. */
export interface Field extends Part {
  name: string;
  /** The fields of the value, if it was split as well. */
  fields: Field[] | null;
}

/** Levels of arrays and objects in a line: more than any body has. */
const DEPTH_MAX = 128;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN = 123;
const CLOSE = 125;

/** Reader of a text that was parsed before, so that its syntax is known to be right. */
export class Splitter {
  #at: number;
  /** Depth of the value that was passed last. */
  #depth = 0;

  constructor(
    readonly text: string,
    from = 0,
  ) {
    this.#at = from;
  }

  /** Returns the fields of the object here. The value of the field `inner` is split, too. */
  object(inner = ""): Field[] {
    if (this.#next() !== OPEN) invalid("it is no object");
    this.#at++;
    const fields: Field[] = [];
    let depth = 1;
    for (let end = this.#next() === CLOSE; !end;) {
      const name = this.#name();
      if (this.#next() !== COLON) invalid("a name without a value");
      this.#at++;
      const from = (this.#next(), this.#at);
      const split = name === inner && inner !== "" && this.text.charCodeAt(from) === OPEN;
      const parts = split ? this.object() : (this.#value(), null);
      fields.push({ name, from, to: this.#at, depth: this.#depth, fields: parts });
      depth = Math.max(depth, this.#depth + 1);
      end = this.#ends(CLOSE);
    }
    this.#at++;
    this.#depth = depth;
    return fields;
  }

  /** Returns the items of the list here. */
  list(): Part[] {
    if (this.#next() !== OPEN_LIST) invalid("it is no list");
    this.#at++;
    const items: Part[] = [];
    for (let end = this.#next() === CLOSE_LIST; !end;) {
      const from = (this.#next(), this.#at);
      this.#value();
      items.push({ from, to: this.#at, depth: this.#depth });
      end = this.#ends(CLOSE_LIST);
    }
    this.#at++;
    return items;
  }

  /** Passes white space. Returns the character after it. */
  #next(): number {
    for (;;) {
      const char = this.text.charCodeAt(this.#at);
      if (char !== 32 && char !== 9 && char !== 10 && char !== 13) return char;
      this.#at++;
    }
  }

  /** Passes a comma. Returns `true` at the end of the list or object. */
  #ends(close: number): boolean {
    const char = this.#next();
    if (char === COMMA) this.#at++;
    else if (char !== close) invalid("it is no JSON");
    return char === close;
  }

  #name(): string {
    if (this.#next() !== QUOTE) invalid("a field without a name");
    const from = this.#at;
    this.#string();
    return stringAt(this.text, from, this.#at);
  }

  #value(): void {
    const char = this.#next();
    if (char === QUOTE) {
      this.#depth = 0;
      this.#string();
    } else if (char === OPEN || char === OPEN_LIST) this.#nested();
    else this.#word();
  }

  /** Passes a number, `true`, `false` or `null`. */
  #word(): void {
    const { text } = this;
    this.#depth = 0;
    for (; this.#at < text.length; this.#at++) {
      const char = text.charCodeAt(this.#at);
      if (char === COMMA || char === CLOSE || char === CLOSE_LIST || char <= 32) return;
    }
  }

  /** Passes a string: its end is a quote after an even number of backslashes. */
  #string(): void {
    const { text } = this;
    for (let at = this.#at + 1; ; at++) {
      at = text.indexOf('"', at);
      if (at < 0) invalid("a string without an end");
      let before = at - 1;
      while (text.charCodeAt(before) === BACKSLASH) before--;
      if ((at - before) % 2 === 0) continue;
      this.#at = at + 1;
      return;
    }
  }

  /** Passes a list or an object, without recursion. */
  #nested(): void {
    const { text } = this;
    let [depth, deepest] = [0, 0];
    while (this.#at < text.length) {
      const char = text.charCodeAt(this.#at);
      if (char === QUOTE) {
        this.#string();
        continue;
      }
      this.#at++;
      if (char === OPEN || char === OPEN_LIST) {
        depth++;
        if (depth > deepest) deepest = depth;
        if (depth > DEPTH_MAX) invalid(`it nests deeper than ${DEPTH_MAX} levels`);
      } else if (char === CLOSE || char === CLOSE_LIST) {
        depth--;
        if (depth === 0) {
          this.#depth = deepest;
          return;
        }
      }
    }
    invalid("a list or an object without an end");
  }
}

/** Returns the text of the string at a place, its escapes decoded. */
export function stringAt(text: string, from: number, to: number): string {
  if (text.charCodeAt(from) !== QUOTE) invalid("it is no string");
  const inner = text.slice(from + 1, to - 1);
  if (!inner.includes("\\")) return inner;
  const decoded = JSON.parse(text.slice(from, to)) as string;
  if (/\p{Surrogate}/u.test(decoded)) invalid("a string with half a surrogate pair");
  return decoded;
}
