// The checkpoints of a task, for front ends: list, look, go back, undo. Calls the service's `/v1`.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Forms = components["schemas"];

/** A marked point of a task. Offsets are strings: they can exceed 2^53. */
export type Checkpoint = Forms["CheckpointForm"];
/** A branch of a task's history. One of them is active. */
export type Lineage = Forms["LineageForm"];
/** The effects that a restore would have. */
export type RestorePlan = Forms["RestorePlanForm"];
/** The task and its active lineage after a restore, an undo, a switch or a redo. */
export type Restored = Forms["RestoredForm"];
/** The differences between two states. */
export type Difference = Forms["ChangesForm"];
/** The numbers of the store, or of one user's tasks. */
export type Stats = Forms["StatsForm"];
/** The target of a restore, and its scope. */
export type RestoreRequest = Forms["RestoreRequest"];
/** A checkpoint to mark. */
export type MarkRequest = Forms["CheckpointRequest"];

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  /** The cursor of the next page; absent or `null` on the last page. */
  next?: string | null;
}

/** The place of a page. */
export interface Cursor {
  /** The `next` of the previous page; absent for the first page. */
  cursor?: string | null | undefined;
}

/** The checkpoints to list. */
export interface CheckpointFilter {
  /** Only checkpoints marked on this lineage. */
  lineage?: number | undefined;
  /** Only checkpoints of this status. */
  status?: "success" | "failure" | undefined;
  /** Only checkpoints whose metadata contains all of these fields. */
  metadata?: Record<string, unknown> | undefined;
  /** The page size: 1 to 100, 20 by default. */
  limit?: number | undefined;
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
  readonly head: string | undefined;

