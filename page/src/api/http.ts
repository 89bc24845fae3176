// Requests by HTTP, with the session of this browser.

import { keep, kept } from "../kept.ts";
import { link, loginNeeded, revived } from "./link.ts";
import type { Answerer, Options } from "./link.ts";
import { parse } from "./numbers.ts";
import { Problem, isAbort, problemOf } from "./problem.ts";

const KEY = "milepost.session";

let lastAnswer = Date.now();
let retrying = false;

export function session(): string | null {
  return kept(KEY);
}

export function keepSession(token: string | null): void {
  keep(KEY, token);
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

async function send(path: string, options: Options): Promise<Response> {
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

async function ask(path: string, options: Options): Promise<unknown> {
  const answer = await send(path, options);
  return answer.status === 204 ? undefined : parse(await answer.text());
}

export const http: Answerer = { send, ask };

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
