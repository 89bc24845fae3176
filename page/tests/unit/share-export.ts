// Exports for the tests of the verifier, and changes of them.

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { blake3 } from "@noble/hashes/blake3.js";
import { eventOf } from "../../src/share/verify/event.ts";
import { Line, logNumber } from "../../src/share/verify/line.ts";
import { hex } from "../../src/share/verify/text.ts";
import { Verifier } from "../../src/share/verify/verifier.ts";
import type { Verdict } from "../../src/share/verify/verifier.ts";

export type Fields = Record<string, unknown>;

/** Returns the lines of an export in tests/fixtures. */
export function linesOf(name: string): string[] {
  const bytes = readFileSync(`tests/fixtures/${name}`);
  const text = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
  return text.trimEnd().split("\n");
}

export function verify(lines: readonly string[]): Verdict {
  const verifier = new Verifier();
  for (const line of lines) verifier.line(line);
  return verifier.end();
}

/** Makes the last line anew: counts and digest are those of the lines before it. */
export function sealed(lines: readonly string[]): string[] {
  const before = lines.slice(0, -1);
  const count = (field: string) =>
    String(before.filter((l) => l.startsWith(`{"${field}":`)).length);
  const digest = hex(blake3(Buffer.from(before.map((line) => `${line}\n`).join(""))));
  const end = { tasks: count("task"), events: count("log"), chunks: count("chunk") };
  return [...before, JSON.stringify({ end, digest })];
}

/** Leaves out the hashes of all events of a log but each of a number. */
export function sparse(lines: readonly string[], stride: number): string[] {
  const last = new Map<unknown, unknown>();
  const all = lines.map((line) => {
    if (!line.startsWith('{"log"')) return line;
    const fields = JSON.parse(line) as Fields;
    const { log, at, hash, trusted } = fields;
    const before = fields["previous"] ?? last.get(log);
    last.delete(log);
    if (trusted && before) {
      return line.replace('"hash":', `"previous":${JSON.stringify(before)},"hash":`);
    }
    if (trusted || Number(at) % stride === stride - 1) return line;
    last.set(log, hash);
    return line.replace(`"hash":"${String(hash)}",`, "");
  });
  return sealed(all);
}

/** Replaces the lines of a number, from 1, and makes the last line anew. */
export function replaced(lines: readonly string[], by: Record<number, string>): string[] {
  return sealed(lines.map((line, at) => by[at + 1] ?? line));
}

/** Returns the number of the first line that has a text. */
export function lineWith(lines: readonly string[], ...texts: string[]): number {
  const at = lines.findIndex((line) => texts.every((text) => line.includes(text)));
  if (at < 0) throw new Error(`no line has ${texts.join(" and ")}`);
  return at + 1;
}

/** Returns the fields of a line with an event, the raw text of its body, and its bytes. */
export function eventIn(line: string) {
  const split = Line.of(line, "body");
  const event = eventOf(split, logNumber(split.need("log")), 2, () => {});
  const body = split.field("body");
  return {
    fields: JSON.parse(line) as Fields,
    body: body ? line.slice(body.from, body.to) : "",
    kind: event.kind,
    form: event.form,
    payload: event.payload?.slice() ?? new Uint8Array(),
    hash: hex(event.body ?? new Uint8Array()),
    header: event.header.slice(),
  };
}

/** Returns the line of an event that is withheld or trusted. */
export function withoutBody(line: string, more: Fields): string {
  const { fields, kind } = eventIn(line);
  const { salt: _salt, body: _body, chunked: _chunked, ...left } = fields;
  return JSON.stringify({ ...left, number: kind, ...more });
}
