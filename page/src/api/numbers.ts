// JSON whose numbers stay as they were written. A number that JavaScript cannot hold is an object
// with its text.

import type { Json } from "./types.ts";

/** Name of the text in such an object. No log can have it: each page makes another one. */
const TEXT = `number-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;

/** Texts with none of these have no number that is rounded. */
const MAY_ROUND = /\d{16}|\d[.eE]|-0/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WRITTEN = new RegExp(`\\{\\s*"${TEXT}":\\s*"([^"]*)"\\s*\\}`, "g");

/** Returns digits and exponent of a decimal number, alike for all that are equal. */
function valueOf(text: string): string {
  const [, sign, whole = "", part = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  const exponent = BigInt(power) + BigInt(digits.length - short.length - part.length);
  return short === "" ? `${sign}0` : `${sign}${short}e${exponent}`;
}

function kept(text: string): string {
  const number = Number(text);
  const isSame = Number.isFinite(number) && valueOf(String(number)) === valueOf(text);
  return isSame ? text : `{"${TEXT}":"${text}"}`;
}

/** Returns the end of the string that begins at a quote. */
function endOf(text: string, quote: number): number {
  for (let at = quote + 1; ; at++) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let slashes = at;
    while (text[slashes - 1] === "\\") slashes--;
    if ((at - slashes) % 2 === 0) return at + 1;
  }
}

/** Parses JSON. */
export function parse(text: string): unknown {
  if (!MAY_ROUND.test(text)) return JSON.parse(text);
  let exact = "";
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const end = quote < 0 ? text.length : quote;
    exact += text.slice(at, end).replace(NUMBER, kept);
    at = quote < 0 ? end : endOf(text, quote);
    exact += text.slice(end, at);
  }
  return JSON.parse(exact);
}

/** Returns the JSON of a value that was parsed. */
export function stringify(value: unknown, space?: number): string {
  return JSON.stringify(value, null, space)?.replace(WRITTEN, "$1");
}

/** Returns whether a value is a number that JavaScript cannot hold. */
export function isExact(value: Json): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, TEXT);
}
