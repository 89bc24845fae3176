// Requests to the service, and the state of the connection. The page sends them (`http.ts`); a share
// answers them from its file.

import { signal } from "@preact/signals";

/** State of the connection: `lost` holds the time of the last answer. */
export const link = signal<{ state: "up" } | { state: "lost"; since: number }>({ state: "up" });

/** Grows each time the service is reached again, so that screens ask again. */
export const revived = signal(0);

/** Whether the service refused the session (401), so that the login is shown. */
export const loginNeeded = signal(false);

export interface Options {
  method?: string;
  body?: unknown;
  /** Body as it is, instead of JSON. */
  lines?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Token to use instead of the session. */
  token?: string;
}

/** What answers requests. Both throw a `Problem`. */
export interface Answerer {
  send: (path: string, options: Options) => Promise<Response>;
  /** Returns the value of an answer. */
  ask: (path: string, options: Options) => Promise<unknown>;
}

let answerer: Answerer;

/** Has all requests answered from now on. */
export function setAnswerer(by: Answerer): void {
  answerer = by;
}

/** Sends a request and returns the answer, or throws a `Problem`. */
export function send(path: string, options: Options = {}): Promise<Response> {
  return answerer.send(path, options);
}

/** Sends a request and returns the value of the answer, or throws a `Problem`. */
export async function ask<T>(path: string, options: Options = {}): Promise<T> {
  return (await answerer.ask(path, options)) as T;
}

/** Builds a query from fields that are present. */
export function query(
  fields: Record<string, string | number | boolean | null | undefined>,
): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== null && value !== "") parts.append(name, String(value));
  }
  const text = parts.toString();
  return text === "" ? "" : `?${text}`;
}
