// Events of a share, from the lines of its export.

import { stringify } from "../api/numbers.ts";
import type { Event, Json, Lineage } from "../api/types.ts";
import { pointerTo, valueAt } from "../pointer.ts";
import type { History } from "./history.ts";
import { missing } from "./history.ts";
import type { Body, EventLine } from "./lines.ts";
import { words } from "../words/index.ts";

/** Names of the kinds of events, from number 1. */
const KINDS =
  "lineage_opened step_started step_finished step_failed phase_changed control_changed " +
  "guidance_given prompt_changed rules_changed artifacts_edited variables_patched " +
  "context_changed message tool_called tool_returned workspace_captured checkpoint_marked " +
  "checkpoint_unmarked checkpoint_attached restored application data_attached";
const NAMES = KINDS.split(" ");

/** Bytes that the object in place of a text has beyond the text. */
const OBJECT = 64;
const encoder = new TextEncoder();

/** Replaces long texts of a value by their beginning, as `?cut=` of the service does. */
export function cutTexts(value: Json, most: number, pointer = ""): Json {
  if (typeof value === "string") {
    const limit = most + pointer.length + OBJECT;
    if (value.length * 3 <= limit) return value;
    const bytes = encoder.encode(value).length;
    if (bytes <= limit) return value;
    const { read } = encoder.encodeInto(value, new Uint8Array(most));
    return { cut: value.slice(0, read), bytes, pointer };
  }
  if (Array.isArray(value)) {
    return value.map((item, i) => cutTexts(item, most, `${pointer}/${i}`));
  }
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value);
  return Object.fromEntries(
    fields.map(([name, field]) => [name, cutTexts(field, most, pointerTo(pointer, name))]),
  );
}

/** Returns the body as far as the file has it, or null. */
export function bodyOf(line: EventLine): Body | null {
  if (line.body) return line.body;
  if (line.shown) return line.shown;
  const number = line.number ?? 0;
  if (line.raw !== undefined) {
    return { kind: "unknown", number, payload: { base64: line.raw } };
  }
  return line.list === undefined ? null : { kind: "unknown", number, list: line.list };
}

function kindOf(line: EventLine, body: Body | null): string {
  if (line.number !== undefined) return NAMES[line.number - 1] ?? "unknown";
  return typeof body?.["kind"] === "string" ? body["kind"] : "unknown";
}

/** Formats microseconds as RFC 3339. */
export function timeOf(us: string | number): string {
  const micros = String(us).padStart(7, "0");
  const seconds = new Date(Number(micros.slice(0, -6)) * 1000);
  const isKnown = !Number.isNaN(seconds.getTime());
  return isKnown ? `${seconds.toISOString().slice(0, 19)}.${micros.slice(-6)}Z` : "";
}

/** Returns the event at an offset; its body is not covered by the hash if `withheld` is there. */
export async function eventAt(
  history: History,
  of: Lineage,
  offset: number,
  cut: number,
): Promise<Event> {
  const line = await history.line(of, offset);
  const body = bodyOf(line);
  const { actor, user, checkpoint, time_us = "0" } = line;
  const hash = line.hash ?? (await history.file.hashAt(of.id, offset + 1));
  return {
    offset,
    lineage: Number(line.log),
    kind: kindOf(line, body),
    time: timeOf(time_us),
    time_us: Number(time_us),
    ...(actor === undefined ? {} : { actor }),
    ...(user === undefined ? {} : { user }),
    body: body && (cutTexts(body, cut) as Body),
    task: history.task,
    ...(hash === "" ? {} : { hash }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(line.trusted ? { withheld: "trusted" as const } : {}),
    ...(line.withheld !== undefined ? { withheld: "body" as const } : {}),
  };
}

/** Returns the value at a pointer into the body of an event, as text. */
export async function valueText(
  history: History,
  of: Lineage,
  offset: number,
  pointer: string,
): Promise<string> {
  const body = bodyOf(await history.line(of, offset));
  const value = body === null ? undefined : valueAt(body, pointer);
  if (value === undefined) throw missing(words.value.notFoundHow);
  return typeof value === "string" ? value : stringify(value);
}
