// The requests that threads need: marks by alias, states, appends to a lineage or to a new one.

import { fromBase64 } from "../bytes.js";
import type { Client, NewEvent } from "../client.js";
import type { Checkpoint } from "../checkpointService.js";
import { contentOf } from "../client.js";
import { addressOf, answer, defined, found, MilepostError, once, repeated } from "../http.js";
import type { Big } from "../http.js";
import type { components } from "../schema.js";
import { applied } from "./change.js";
import { decodeRecord, decodeThread, EVENT, RecordError, REDUCER } from "./record.js";
import type { ThreadRecord, Thread } from "./record.js";

/** The data attached to a checkpoint by its alias. */
export type Attachment = components["schemas"]["AttachmentForm"];

/** A mark of a checkpoint. */
export interface Marked {
  id: string;
  alias: string;
  lineage: number;
  at: Big;
}

/** The marks of a list: the greatest alias first. */
export interface Which {
  alias?: string | undefined;
  before?: string | undefined;
  filter?: string | undefined;
  limit: number;
}

/** The events of a checkpoint, and its mark. */
export interface Appending {
  events: NewEvent[];
  alias: string;
  metadata: { [name: string]: unknown };
}

const PAGE = 100;

/** Requests about threads, at a service. */
export class Threads {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Starts the task of a thread, unless it is there. */
  async start(task: string): Promise<void> {
    try {
      await this.#client.start(task);
    } catch (error) {
      if (!isConflict(error)) {
        throw error;
      }
    }
  }