  constructor(problem: Partial<Forms["Problem"]> & { status: number }) {
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

/** Where the service is, and how to reach it. */
export interface CheckpointServiceOptions {
  /** The address of the service, without `/v1`. */
  baseUrl: string;
  /** A token of `milepost token create`. */
  token?: string | undefined;
  /** Replaces the global `fetch`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
}

/**
 * The functions of `createCheckpointService`. All of them throw `MilepostError` if the service
 * refuses.
 */
export interface CheckpointService {
  /** Returns one page of a task's checkpoints, newest first. */
  checkpoints(
    task: string,
    options?: CheckpointFilter & ReadOptions & Cursor,
  ): Promise<Page<Checkpoint>>;
  /**
   * Iterates over all checkpoints of a task, newest first, and requests pages as they are needed.
   */
  eachCheckpoint(
    task: string,
    options?: CheckpointFilter & ReadOptions,
  ): AsyncGenerator<Checkpoint, void, undefined>;
  /** Returns a checkpoint by its id, a unique prefix of 8 or more digits, or an alias. */
  checkpoint(id: string, options?: ReadOptions): Promise<Checkpoint>;
  /** Returns all lineages of a task. */
  lineages(task: string, options?: ReadOptions): Promise<Lineage[]>;
  /** Returns the differences from the state at one address to the state at another. */
  difference(from: string, to: string, options?: ReadOptions): Promise<Difference>;
  /** Returns the effects of a restore without changing anything. */
  planRestore(request: RestoreRequest, options?: ReadOptions): Promise<RestorePlan>;
  /**
   * Restores a task to a point: opens a new lineage there and activates it. A restore with files
   * takes neither `key` nor `expectedHead`.
   */
  restore(request: RestoreRequest, options?: WriteOptions): Promise<Restored>;
  /** Undoes the last restore of a task: activates the previous lineage. */
  undo(task: string, options?: WriteOptions): Promise<Restored>;
  /** Takes the last undo of a task back: activates the lineage that the undo left. */
  redo(task: string, options?: WriteOptions): Promise<Restored>;
  /** Switches a task to one of its lineages. Files stay as they are. */
  switchTo(task: string, lineage: number, options?: WriteOptions): Promise<Restored>;
  /** Marks a checkpoint, by default at the head of the active lineage. */
  mark(task: string, request?: MarkRequest, options?: WriteOptions): Promise<Checkpoint>;
  /** Removes a checkpoint's mark. Its events stay. A pinned checkpoint is refused with 409. */
  unmark(id: string, options?: ReadOptions): Promise<void>;
  /** Returns the numbers of the caller's tasks, of a user's, or, for an admin, of the store. */
  stats(
    options?: ReadOptions & Cursor & { user?: string | undefined; limit?: number | undefined },
  ): Promise<Stats>;
}

/** Returns the functions for the service at `baseUrl`. Sends nothing. */
export function createCheckpointService({
  baseUrl,
  token,
  fetch,
}: CheckpointServiceOptions): CheckpointService {
  const client = createClient<paths, "application/json">({
    baseUrl,
    ...(fetch && { fetch }),
    ...(token !== undefined && { headers: { Authorization: `Bearer ${token}` } }),
  });

  async function checkpoints(
    task: string,
    options: CheckpointFilter & ReadOptions & Cursor = {},
  ): Promise<Page<Checkpoint>> {
    const { lineage, status, metadata, limit, cursor, signal } = options;
    const filter = metadata && JSON.stringify(metadata);
    const query = defined({ lineage, status, filter, limit, cursor });
    return answer(
      client.GET("/v1/tasks/{task}/checkpoints", {
        params: { path: { task: segment(task) }, query },
        signal: signal ?? null,
      }),
    );
  }

  return {
    checkpoints,

    async *eachCheckpoint(task, options = {}) {
      let cursor: string | null | undefined;
      do {
        const page = await checkpoints(task, { ...options, cursor });
        yield* page.items;
        cursor = page.next;
      } while (cursor != null);
    },

    async checkpoint(id, { signal } = {}) {
      return answer(
        client.GET("/v1/checkpoints/{id}", {
          params: { path: { id: segment(id) } },
          signal: signal ?? null,
        }),
      );
    },

    async lineages(task, { signal } = {}) {
      const { items } = await answer(
        client.GET("/v1/tasks/{task}/lineages", {
          params: { path: { task: segment(task) } },
          signal: signal ?? null,
        }),
      );
      return items;
    },

    async difference(from, to, { signal } = {}) {
      return answer(
        client.GET("/v1/points/{address}/diff/{other}", {
          params: { path: { address: segment(from), other: segment(to) } },
          signal: signal ?? null,
        }),
      );
    },

    async planRestore(request, { signal } = {}) {
      return answer(
        client.POST("/v1/restores/plan", { body: request, signal: signal ?? null }),
      );
    },

    async restore(request, options = {}) {
      const send = (headers: WriteHeaders) =>
        answer(
          client.POST("/v1/restores", {
            params: { header: headers },
            body: request,
            signal: options.signal ?? null,
          }),
        );
      // The service refuses both headers for files. Without a key a repetition could act twice.
      return (request.scope ?? "state") === "state" ? once(options, send) : send({});
    },

    async undo(task, options = {}) {
      return once(options, (headers) =>
        answer(
          client.POST("/v1/tasks/{task}/undo", {
            params: { path: { task: segment(task) }, header: headers },
            signal: options.signal ?? null,
          }),
        ),
      );
    },

    async redo(task, options = {}) {
      return once(options, (headers) =>
        answer(
          client.POST("/v1/tasks/{task}/redo", {
            params: { path: { task: segment(task) }, header: headers },
            signal: options.signal ?? null,
          }),
        ),
      );
    },

    async switchTo(task, lineage, options = {}) {
      return once(options, (headers) =>
        answer(
          client.PUT("/v1/tasks/{task}/active", {
            params: { path: { task: segment(task) }, header: headers },
            body: { lineage },
            signal: options.signal ?? null,
          }),
        ),
      );
    },

    async mark(task, request = {}, options = {}) {
      return once(options, (headers) =>
        answer(
          client.POST("/v1/tasks/{task}/checkpoints", {
            params: { path: { task: segment(task) }, header: headers },
            body: request,
            signal: options.signal ?? null,
          }),
        ),
      );
    },

    async unmark(id, { signal } = {}) {
      await answer(
        client.DELETE("/v1/checkpoints/{id}", {
          params: { path: { id: segment(id) } },
          signal: signal ?? null,
        }),
      );
    },

    async stats({ user, limit, cursor, signal } = {}) {
      const query = defined({ user, limit, cursor });
      return answer(client.GET("/v1/stats", { params: { query }, signal: signal ?? null }));
    },
  };
}

/**
 * Returns whether the marked point is in the history of the task's active lineage. After a restore,
 * checkpoints later than its target are not.
 */
export function isCurrent(checkpoint: Checkpoint, lineages: Lineage[]): boolean {
  let lineage = lineages.find((lineage) => lineage.active);
  // An ancestor's history is shared up to the point where the next lineage forks, inclusive.
  let end: bigint | undefined;
  while (lineage) {
    if (lineage.id === checkpoint.lineage) {
      return end === undefined || BigInt(checkpoint.at) <= end;
    }
    const parent: Lineage["parent"] = lineage.parent;
    if (!parent) {
      return false;
    }
    const fork = BigInt(parent.offset);
    end = end === undefined || fork < end ? fork : end;
    lineage = lineages.find((lineage) => lineage.id === parent.lineage);
  }
  return false;
}

interface WriteHeaders {
  "Idempotency-Key"?: string;
  "If-Match"?: string;
}

/** Sends a write, and repeats it once under the same key if its answer does not arrive. */
async function once<Result>(
  { key = randomKey(), expectedHead }: WriteOptions,
  send: (headers: WriteHeaders) => Promise<Result>,
): Promise<Result> {
  const headers: WriteHeaders = { "Idempotency-Key": key };
  if (expectedHead !== undefined) {
    headers["If-Match"] = `"${expectedHead}"`;
  }
  try {
    return await send(headers);
  } catch (error) {
    // `fetch` throws a TypeError for a broken connection, and other errors for an abort.
    if (!(error instanceof TypeError)) {
      throw error;
    }
    return send(headers);
  }
}

/** Returns a new key. `crypto.randomUUID` is missing on pages without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Refuses a name that a URL treats as a relative path segment: it would reach another route. */
function segment(name: string): string {
  if (name === "" || name === "." || name === "..") {
    throw new RangeError(`\`${name}\` cannot be a segment of a path`);
  }
  return name;
}

/** Removes what is absent: the parameters of the generated types do not take `undefined`. */
function defined<Options extends object>(options: Options) {
  const entries = Object.entries(options).filter(([, value]) => value != null);
  return Object.fromEntries(entries) as {
    [Name in keyof Options]?: NonNullable<Options[Name]>;
  };
}

/** Returns the data of an answer, or throws its problem. */
async function answer<Data>(
  call: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await call;
  if (!response.ok) {
    throw new MilepostError(problemOf(error, response));
  }
  return data as Data;
}

function problemOf(error: unknown, { status, statusText }: Response) {
  if (typeof error === "object" && error !== null) {
    return { ...error, status };
  }
  // A proxy between client and service answers in a form of its own.
  const detail = typeof error === "string" ? error.trim().slice(0, 1000) : "";
  return { status, detail, ...(statusText && { title: statusText }) };
}
