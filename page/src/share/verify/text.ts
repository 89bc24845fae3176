// Bytes as text: hexadecimal digits, and base64.

import { invalid, brief } from "./invalid.ts";

const HEX = "0123456789abcdef";
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Value of each character, or 255. */
function valuesOf(alphabet: string): Uint8Array {
  const values = new Uint8Array(128).fill(255);
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i;
  return values;
}

const digits = valuesOf(HEX);
for (let i = 10; i < 16; i++) digits[HEX.toUpperCase().charCodeAt(i)] = i;
const sextets = valuesOf(BASE64);
const pairs = Array.from({ length: 256 }, (_, i) => HEX[i >> 4]! + HEX[i & 15]!);

/** Returns the digits of bytes. */
export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += pairs[byte]!;
  return text;
}

/** Returns the bytes of a text with exactly so many, in either case. */
export function fromHex(text: string, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let wrong = text.length === 2 * length ? 0 : 16;
  for (let i = 0; i < length && wrong < 16; i++) {
    const high = digits[text.charCodeAt(2 * i)] ?? 255;
    const low = digits[text.charCodeAt(2 * i + 1)] ?? 255;
    wrong |= high | low;
    bytes[i] = (high << 4) | low;
  }
  return wrong < 16 ? bytes : invalid(`\`${brief(text)}\` is not ${2 * length} hexadecimal digits`);
}

/** Returns the bytes of base64 in the standard alphabet with padding, or `null`. */
export function fromBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null;
  const bytes = new Uint8Array((text.length / 4) * 3);
  let length = 0;
  for (let at = 0; at < text.length; at += 4) {
    // A group may be padded anywhere: base64 may be several texts, one after another.
    const two = text.charCodeAt(at + 2) === 61;
    const one = text.charCodeAt(at + 3) === 61;
    if (two && !one) return null;
    const a = sextets[text.charCodeAt(at)] ?? 255;
    const b = sextets[text.charCodeAt(at + 1)] ?? 255;
    const c = two ? 0 : (sextets[text.charCodeAt(at + 2)] ?? 255);
    const d = one ? 0 : (sextets[text.charCodeAt(at + 3)] ?? 255);
    if ((a | b | c | d) > 63) return null;
    // Bits that belong to no byte are zero.
    if ((two && b & 15) || (one && !two && c & 3)) return null;
    bytes[length++] = (a << 2) | (b >> 4);
    if (!two) bytes[length++] = ((b & 15) << 4) | (c >> 2);
    if (!one) bytes[length++] = ((c & 3) << 6) | d;
  }
  return bytes.subarray(0, length);
}

/** Compares bytes of the same length. */
export function same(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return a.length === b.length;
}
