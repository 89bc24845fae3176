// A client that writes and reads runs: appends, events, states, checkpoints, and runs that resume.

import { createCheckpointService } from "./checkpointService.js";
import type { Checkpoint, CheckpointService, MarkRequest } from "./checkpointService.js";
import { answer, defined, once, open, repeated, segment } from "./http.js";
import type { Big, ReadOptions, Requests, ServiceOptions } from "./http.js";
import { Run } from "./run.js";
import type { RunOptions } from "./run.js";
import type { components } from "./schema.js";

type Forms = components["schemas"];

/** An event to append: its kind, the fields of the kind, and a key of its own if it has one. */
export type NewEvent = Forms["EventRequest"];
/** An event of a task. `body` is `null` if it was erased. */
export type Event = Forms["EventForm"];
/** The place of appended events. */
export type Appended = Forms["AppendedForm"];
/** A task, with the head of its active lineage. */
export type Task = Forms["TaskForm"];
/** A checkpoint behind appended events, in the same commit. */
export type Mark = Forms["MarkRequest"];

/** The options of an append. */
export interface AppendOptions {
  /**
   * The `Idempotency-Key`, a random one by default: appended twice under it, the events are there
   * once. 1 to 256 visible ASCII characters. Events with keys of their own take none.
   */
  key?: string | undefined;
  /** The head that the lineage must have. If it is another one, the append is refused with 412. */
  ifHead?: Big | bigint | undefined;
  /** Marks a checkpoint behind the events, in the same commit. */
  mark?: Mark | undefined;
  /** The lineage, the active one by default. */
  lineage?: number | undefined;
  /** The service's policy of checkpoints for these events: `steps`, `risk`, `never`, … */
  policy?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** The events to read. */
export interface EventRange {
  /** The first offset: the first event by default. */
  from?: Big | bigint | undefined;
  /** The end, exclusive: the head by default. */
  to?: Big | bigint | undefined;
  /** The lineage, the active one by default. Events before its fork are read, too. */
  lineage?: number | undefined;
  /** Only events of these kinds. */
  kinds?: string[] | undefined;
  /** The size of a page of the answer: 1 to 1,000. */
  page?: number | undefined;
}

/** The functions of `connect`. All of them throw `MilepostError` if the service refuses. */
export interface Client {
  /** Each route of the service, with its types: `client.http.GET("/v1/tasks", …)`. */
  readonly http: Requests;
  /** Lists checkpoints, restores, undoes, redoes and switches. */
  readonly checkpoints: CheckpointService;
  /** Starts a task. One that is there already is a `MilepostError` of status 409. */
  start(
    task: string,
    options?: { initial?: Record<string, unknown>; user?: string; key?: string },
  ): Promise<Task>;
  /** Returns a task. */
  task(task: string, options?: ReadOptions): Promise<Task>;
  /**
   * Appends an event, or several as one commit. They are durable when it returns. If the answer is
   * lost, the append is repeated under its key, and the events are there once.
   */
  append(
    task: string,
    events: NewEvent | readonly NewEvent[],
    options?: AppendOptions,
  ): Promise<Appended>;
  /** Iterates over events, oldest first, and requests pages as they are needed. */
  events(
    task: string,
    options?: EventRange & ReadOptions,
  ): AsyncGenerator<Event, void, undefined>;
  /** Returns the state at an address (`essay`, `essay@draft`), or the part at a JSON pointer. */
  state(address: string, options?: ReadOptions & { pointer?: string }): Promise<unknown>;
  /** Marks a checkpoint, by default at the head of the active lineage. */
  checkpoint(
    task: string,
    label?: string,
    options?: Omit<MarkRequest, "label"> & {
      key?: string | undefined;
      ifHead?: Big | bigint | undefined;
      signal?: AbortSignal | undefined;
    },
  ): Promise<Checkpoint>;
  /**
   * Opens a task as a run: starts it if it is not there, and begins the run unless it is running or
   * paused. So the same program starts a run and resumes it after a kill.
   */
  resume(task: string, options?: RunOptions): Promise<Run>;
}

/** Returns a client of a service, MILEPOST_SERVER by default. Sends nothing. */
export function connect(options: ServiceOptions = {}): Client {
  const http = open(options);
  const checkpoints = createCheckpointService(options);

  const client: Client = {
    http,
    checkpoints,

    async start(task, { initial, user, key } = {}) {
      const body = { id: task, ...defined({ initial, user }) };
      return once({ key }, (header) =>
        answer(http.POST("/v1/tasks", { params: { header }, body })),
      );
    },

    async task(task, { signal } = {}) {
      const params = { path: { task: segment(task) } };
      return answer(http.GET("/v1/tasks/{task}", { params, signal: signal ?? null }));
    },

    async append(task, events, options = {}) {
      const { key, ifHead, mark, lineage, policy, signal } = options;
      const query = defined({ lineage, policy });
      const content = contentOf(events, mark);
      const send = (header: Record<string, string>) =>
        answer(
          http.POST("/v1/tasks/{task}/events", {
            params: { path: { task: segment(task) }, query, header },
            ...content,
            signal: signal ?? null,
          }),
        );
      const expectedHead = headOf(ifHead);
      if (!hasKeys(events)) {
        return once({ key: checked(key), expectedHead }, (headers) => send({ ...headers }));
      }
      if (key !== undefined) {
        throw new RangeError("events with keys of their own take no `key`");
      }
      // Each event has a key: a repetition leaves out what is there.
      return repeated(() => send(expectedHead === undefined ? {} : { "If-Match": `"${expectedHead}"` }));
    },

    async *events(task, { from, to, lineage, kinds, page, signal } = {}) {
      let next: Big | null | undefined = typeof from === "bigint" ? String(from) : from;
      do {
        const read: { items: Event[]; next?: Big | null } = await answer(
          http.GET("/v1/tasks/{task}/events", {
            params: {
              path: { task: segment(task) },
              query: defined({
                from: next,
                to: typeof to === "bigint" ? String(to) : to,
                lineage,
                kind: kinds?.join(","),
                limit: page ?? 1000,
              }),
            },
            signal: signal ?? null,
          }),
        );
        yield* read.items;
        next = read.next;
      } while (next != null);
    },

    async state(address, { pointer, signal } = {}) {
      const read = await answer(
        http.GET("/v1/points/{address}/state", {
          params: { path: { address: segment(address) }, query: defined({ pointer }) },
          signal: signal ?? null,
        }),
      );
      return "state" in read ? read.state : read.value;
    },

    async checkpoint(task, label, { key, ifHead, signal, ...mark } = {}) {
      const request = { ...mark, ...defined({ label }) };
      return checkpoints.mark(task, request, { key: checked(key), expectedHead: headOf(ifHead), signal });
    },

    async resume(task, options = {}) {
      return Run.resumed(client, task, options);
    },
  };
  return client;
}

function headOf(head: Big | bigint | undefined): string | undefined {
  return head === undefined ? undefined : String(head);
}

/** Refuses a key that a header cannot have: `fetch` would take it for a broken connection. */
function checked(key: string | undefined): string | undefined {
  if (key !== undefined && !/^[!-~]{1,256}$/.test(key)) {
    throw new RangeError(`\`${key}\` is no key: 1 to 256 visible ASCII characters`);
  }
  return key;
}

function isMany(events: NewEvent | readonly NewEvent[]): events is readonly NewEvent[] {
  return Array.isArray(events);
}

function hasKeys(events: NewEvent | readonly NewEvent[]): boolean {
  return (isMany(events) ? events : [events]).some((event) => event.key != null);
}

/** Returns the body of an append: one event as JSON, several as lines, the mark behind them. */
export function contentOf(events: NewEvent | readonly NewEvent[], mark: Mark | undefined) {
  if (!isMany(events)) {
    return { body: mark === undefined ? events : { ...events, mark } };
  }
  const lines = [...events, ...(mark === undefined ? [] : [{ mark }])];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return {
    // The types know the body of one content type only; this one is the text of the lines.
    body: text as unknown as NewEvent,
    bodySerializer: () => text,
    headers: { "Content-Type": "application/x-ndjson" },
  };
}
