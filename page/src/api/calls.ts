// One function for each route that the page uses.

import { randomKey } from "../random.ts";
import { ask, query, send } from "./link.ts";
import type * as T from "./types.ts";

type Signal = AbortSignal | undefined;
const part = encodeURIComponent;
const task = (id: string) => `/v1/tasks/${part(id)}`;
const point = (address: string) => `/v1/points/${part(address)}`;

export const me = (signal?: Signal) => ask<T.Me>("/v1/me", { signal });

export interface SummariesRequest {
  q?: string;
  sort?: string;
  columns?: string;
  limit?: number;
  cursor?: string | null;
}

export const summaries = (asked: SummariesRequest, signal?: Signal) =>
  ask<T.Summaries>(`/v1/summaries${query({ ...asked })}`, { signal });

export const summary = (id: string, signal?: Signal) =>
  ask<T.Summary>(`${task(id)}/summary`, { signal });

export const lineages = (id: string, signal?: Signal) =>
  ask<T.Page<T.Lineage>>(`${task(id)}/lineages`, { signal });

export interface RowsRequest {
  lineage?: number;
  from?: number;
  to?: number;
  limit?: number;
  kind?: string;
  text?: string;
  failed?: boolean;
}

export const rows = (id: string, asked: RowsRequest, signal?: Signal) =>
  ask<T.Rows>(`${task(id)}/rows${query({ ...asked })}`, { signal });

export interface TurnsRequest {
  lineage?: number;
  from?: number;
  near?: number;
  limit?: number;
  text?: string;
  failed?: boolean;
}

export const turns = (id: string, asked: TurnsRequest, signal?: Signal) =>
  ask<T.Turns>(`${task(id)}/turns${query({ ...asked })}`, { signal });

export const overview = (id: string, lineage: number, buckets: number, signal?: Signal) =>
  ask<T.Overview>(`${task(id)}/overview${query({ lineage, buckets })}`, { signal });

export const metrics = (id: string, lineage: number, signal?: Signal) =>
  ask<{ items: T.MetricCount[] } & T.Progress>(`${task(id)}/metrics${query({ lineage })}`, {
    signal,
  });

export interface SeriesRequest {
  at: string[];
  metric: string;
  points: number;
  x: string;
}

export function series(asked: SeriesRequest, signal?: Signal): Promise<T.Series> {
  const parts = new URLSearchParams(asked.at.map((address) => ["at", address]));
  parts.append("metric", asked.metric);
  parts.append("points", String(asked.points));
  parts.append("x", asked.x);
  return ask<T.Series>(`/v1/series?${parts}`, { signal });
}

export const events = (id: string, asked: RowsRequest, signal?: Signal) =>
  ask<T.Events>(`${task(id)}/events${query({ ...asked })}`, { signal });

export const at = (address: string, signal?: Signal) => ask<T.Point>(point(address), { signal });

export const event = (address: string, signal?: Signal) =>
  ask<T.Event>(`${point(address)}/event?cut=65536`, { signal });

/** Path of a value of an event's body, as text. */
export const valuePath = (address: string, pointer: string) =>
  `${point(address)}/value${query({ pointer })}`;

export async function valueText(path: string, signal?: Signal): Promise<string> {
  const answer = await send(path, { signal, headers: { Accept: "text/plain" } });
  return answer.text();
}

export const state = (address: string, messages: number, signal?: Signal) =>
  ask<{ point: T.Point; state: { [name: string]: T.Json } }>(
    `${point(address)}/state?messages=${messages}`,
    { signal },
  );

export const blame = (address: string, pointer: string, signal?: Signal) =>
  ask<T.Blame>(`${point(address)}/blame${query({ pointer, history: true })}`, { signal });

export const diff = (a: string, b: string, signal?: Signal) =>
  ask<T.Diff>(`${point(a)}/diff/${part(b)}`, { signal });

export const files = (address: string, signal?: Signal) =>
  ask<T.Page<T.CapturedFile>>(`${point(address)}/files`, { signal });

export const fileChanges = (a: string, b: string, signal?: Signal) =>
  ask<{ items: T.FileChange[]; more: boolean }>(`${point(a)}/file-changes/${part(b)}`, { signal });

export const filePath = (address: string, path: string) =>
  `${point(address)}/files/${path.split("/").map(part).join("/")}`;

export const align = (a: string, b: string, from: number | null, texts: boolean, signal?: Signal) =>
  ask<T.Align>(
    `${point(a)}/align/${part(b)}${query({ from, limit: 1000, texts: texts ? true : null })}`,
    { signal },
  );

export const bisect = (address: string, when: string, good: string, signal?: Signal) =>
  ask<T.Bisected>(`${point(address)}/bisect${query({ when, good })}`, { signal });