  /** Deletes the task of a thread, unless it is gone. */
  async delete(task: string): Promise<void> {
    const params = { path: { task } };
    await found(repeated(() => answer(this.#client.http.DELETE("/v1/tasks/{task}", { params }))));
  }

  /** Iterates over the ids of the tasks that begin with a prefix. */
  async *tasks(prefix: string): AsyncGenerator<string, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const query = defined({ prefix, limit: PAGE, cursor });
      const page = await answer(this.#client.http.GET("/v1/tasks", { params: { query } }));
      yield* page.items.map(({ id }) => id);
      cursor = page.next;
    } while (cursor != null);
  }

  /** Returns marks, the greatest alias first; none if there is no such task. */
  async marks(task: string, { alias, before, filter, limit }: Which): Promise<Marked[]> {
    const marks: Marked[] = [];
    let cursor: string | null | undefined;
    do {
      const query = defined({
        alias,
        before,
        filter,
        order: "alias",
        limit: Math.min(limit - marks.length, PAGE),
        cursor,
      });
      const params = { path: { task }, query };
      const page = await found(
        answer(this.#client.http.GET("/v1/tasks/{task}/checkpoints", { params })),
      );
      marks.push(...(page?.items ?? []).map(markOf));
      cursor = page?.next;
    } while (cursor != null && marks.length < limit);
    return marks;
  }

  /** Returns the newest mark with an alias. */
  async marked(task: string, alias: string): Promise<Marked | undefined> {
    const marks = await this.marks(task, { alias, limit: 10 });
    const isNewer = (a: Marked, b: Marked) =>
      a.lineage === b.lineage ? BigInt(a.at) > BigInt(b.at) : a.lineage > b.lineage;
    return marks.reduce<Marked | undefined>(
      (newest, mark) => (newest === undefined || isNewer(mark, newest) ? mark : newest),
      undefined,
    );
  }

  /** Returns the head of a lineage if this is its newest mark. */
  async headBehind(task: string, mark: Marked): Promise<Big | undefined> {
    const address = addressOf(task, `/${mark.lineage}`);
    const point = { params: { path: { address } } };
    const newest = { params: { path: { task }, query: { lineage: mark.lineage, limit: 1 } } };
    // The head first: what is put behind it later makes the append fail.
    const head = await answer(this.#client.http.GET("/v1/points/{address}", point));
    const { items } = await answer(this.#client.http.GET("/v1/tasks/{task}/checkpoints", newest));
    return items[0]?.id === mark.id ? head.offset : undefined;
  }

  /**
   * Returns the active lineage with its head, if it is the first one and has no mark, and the
   * address where the first checkpoint of a namespace begins.
   */
  async beginning(task: string) {
    const lineages = await this.#client.checkpoints.lineages(task);
    const active = lineages.find((lineage) => lineage.active);
    if (active === undefined) {
      throw new RecordError(`the task \`${task}\` has no active lineage`);
    }
    const query = { lineage: active.id, limit: 1 };
    const params = { path: { task }, query };
    const marks = await answer(this.#client.http.GET("/v1/tasks/{task}/checkpoints", { params }));
    // Behind the event that opens the lineage.
    const first = Number(active.begin) === 0 ? 1 : active.begin;
    return {
      address: addressOf(task, `/${active.id}@${first}`),
      unmarked:
        active.parent == null && marks.items.length === 0
          ? { lineage: active.id, head: active.head }
          : undefined,
    };
  }

  /** Appends to a lineage that has this head. Returns the mark. */
  async append(
    task: string,
    { lineage, head }: { lineage: number; head: Big },
    { events, alias, metadata }: Appending,
  ): Promise<Marked | undefined> {
    const { checkpoint, next } = await this.#client.append(task, events, {
      lineage,
      ifHead: head,
      mark: { cause: "step", aliases: [alias], metadata },
    });
    return checkpoint == null ? undefined : newest(checkpoint, alias, lineage, next);
  }

  /** Appends to a new lineage at a point. Returns the lineage and the mark. */
  async branch(address: string, { events, alias, metadata }: Appending) {
    const content = contentOf(events, { cause: "step", aliases: [alias], metadata });
    const branched = await once({}, (header) =>
      answer(
        this.#client.http.POST("/v1/points/{address}/events", {
          params: { path: { address }, header: { ...header } },
          ...content,
        }),
      ),
    );
    const { lineage, appended } = branched;
    const id = appended.checkpoint;
    return {
      lineage,
      marked: id == null ? undefined : newest(id, alias, lineage, appended.next),
    };
  }

  /** Makes a lineage the active one. */
  async switchTo(task: string, lineage: number): Promise<void> {
    await this.#client.checkpoints.switchTo(task, lineage);
  }

  /** Removes a mark, unless it was removed before. */
  async unmark(mark: Marked): Promise<void> {
    await found(repeated(() => this.#client.checkpoints.unmark(mark.id)));
  }

  /** Returns the state at a mark. */
  async thread(task: string, mark: Marked): Promise<Thread> {
    const address = addressOf(task, `/${mark.lineage}@${mark.at}`);
    const bytes = await answer(
      this.#client.http.GET("/v1/points/{address}/encoded/{reducer}", {
        params: { path: { address, reducer: REDUCER } },
        parseAs: "arrayBuffer",
      }),
    );
    return decodeThread(new Uint8Array(bytes as unknown as ArrayBuffer));
  }

  /** Returns the states at marks by their ids, in one pass over the events of each lineage. */
  async threads(task: string, marks: readonly Marked[]): Promise<Map<string, Thread>> {
    const states = new Map<string, Thread>();
    for (const lineage of new Set(marks.map((mark) => mark.lineage))) {
      const left = marks.filter((mark) => mark.lineage === lineage);
      left.sort((a, b) => Number(BigInt(a.at) - BigInt(b.at)));
      const [first, last] = [left[0], left.at(-1)];
      if (first === undefined || last === undefined) {
        continue;
      }
      let state = await this.thread(task, first);
      const keepTo = (offset: bigint) => {
        while (left[0] !== undefined && BigInt(left[0].at) <= offset) {
          states.set(left[0].id, state);
          left.shift();
        }
      };
      keepTo(BigInt(first.at));
      if (first.at !== last.at) {
        const range = { from: first.at, to: last.at, lineage, kinds: ["application"], page: PAGE };
        for await (const event of this.#client.events(task, range)) {
          keepTo(BigInt(event.offset));
          const record = recordOf(event.body);
          state = record === undefined ? state : applied(state, record);
        }
      }
      keepTo(BigInt(last.at));
    }
    return states;
  }

  /** Returns the data attached by an alias. */
  async attached(task: string, alias: string): Promise<Attachment[]> {
    const params = { path: { task }, query: { alias } };
    const listed = await found(
      answer(this.#client.http.GET("/v1/tasks/{task}/attachments", { params })),
    );
    return listed?.items ?? [];
  }

  /** Attaches data by an alias. What is there already is left out, so it is repeated without a key. */
  async attach(task: string, alias: string, attachments: Attachment[]): Promise<void> {
    const params = { path: { task } };
    const body = { alias, attachments };
    await repeated(() =>
      answer(this.#client.http.POST("/v1/tasks/{task}/attachments", { params, body })),
    );
  }
}

/** Returns whether another writer was first. */
export function isConflict(error: unknown): boolean {
  return error instanceof MilepostError && (error.status === 409 || error.status === 412);
}

/** Returns the checkpoint of an event; `undefined` for events of other programs. */
function recordOf(body: { [name: string]: unknown } | null | undefined): ThreadRecord | undefined {
  const data = body?.["name"] === EVENT ? (body["data"] as { base64?: unknown }) : undefined;
  if (typeof data?.base64 !== "string") {
    return undefined;
  }
  try {
    return decodeRecord(fromBase64(data.base64));
  } catch (error) {
    // The reducer of the store passes over what it cannot read, too.
    if (error instanceof RecordError) {
      return undefined;
    }
    throw error;
  }
}

function markOf({ id, aliases, lineage, at }: Checkpoint): Marked {
  return { id, alias: aliases[0] ?? "", lineage, at };
}

/** Returns the mark that is the last event of a lineage. */
function newest(id: string, alias: string, lineage: number, next: Big): Marked {
  return { id, alias, lineage, at: String(BigInt(next) - 1n) };
}
