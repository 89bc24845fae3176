// Lines of a piece of the export, and their forms.

import type { Json } from "../api/types.ts";

/** Text of a piece, with the place of the line of each event: by log and offset. */
export interface ExportText {
  text: string;
  events: ReadonlyMap<string, readonly [start: number, end: number]>;
}

/** Beginning of the line of an event. */
const EVENT = /^\{"log":"([0-9a-z]{1,20})","at":"(\d{1,20})"/;
const BEGINNING = 80;

export function linesOf(text: string): ExportText {
  const events = new Map<string, readonly [number, number]>();
  for (let start = 0; start < text.length;) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const event = EVENT.exec(text.slice(start, start + BEGINNING));
    if (event) events.set(`${event[1]} ${event[2]}`, [start, end]);
    start = end + 1;
  }
  return { text, events };
}

/** Line of an event, as docs/EXPORT.md defines it: offsets and times are texts of digits. */
export interface EventLine {
  log: string;
  at: string;
  time_us?: string;
  actor?: string;
  user?: string;
  correlation?: string;
  key?: string;
  hash?: string;
  checkpoint?: string;
  number?: number;
  body?: Body;
  raw?: string;
  list?: string;
  erased?: string;
  withheld?: string;
  trusted?: boolean;
  shown?: Body;
}

export type Body = { [name: string]: Json };

/**
 * Returns the text of the body of a line, as the file has it, for a search; an empty text without
 * one. A text of a header cannot have these beginnings: its quotes are escaped.
 */
export function bodyText(line: string): string {
  const places = [line.indexOf('"body":{'), line.indexOf('"shown":{')].filter((at) => at >= 0);
  return places.length === 0 ? "" : line.slice(Math.min(...places));
}