/** Searches the events of all tasks. A page may be empty and have a next one. */
export const searchEvents = (text: string, cursor: string | null, signal?: Signal) =>
  ask<T.Page<T.SearchHit> & { events: T.Big }>(`/v1/search${query({ text, limit: 100, cursor })}`, {
    signal,
  });

/** Of all lineages, where none is named. */
export const checkpoints = (id: string, lineage: number | null, cursor: string | null) =>
  ask<T.Page<T.Checkpoint>>(`${task(id)}/checkpoints${query({ lineage, limit: 100, cursor })}`);

// Actions

export const branch = (address: string, description: string) =>
  ask<T.Lineage>(`${point(address)}/branch`, {
    method: "POST",
    body: description ? { description } : {},
  });

/** Opens a lineage at a point with its first events, as one commit. */
export const branchWith = (address: string, description: string, events: object[]) =>
  ask<{ lineage: T.Lineage }>(`${point(address)}/events${query({ description })}`, {
    method: "POST",
    lines: events.map((one) => JSON.stringify(one)).join("\n"),
  });

/** Decisions about conflicts of files. */
export interface ChoicesRequest {
  theirs: T.PathName[];
  keep_mine: T.PathName[];
  moved?: boolean;
}

export interface RestoreRequest {
  to: string;
  scope: string;
  description?: string;
  folder?: string;
  choices?: ChoicesRequest;
}

export const restorePlan = (asked: RestoreRequest, signal?: Signal) =>
  ask<T.RestorePlan>("/v1/restores/plan", { method: "POST", body: asked, signal });

export const restore = (asked: RestoreRequest) =>
  ask<{ lineage: T.Lineage }>("/v1/restores", { method: "POST", body: asked });

/** Folder of an undo with files; without one, files stay as they are. */
export interface UndoRequest {
  folder?: string;
  choices?: ChoicesRequest;
}

export const undoPlan = (id: string, body: UndoRequest, signal?: Signal) =>
  ask<T.RestorePlan>(`${task(id)}/undo/plan`, { method: "POST", body, signal });

export const undo = (id: string, body: UndoRequest) =>
  ask<{ lineage: T.Lineage }>(`${task(id)}/undo`, { method: "POST", body });

export const folders = (id: string, signal?: Signal) =>
  ask<{ items: T.Folder[]; more: boolean }>(`${task(id)}/folders`, { signal });

export const activate = (id: string, lineage: number) =>
  ask<{ lineage: T.Lineage }>(`${task(id)}/active`, { method: "PUT", body: { lineage } });

export const control = (id: string, to: string, reason: string) =>
  ask<{ control: string }>(`${task(id)}/control`, {
    method: "POST",
    headers: { "Idempotency-Key": randomKey() },
    body: reason ? { to, reason } : { to },
  });

/** Appends events to the active lineage. `key` makes a repetition harmless. */
export const append = (id: string, events: object[], key: string) =>
  ask<{ first: T.Big }>(`${task(id)}/events`, {
    method: "POST",
    headers: { "Idempotency-Key": key },
    lines: events.map((one) => JSON.stringify(one)).join("\n"),
  });

export const mark = (id: string, body: { label?: string; lineage: number; at: number }) =>
  ask<{ id: string }>(`${task(id)}/checkpoints`, { method: "POST", body });

export const pin = (id: string, reason: string) =>
  ask<unknown>(`/v1/checkpoints/${part(id)}/pin`, {
    method: "PUT",
    body: reason ? { reason } : {},
  });

// Shares

export interface ShareRequest {
  redact: boolean;
  /** Regular expressions. */
  withhold: string[];
  /** Most bytes of the file. */
  max: number;
}

/** Path of a task as one file, or of the plan of it. */
export function sharePath(id: string, asked: ShareRequest, of: "" | "/plan" = ""): string {
  const parts = new URLSearchParams(asked.withhold.map((text) => ["withhold", text]));
  parts.append("redact", String(asked.redact));
  parts.append("max", String(asked.max));
  return `${task(id)}/share${of}?${parts}`;
}

export const sharePlan = (id: string, asked: ShareRequest, signal?: Signal) =>
  ask<T.SharePlan>(sharePath(id, asked, "/plan"), { signal });

// The store

export const stats = (signal?: Signal) => ask<T.Json>("/v1/stats", { signal });
export const anchor = async (signal?: Signal) => (await send("/v1/anchor", { signal })).text();
export const verify = (signal?: Signal) =>
  ask<{ ok: boolean; faults: { place: string; message: string }[] } & Record<string, unknown>>(
    "/v1/verify",
    { method: "POST", body: {}, signal },
  );
export async function ready(signal?: Signal): Promise<string> {
  return (await send("/readyz", { signal, headers: { Accept: "*/*" } })).text();
}
