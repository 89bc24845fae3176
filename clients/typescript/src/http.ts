// Requests to the service's `/v1`: where it is, what it answers, and writes whose answer is lost.

import createClient from "openapi-fetch";
import { socketFetch } from "./socket.js";
import type { components, paths } from "./schema.js";

type Problem = components["schemas"]["Problem"];

/** Where the service is, and how to reach it. */
export interface ServiceOptions {
  /**
   * The address of the service, without `/v1`. Without it and without `socket`, it is
   * MILEPOST_SERVER, as for the command, or http://127.0.0.1:7733.
   */
  baseUrl?: string | undefined;
  /**
   * The path of a Unix socket, for Node.js: that of `serve --listen unix:PATH`, or
   * `.milepost/server/socket` of a store that a program has open.
   */
  socket?: string | undefined;
  /** A token of `milepost token create`; without an address, MILEPOST_TOKEN. */
  token?: string | undefined;
  /** Replaces the global `fetch`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
}

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  /** The cursor of the next page; absent or `null` on the last page. */
  next?: string | null;
}

/**
 * A whole number: an offset, a count, microseconds. Over 2^53 it is a string of its digits;
 * `BigInt` takes both.
 */
export type Big = components["schemas"]["Big"];

/** The place of a page. */
export interface Cursor {
  /** The `next` of the previous page; absent for the first page. */
  cursor?: string | null | undefined;
}

/** The options of a read. */
export interface ReadOptions {
  signal?: AbortSignal | undefined;
}

/** The options of a write. */
export interface WriteOptions {
  /**
   * The `Idempotency-Key`, a random one by default. A write that is repeated under its key, after
   * an unknown outcome, changes nothing a second time.
   */
  key?: string | undefined;
  /** The expected head of the lineage. If the head is another, the write is refused with 412. */
  expectedHead?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** The headers of a write. */
export interface WriteHeaders {
  "Idempotency-Key"?: string;
  "If-Match"?: string;
}

/** The service's answer to a request that it did not fulfil (RFC 9457). */
export class MilepostError extends Error {
  override readonly name = "MilepostError";
  /** The status of the answer. */
  readonly status: number;
  /** The kind, in words. */
  readonly title: string;
  /** The cause, and the next step. */
  readonly detail: string;
  /**
   * `https://milepost.dev/problems/KIND`; `about:blank` if the answer is not from the service
   * itself.
   */
  readonly type: string;
  /** The id of the request, which the service's log has, too. */
  readonly requestId: string | undefined;
  /** The actual head, if the expected head did not match. */
  readonly head: Big | undefined;

  constructor(problem: Partial<Problem> & { status: number }) {
    const title = problem.title ?? `HTTP ${problem.status}`;
    super(problem.detail ? `${title}: ${problem.detail}` : title);
    this.status = problem.status;
    this.title = title;
    this.detail = problem.detail ?? "";
    this.type = problem.type ?? "about:blank";
    this.requestId = problem.instance;
    this.head = problem.head ?? undefined;
  }
}

/** The functions that send a request, with the types of the service. */
export type Requests = ReturnType<typeof open>;

/** Returns the functions that send requests to a service. Sends nothing. */
export function open({ baseUrl, socket, token, fetch }: ServiceOptions) {
  if (socket !== undefined && (baseUrl !== undefined || fetch !== undefined)) {
    throw new TypeError("`socket` takes neither `baseUrl` nor `fetch`");
  }
  const send = socket === undefined ? fetch : socketFetch(socket);
  const isNamed = baseUrl !== undefined || socket !== undefined;
  const bearer = token ?? (isNamed ? undefined : variable("MILEPOST_TOKEN"));
  const known = baseUrl ?? variable("MILEPOST_SERVER") ?? "http://127.0.0.1:7733";
  return createClient<paths, "application/json">({
    // The service ignores the name at a socket.
    baseUrl: socket === undefined ? known : "http://localhost",
    ...(send && { fetch: send }),
    ...(bearer !== undefined && { headers: { Authorization: `Bearer ${bearer}` } }),
  });
}

/** Returns a variable of the environment, which browsers do not have. */
function variable(name: string): string | undefined {
  return typeof process === "undefined" ? undefined : process.env?.[name];
}

/** Sends a write, and repeats it once under the same key if its answer does not arrive. */
export async function once<Result>(
  { key = randomKey(), expectedHead }: WriteOptions,
  send: (headers: WriteHeaders) => Promise<Result>,
): Promise<Result> {
  const headers: WriteHeaders = { "Idempotency-Key": key };
  if (expectedHead !== undefined) {
    headers["If-Match"] = `"${expectedHead}"`;
  }
  return repeated(() => send(headers));
}

/**
 * Sends what changes nothing a second time, and repeats it once if its answer does not arrive: a
 * write under a key, or one that names what it makes.
 */
export async function repeated<Result>(send: () => Promise<Result>): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    // `fetch` throws a TypeError for a broken connection, and other errors for an abort.
    if (!(error instanceof TypeError)) {
      throw error;
    }
    return send();
  }
}

/** Returns a new key. `crypto.randomUUID` is missing on pages without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Refuses a name that a URL treats as a relative path segment: it would reach another route. */
export function segment(name: string): string {
  if (name === "" || name === "." || name === "..") {
    throw new RangeError(`\`${name}\` cannot be a segment of a path`);
  }
  return name;
}

/**
 * Returns an address of a task: `addressOf("a/b", "@draft")`. The characters that addresses use are
 * encoded in its id.
 */
export function addressOf(task: string, ending = ""): string {
  const reserved = { "%": "%25", "@": "%40", "~": "%7E", "/": "%2F" } as Record<string, string>;
  return `${task.replace(/[%@~/]/g, (character) => reserved[character] ?? "")}${ending}`;
}

/** Removes what is absent: the parameters of the generated types do not take `undefined`. */
export function defined<Options extends object>(options: Options) {
  const entries = Object.entries(options).filter(([, value]) => value != null);
  return Object.fromEntries(entries) as {
    [Name in keyof Options]?: NonNullable<Options[Name]>;
  };
}

/** Returns the data of an answer, or throws its problem. */
export async function answer<Data>(
  call: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await call;
  if (!response.ok) {
    throw new MilepostError(problemOf(error, response));
  }
  return data as Data;
}

/** Returns the data of an answer; `undefined` if what was asked for is not there. */
export async function found<Data>(call: Promise<Data>): Promise<Data | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isMissing(error)) {
      return undefined;
    }
    throw error;
  }
}

/** Returns whether what was asked for is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof MilepostError && error.status === 404;
}

function problemOf(error: unknown, { status, statusText }: Response) {
  if (typeof error === "object" && error !== null) {
    return { ...error, status };
  }
  // A proxy between client and service answers in a form of its own.
  const detail = typeof error === "string" ? error.trim().slice(0, 1000) : "";
  return { status, detail, ...(statusText && { title: statusText }) };
}
