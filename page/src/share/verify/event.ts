// An event of an export: from its line to the bytes that its hashes cover.

import { ByteWriter } from "./bytes.ts";
import { Encoder } from "./encode.ts";
import { CHUNKED, INLINE, bodyHash, chunkedBody } from "./hash.ts";
import { invalid } from "./invalid.ts";
import { CONTROL } from "./line.ts";
import type { Line } from "./line.ts";
import { ByteReader } from "./reader.ts";

const HEADER_FIELDS = ["time_us", "actor", "user", "correlation", "key", "batch"];
const FIELDS = new Set([
  ...["log", "at", ...HEADER_FIELDS, "header", "salt", "previous", "hash", "checkpoint", "number"],
  ...["chunked", "body", "raw", "list", "erased", "withheld", "trusted", "shown"],
]);
const VERSION_2 = ["withheld", "trusted", "shown"];

/** An event. Its bytes are valid until the next one is read. */
export interface Event {
  kind: number;
  /** The form of the body, or `null` if the file does not have it. */
  form: number | null;
  /** The payload of a body that the file has. */
  payload: Uint8Array | null;
  /** The payload of what is shown of a body that the file does not have. */
  shown: Uint8Array | null;
  /** The hash of the body, or `null` if the event is trusted. */
  body: Uint8Array | null;
  header: Uint8Array;
  time: number | bigint;
  withheld: boolean;
}

/** Chunks of the file: the length of each, by id. */
export type Chunks = ReadonlyMap<string, number>;

const payloads = new ByteWriter();
const headers = new ByteWriter();

/** Reads the event of a line. `check` has the chunks that came before. */
export function eventOf(
  line: Line,
  log: number,
  version: number,
  check: (list: Uint8Array) => void,
): Event {
  line.only(FIELDS);
  if (version < 2) {
    const later = VERSION_2.find((name) => line.has(name));
    if (later) invalid(`\`${later}\` is of version 2`);
  }
  const body = bodyOf(line, log, check);
  if (body.withheld && line.has("shown")) {
    const shown = encodeBody(line, log, "shown");
    if (shown.kind !== body.kind) invalid(`\`shown\` is of kind ${shown.kind}, not ${body.kind}`);
    body.shown = shown.payload;
  }
  return { ...body, ...headerOf(line, body.kind) };
}

type Body = Omit<Event, "header" | "time">;

function bodyOf(line: Line, log: number, check: (list: Uint8Array) => void): Body {
  const forms = ["raw", "list", "erased", "withheld"].filter((name) => line.has(name));
  if (line.flag("trusted")) forms.push("trusted");
  const form = forms[0] ?? "body";
  if (
    forms.length > 1 ||
    (form === "body" ? !line.has("body") : form !== "raw" && line.has("body"))
  ) {
    invalid("an event has one of `body`, `raw`, `list`, `erased`, `withheld` and `trusted`");
  }
  const absent = form === "withheld" || form === "trusted";
  if (line.has("shown") && !absent) invalid("`shown` of an event that is not withheld");
  if (line.has("previous") && form !== "trusted") {
    invalid("`previous` of an event that is not trusted");
  }
  const number = line.number("number", 0xffff);
  if (form === "body" && number !== undefined) invalid("`number` of a body that has its name");
  const kind = number ?? 0;
  if (form !== "body" && number === undefined) invalid("`number` is missing");
  if (form === "erased" || absent) {
    const other = ["salt", "chunked"].find((name) => line.has(name));
    if (other) invalid(`\`${other}\` of a body that is not there`);
    const body = form === "trusted" ? null : line.needId(form, 32);
    return { kind, form: null, payload: null, shown: null, body, withheld: absent };
  }
  const ends = line.ends("chunked");
  const chunked = ends !== undefined || form === "list";
  if (chunked && log === CONTROL) invalid("a control event in chunks");
  const read = payloadOf(line, log, form, kind);
  if (form === "list") check(read.payload);
  const payload = ends && form !== "list" ? chunkedBody(read.payload, ends) : read.payload;
  const stored = chunked ? CHUNKED : INLINE;
  const hash = bodyHash(line.needId("salt", 16), stored, payload);
  return { kind: read.kind, form: stored, payload, shown: null, body: hash, withheld: false };
}

/** Returns the payload of a body, or the list of its chunks. */
function payloadOf(line: Line, log: number, form: string, kind: number) {
  if (form === "body") return encodeBody(line, log, "body");
  const payload = line.base64(form);
  if (form === "raw" && line.has("body")) checkBody(line, log, kind, payload);
  return { kind, payload };
}

/** Refuses a body for people that is not the one of the bytes. */
function checkBody(line: Line, log: number, kind: number, raw: Uint8Array): void {
  for (const asStored of [false, true]) {
    const read = encodeBody(line, log, "body", asStored);
    if (read.kind === kind && isReadable(read.payload, raw)) return;
  }
  invalid("its `body` is not what `raw` holds");
}

/** Compares bytes. Line ends between values are spaces in a body for people. */
function isReadable(read: Uint8Array, raw: Uint8Array): boolean {
  const isEnd = (byte: number) => byte === 10 || byte === 13;
  const same = (byte: number, at: number) => byte === read[at] || (isEnd(byte) && read[at] === 32);
  return read.length === raw.length && raw.every(same);
}

/** Encodes the body in a field. */
export function encodeBody(line: Line, log: number, name: "body" | "shown", asStored = false) {
  payloads.length = 0;
  const kind = new Encoder(line.text, payloads, asStored).body(line.body(name), log === CONTROL);
  return { kind, payload: payloads.from(0) };
}

function headerOf(line: Line, kind: number): Pick<Event, "header" | "time"> {
  if (line.has("header")) {
    const both = HEADER_FIELDS.find((name) => line.has(name));
    if (both) invalid(`both \`header\` and \`${both}\``);
    const header = line.base64("header");
    return { header, time: timeOf(header, kind) };
  }
  const time = line.big("time_us");
  headers.length = 0;
  headers.varint(kind);
  headers.varint(time);
  for (const name of ["actor", "user", "correlation", "key"]) {
    const text = line.string(name);
    headers.u8(text === undefined ? 0 : 1);
    if (text !== undefined) headers.text(text);
  }
  headers.varint(line.number("batch", 0xffff_ffff) ?? 0);
  return { header: headers.from(0), time };
}

/** Returns the time in a header, which may have more fields than are known. */
function timeOf(header: Uint8Array, kind: number): number | bigint {
  const reader = new ByteReader(header);
  const own = reader.varint();
  if (own !== kind) invalid(`\`header\` is of kind ${own}, not ${kind}`);
  const time = reader.varint();
  for (let texts = 0; texts < 4; texts++) reader.option(() => reader.string());
  reader.varint();
  return time;
}

/** Refuses a list of chunks that the file does not have. */
export function checkList(
  list: Uint8Array,
  lengthOf: (id: Uint8Array) => number | undefined,
): void {
  const reader = new ByteReader(list);
  reader.take(reader.number());
  let left = reader.number();
  for (let count = reader.number(); count > 0; count--) {
    left -= lengthOf(reader.take(32)) ?? invalid("a chunk that it lists did not come before");
  }
  reader.take(reader.number());
  reader.end();
  if (left !== 0) invalid("its chunks do not have the length of their list");
}
