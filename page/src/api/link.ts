// Requests to the service, with the session of this browser, and the state of the connection. In a
// share they are answered from the file.

import { signal } from "@preact/signals";
import { keep, kept } from "../kept.ts";
import { Problem, isAbort, problemOf } from "./problem.ts";

const KEY = "milepost.session";

/** State of the connection: `lost` holds the time of the last answer. */
export const link = signal<{ state: "up" } | { state: "lost"; since: number }>({ state: "up" });

/** Grows each time the service is reached again, so that screens ask again. */
export const revived = signal(0);

/** Whether the service refused the session (401), so that the login is shown. */
export const loginNeeded = signal(false);

let lastAnswer = Date.now();
let retrying = false;

export function session(): string | null {
  return kept(KEY);
}

export function keepSession(token: string | null): void {
  keep(KEY, token);
}

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

function headersOf(options: Options): Headers {
  const headers = new Headers(options.headers);
  const token = options.token ?? session();
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (options.body !== undefined) headers.set("Content-Type", "application/json");
  if (options.lines !== undefined) headers.set("Content-Type", "application/x-ndjson");
  if (!headers.has("Accept")) headers.set("Accept", "application/json");
  return headers;
}

/** Answers a request without a service: with a value, or with a text. Throws a `Problem`. */
export type Answerer = (path: string, options: Options) => Promise<unknown>;

let answerer: Answerer | undefined;

/** Has all requests answered by a function from now on; none is sent. */
export function setAnswerer(by: Answerer): void {
  answerer = by;
}

/** Sends a request and returns the answer, or throws a `Problem`. */
export async function send(path: string, options: Options = {}): Promise<Response> {
  if (answerer) {
    const value = await answerer(path, options);
    return new Response(typeof value === "string" ? value : JSON.stringify(value));
  }
  const init: RequestInit = {
    method: options.method ?? "GET",
    headers: headersOf(options),
    credentials: "omit",
    redirect: "error",
  };
  if (options.signal) init.signal = options.signal;
  if (options.lines !== undefined) init.body = options.lines;
  else if (options.body !== undefined) init.body = JSON.stringify(options.body);
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if (isAbort(error)) throw error;
    lost();
    throw new Problem(0, { title: "", detail: "" });
  }
  lastAnswer = Date.now();
  if (link.value.state === "lost") found();
  if (answer.ok) return answer;
  if (answer.status === 401) loginNeeded.value = true;
  throw await problemOf(answer);
}

/** Sends a request and parses the JSON of the answer. */
export async function ask<T>(path: string, options: Options = {}): Promise<T> {
  if (answerer) return (await answerer(path, options)) as T;
  const answer = await send(path, options);
  if (answer.status === 204) return undefined as T;
  return (await answer.json()) as T;
}

function found(): void {
  link.value = { state: "up" };
  revived.value += 1;
}

/** Notes that no answer arrived, and asks again until one does. */
export function lost(): void {
  if (link.value.state === "up") link.value = { state: "lost", since: lastAnswer };
  if (!retrying) void retry();
}

async function retry(): Promise<void> {
  retrying = true;
  for (let wait = 500; link.value.state === "lost"; wait = Math.min(wait * 2, 10_000)) {
    await new Promise((done) => setTimeout(done, wait * (0.5 + Math.random() / 2)));
    try {
      const answer = await fetch("/healthz", { credentials: "omit", cache: "no-store" });
      if (answer.status < 500) found();
    } catch {
      // Still not there.
    }
  }
  retrying = false;
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
