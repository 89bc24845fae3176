// Checkpoints of threads as LangGraph reads them.

import { maxChannelVersion } from "@langchain/langgraph-checkpoint";
import type {
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointPendingWrite,
  CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { fromBase64 } from "../bytes.js";
import { aliasOf, idIn, topOf } from "./alias.js";
import { configOf, filterOf, fits, idOf, PREFIX, taskOf, threadOf } from "./forms.js";
import type { Config, Place } from "./forms.js";
import { RecordError, whole } from "./record.js";
import type { Thread } from "./record.js";
import type { Serializer } from "./serializer.js";
import type { Attachment, Marked, Threads } from "./threads.js";

const PAGE = 100;
/** The number of requests at one time: a token may have 64. */
const AT_ONCE = 16;

/** The channel of tasks to send, which checkpoints before version 4 have with their parent. */
const TASKS = "__pregel_tasks";

/** Reads checkpoints. */
export class ThreadReader {
  readonly #threads: Threads;
  readonly #serializer: Serializer;
  readonly #firstVersion: () => string | number;

  constructor(threads: Threads, serializer: Serializer, firstVersion: () => string | number) {
    this.#threads = threads;
    this.#serializer = serializer;
    this.#firstVersion = firstVersion;
  }

  /** Returns a checkpoint, or the newest one of a thread and namespace. */
  async get({ thread, namespace, id }: Place): Promise<CheckpointTuple | undefined> {
    const task = taskOf(thread);
    let marked: Marked | undefined;
    if (id === undefined) {
      const [newest] = await this.#threads.marks(task, { before: topOf(namespace), limit: 1 });
      marked = newest && idIn(newest.alias)?.namespace === namespace ? newest : undefined;
    } else {
      marked = await this.#threads.marked(task, aliasOf(namespace, id));
    }
    return marked && this.#tuple(thread, marked, await this.#threads.thread(task, marked));
  }

  /** Iterates over checkpoints, those with the greatest ids first. */
  async *list(config: Config, options: CheckpointListOptions) {
    const thread = config.configurable?.["thread_id"];
    let left = options.limit ?? Infinity;
    if (left <= 0) {
      return;
    }
    const found =
      thread === undefined
        ? this.#listAll(config, options)
        : this.#listOf(String(thread), config, options);
    for await (const tuple of found) {
      yield tuple;
      left -= 1;
      if (left <= 0) {
        return;
      }
    }
  }

  async *#listAll(config: Config, options: CheckpointListOptions) {
    const all: CheckpointTuple[] = [];
    for await (const task of this.#threads.tasks(PREFIX)) {
      const of = { configurable: { ...config.configurable, thread_id: threadOf(task) } };
      for await (const tuple of this.list(of, options)) {
        all.push(tuple);
      }
    }
    yield* all.sort((a, b) => (a.checkpoint.id > b.checkpoint.id ? -1 : 1));
  }

  async *#listOf(thread: string, config: Config, options: CheckpointListOptions) {
    const { filter = {}, limit = Infinity } = options;
    const { text, isWhole } = filterOf(filter);
    const [before, id] = [idOf(options.before as Config | undefined), idOf(config)];
    const ns = config.configurable?.["checkpoint_ns"];
    // The store compares texts. What a filter has more is compared here.
    const page = isWhole ? Math.min(limit, PAGE) : PAGE;
    const pages =
      ns === undefined
        ? this.#marksOfAll(thread, before, id, text, page)
        : this.#marksOf(thread, String(ns), before, id, text, page);
    for await (const marks of pages) {
      const states = await this.#threads.threads(taskOf(thread), marks);
      for (let at = 0; at < marks.length; at += AT_ONCE) {
        const some = marks.slice(at, at + AT_ONCE).flatMap((mark) => {
          const state = states.get(mark.id);
          return state === undefined ? [] : [this.#tuple(thread, mark, state)];
        });
        yield* (await Promise.all(some)).filter((tuple) => fits(tuple.metadata, filter));
      }
    }
  }

  /** Returns the marks of a namespace, page by page. */
  async *#marksOf(
    thread: string,
    namespace: string,
    before: string | undefined,
    id: string | undefined,
    filter: string | undefined,
    page: number,
  ) {
    const task = taskOf(thread);
    if (id !== undefined) {
      const alias = aliasOf(namespace, id);
      const marks = await this.#threads.marks(task, { alias, filter, limit: 1 });
      yield before === undefined || id < before ? marks : [];
      return;
    }
    let top = before === undefined ? topOf(namespace) : aliasOf(namespace, before);
    for (;;) {
      const marks = await this.#threads.marks(task, { before: top, filter, limit: page });
      const found = marks.filter((mark) => idIn(mark.alias)?.namespace === namespace);
      yield found;
      if (found.length < page) {
        return;
      }
      top = found.at(-1)?.alias;
    }
  }

  /** Returns the marks of all namespaces, page by page: their ids are not in the store's order. */
  async *#marksOfAll(
    thread: string,
    before: string | undefined,
    id: string | undefined,
    filter: string | undefined,
    page: number,
  ) {
    const marks = await this.#threads.marks(taskOf(thread), { filter, limit: Infinity });
    const found = marks.flatMap((mark) => {
      const of = idIn(mark.alias)?.id;
      const isIn = of !== undefined && (id ?? of) === of && (before === undefined || of < before);
      return isIn ? [{ id: of, mark }] : [];
    });
    found.sort((a, b) => (a.id > b.id ? -1 : 1));
    for (let at = 0; at < found.length; at += page) {
      yield found.slice(at, at + page).map(({ mark }) => mark);
    }
  }

  async #tuple(thread: string, marked: Marked, state: Thread): Promise<CheckpointTuple> {
    const task = taskOf(thread);
    const namespace = idIn(marked.alias)?.namespace ?? "";
    const [content, metadata, values, pendingWrites] = await Promise.all([
      this.#serializer.loads(state.content) as Promise<Omit<Checkpoint, "channel_values">>,
      this.#serializer.loads(state.metadata) as Promise<CheckpointMetadata>,
      this.#values(state),
      this.#threads.attached(task, marked.alias).then((attached) => this.#writes(attached)),
    ]);
    const checkpoint: Checkpoint = { ...content, channel_values: values };
    if (checkpoint.v < 4 && state.parent !== undefined) {
      await this.#migrateSends(task, aliasOf(namespace, state.parent), checkpoint);
    }
    return {
      config: configOf(thread, namespace, state.id),
      checkpoint,
      metadata,
      pendingWrites,
      ...(state.parent !== undefined && {
        parentConfig: configOf(thread, namespace, state.parent),
      }),
    };
  }

  async #values(state: Thread): Promise<{ [name: string]: unknown }> {
    const values = [...state.channels].map(async ([name, { content }]) => {
      const value = whole(content);
      if (value === undefined) {
        throw new RecordError(
          `channel \`${name}\` of checkpoint ${state.id} cannot be read: an event that it depends on was erased`,
        );
      }
      return [name, await this.#serializer.loads(value)] as const;
    });
    return Object.fromEntries(await Promise.all(values));
  }

  /** Returns the writes of tasks, in the order in which a run applies them. */
  async #writes(attached: readonly Attachment[]): Promise<CheckpointPendingWrite[]> {
    const writes = attached.map(async ({ writer, index, name, data }) => {
      const { path, value } = writeOf(data);
      const write: CheckpointPendingWrite = [writer, name ?? "", await this.#serializer.loads(value)];
      return { path, writer, index, write };
    });
    const all = await Promise.all(writes);
    all.sort(
      (a, b) => compared(a.path, b.path) || compared(a.writer, b.writer) || a.index - b.index,
    );
    return all.map(({ write }) => write);
  }

  async #migrateSends(task: string, parent: string, checkpoint: Checkpoint): Promise<void> {
    const writes = await this.#writes(await this.#threads.attached(task, parent));
    const sends = writes.filter(([, channel]) => channel === TASKS).map(([, , value]) => value);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = sends;
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.#firstVersion();
  }
}

/** Returns a write: encoding, path of the task and value, of which the first two end with a zero. */
function writeOf(data: unknown) {
  const base64 = (data as { base64?: unknown } | null)?.base64;
  const bytes = typeof base64 === "string" ? fromBase64(base64) : new Uint8Array();
  const first = bytes.indexOf(0);
  const second = bytes.indexOf(0, first + 1);
  if (first < 0 || second < 0) {
    throw new RecordError("data that is attached to a checkpoint is no write of a task");
  }
  const text = (begin: number, end: number) => new TextDecoder().decode(bytes.subarray(begin, end));
  const value = { encoding: text(0, first), bytes: bytes.subarray(second + 1) };
  return { path: text(first + 1, second), value };
}

/** Compares by code points, as Python does: the order of UTF-8 is theirs. */
function compared(a: string, b: string): number {
  if (a === b) {
    return 0;
  }
  const [first, second] = [new TextEncoder().encode(a), new TextEncoder().encode(b)];
  const at = first.findIndex((byte, index) => byte !== second[index]);
  return at < 0 ? -1 : (first[at] ?? 0) - (second[at] ?? -1);
}
