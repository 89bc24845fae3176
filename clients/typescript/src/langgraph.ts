// A checkpointer of LangGraph.js: threads in a Milepost store, over HTTP.
//
// A thread is the task `lg:THREAD`, a checkpoint a mark whose alias is its id. Events and states
// are those of the Python class `milepost.langgraph.MilepostSaver`: either continues threads of the
// other, and `milepost state`, `diff`, `blame` and `bisect` work on them.

import { BaseCheckpointSaver, uuid6, WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { concatenated, toBase64 } from "./bytes.js";
import { connect } from "./client.js";
import type { Client } from "./client.js";
import { isMissing, MilepostError } from "./http.js";
import type { Big, ServiceOptions } from "./http.js";
import { aliasOf } from "./langgraph/alias.js";
import { applied, changesTo, eventsOf } from "./langgraph/change.js";
import type { Given } from "./langgraph/change.js";
import { configOf, metadataOf, placeOf, stepOf, taskOf } from "./langgraph/forms.js";
import type { Config, Place } from "./langgraph/forms.js";
import { ThreadReader } from "./langgraph/reading.js";
import { emptyThread } from "./langgraph/record.js";
import type { ThreadRecord, Thread } from "./langgraph/record.js";
import { Serializer } from "./langgraph/serializer.js";
import { isConflict, Threads } from "./langgraph/threads.js";
import type { Appending, Attachment, Marked } from "./langgraph/threads.js";

/** The options of `MilepostSaver`. */
export interface MilepostSaverOptions {
  /** A serializer in place of LangGraph's. Each changed channel is then stored as a whole. */
  serde?: SerializerProtocol;
  /**
   * A second child of a checkpoint opens a lineage of its own (`fork`, the default), or is a
   * `MilepostError` of status 409 (`refuse`): two workers on one thread then see each other.
   */
  onConflict?: "fork" | "refuse";
}

/** The parent of a checkpoint: its mark, its state, and the head if nothing is behind the mark. */
interface Parent {
  marked: Marked;
  thread: Thread;
  head: Big | undefined;
}

/** The number of times that a put is tried while other writers append to its lineage. */
const TRIES = 50;
/** The number of states and marks that are kept: of the last checkpoints that were put. */
const KEPT = 16;

/** The conflict that `onConflict` is about. */
class SecondChild extends MilepostError {
  constructor(parent: string, child: string) {
    super({
      status: 409,
      title: "A second child of a checkpoint",
      detail: `checkpoint ${parent} has one, and ${child} would be another: read the newest checkpoint, and go on from there`,
    });
  }
}

/** Keeps the threads of a graph in a store. */
export class MilepostSaver extends BaseCheckpointSaver {
  readonly #threads: Threads;
  readonly #serializer: Serializer;
  readonly #reader: ThreadReader;
  readonly #refuses: boolean;
  /** The last checkpoints that were put: the parents of the next, as a rule. */
  readonly #put = new Map<string, { marked: Marked; thread: Thread }>();
  /** The threads that were deleted, and when: late writes to their checkpoints are dropped. */
  readonly #deleted = new Map<string, string>();

  /** Sends nothing. Takes a client of `connect`, or its options. */
  constructor(service: Client | ServiceOptions, { serde, onConflict }: MilepostSaverOptions = {}) {
    super(serde);
    this.#threads = new Threads("http" in service ? service : connect(service));
    this.#serializer = new Serializer(this.serde, serde === undefined);
    const first = () => this.getNextVersion(undefined);
    this.#reader = new ThreadReader(this.#threads, this.#serializer, first);
    this.#refuses = onConflict === "refuse";
  }

  /**
   * Returns a version that sorts behind the current one, and is that of no other fork. It is a
   * text, as Python's: compared versions have to be of one kind. LangGraph.js takes texts, but a
   * graph takes only a saver whose type has numbers.
   */
  override getNextVersion(current: string | number | undefined): number {
    const number = Number.parseInt(String(current ?? 0), 10);
    const version = `${number + 1}`.padStart(32, "0");
    return `${version}.${`${Math.random()}`.padStart(16, "0")}` as unknown as number;
  }

  override async put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ) {
    const place = placeOf(config);
    for (let tries = TRIES; ; tries -= 1) {
      try {
        await this.#putOnce(place, checkpoint, metadata, newVersions);
        return configOf(place.thread, place.namespace, checkpoint.id);
      } catch (error) {
        if (isMissing(error) && tries === TRIES) {
          await this.#threads.start(taskOf(place.thread));
        } else if (!isConflict(error) || error instanceof SecondChild || tries === 0) {
          // Else another writer appended to the lineage, or switched to another one.
          throw error;
        }
      }
    }
  }

  override async putWrites(
    config: Config,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const { thread, namespace, id } = placeOf(config);
    if (id === undefined) {
      throw new TypeError("the config of writes has no `checkpoint_id`");
    }
    if (writes.length === 0 || id <= (this.#deleted.get(thread) ?? "")) {
      return;
    }
    const encoder = new TextEncoder();
    const attachments = writes.map(async ([channel, value], index): Promise<Attachment> => {
      const { encoding, bytes } = await this.#serializer.dumps(value);
      const data = concatenated([encoder.encode(`${encoding}\0${taskPath}\0`), bytes]);
      return {
        writer: taskId,
        index: WRITES_IDX_MAP[channel] ?? index,
        name: channel,
        data: { base64: toBase64(data) },
      };
    });
    const [task, alias] = [taskOf(thread), aliasOf(namespace, id)];
    const attach = async () => this.#threads.attach(task, alias, await Promise.all(attachments));
    try {
      await attach();
    } catch (error) {
      // Writes may be stored before their checkpoint.
      if (!isMissing(error)) {
        throw error;
      }
      await this.#threads.start(task);
      await attach();
    }
  }

  override async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    const hasThread = config.configurable?.["thread_id"] !== undefined;
    return hasThread ? this.#reader.get(placeOf(config)) : undefined;
  }

  override async *list(
    config: Config,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    yield* this.#reader.list(config, options);
  }

  override async deleteThread(threadId: string): Promise<void> {
    this.#deleted.set(String(threadId), uuid6(0));
    for (const key of this.#put.keys()) {
      if (key.startsWith(`${taskOf(threadId)}\0`)) {
        this.#put.delete(key);
      }
    }
    await this.#threads.delete(taskOf(threadId));
  }

  async #putOnce(
    { thread, namespace, id: parentId }: Place,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<void> {
    const task = taskOf(thread);
    const alias = aliasOf(namespace, checkpoint.id);
    const [earlier, parent] = await Promise.all([
      this.#threads.marked(task, alias),
      parentId === undefined ? undefined : this.#parent(task, aliasOf(namespace, parentId)),
    ]);
    const before = parent?.thread ?? emptyThread();
    const { channel_values: values, ...content } = checkpoint;
    const hasParent = parentId !== undefined;
    const given = await this.#given(before, checkpoint, values, newVersions, hasParent);
    const record: ThreadRecord = {
      id: checkpoint.id,
      parent: parentId,
      fresh: parent === undefined,
      content: await this.#serializer.dumps(content),
      metadata: await this.#serializer.dumps(metadata),
      changes: changesTo(before, given),
    };
    const appending = {
      events: eventsOf(record, before, stepOf(metadata)),
      alias,
      metadata: metadataOf(metadata),
    };
    const marked = await (parent === undefined
      ? this.#first(task, namespace, appending)
      : this.#behind(task, namespace, parent, appending));
    if (earlier !== undefined) {
      // The same checkpoint, put again: the newer one replaces it.
      await this.#threads.unmark(earlier);
    }
    if (marked !== undefined) {
      this.#keep(`${task}\0${alias}`, { marked, thread: applied(before, record) });
    }
  }

  /**
   * Returns the channels to put: those that the parent has in their version have no value. What the
   * parent should have and does not is stored. Without a parent, all that LangGraph keeps is new.
   */
  async #given(
    before: Thread,
    { channel_versions: versions }: Checkpoint,
    values: { [name: string]: unknown },
    newVersions: ChannelVersions,
    hasParent: boolean,
  ): Promise<Given[]> {
    const isKept = (name: string) => hasParent || name in newVersions || !(name in versions);
    const names = Object.keys(values).filter(isKept);
    const given = names.map(async (name): Promise<Given> => {
      const version = JSON.stringify(versions[name] ?? null);
      const known = before.channels.get(name);
      const isKnown = known?.version === version && known.content !== undefined;
      const isNew = name in newVersions || !(name in versions) || !isKnown;
      return { name, version, value: isNew ? await this.#serializer.dumps(values[name]) : undefined };
    });
    return Promise.all(given);
  }

  /** Returns the parent; `undefined` if it is not there any more. */
  async #parent(task: string, alias: string): Promise<Parent | undefined> {
    const kept = this.#put.get(`${task}\0${alias}`);
    if (kept !== undefined) {
      const head = await this.#threads.headBehind(task, kept.marked);
      if (head !== undefined) {
        return { ...kept, head };
      }
    }
    const marked = await this.#threads.marked(task, alias);
    if (marked === undefined) {
      return undefined;
    }
    const [thread, head] = await Promise.all([
      this.#threads.thread(task, marked),
      this.#threads.headBehind(task, marked),
    ]);
    return { marked, thread, head };
  }

  /** Appends to the lineage of the parent if nothing was put behind it, else to a new lineage. */
  async #behind(task: string, namespace: string, { marked, head }: Parent, appending: Appending) {
    if (head !== undefined) {
      return this.#threads.append(task, { lineage: marked.lineage, head }, appending);
    }
    if (this.#refuses) {
      throw new SecondChild(marked.alias, appending.alias);
    }
    return this.#branch(task, namespace, `@${marked.id}`, appending);
  }

  /**
   * Appends the first checkpoint of a namespace: that of the root namespace to a lineage that has
   * no mark yet (writes may come before it), others to new lineages.
   */
  async #first(task: string, namespace: string, appending: Appending) {
    const { unmarked, address } = await this.#threads.beginning(task);
    return unmarked !== undefined && namespace === ""
      ? this.#threads.append(task, unmarked, appending)
      : this.#branch(task, namespace, address, appending);
  }

  async #branch(task: string, namespace: string, address: string, appending: Appending) {
    const { lineage, marked } = await this.#threads.branch(address, appending);
    if (namespace === "") {
      // Commands and pages show what the graph continues from.
      await this.#threads.switchTo(task, lineage);
    }
    return marked;
  }

  #keep(key: string, put: { marked: Marked; thread: Thread }): void {
    this.#put.delete(key);
    this.#put.set(key, put);
    for (const oldest of this.#put.keys()) {
      if (this.#put.size <= KEPT) {
        break;
      }
      this.#put.delete(oldest);
    }
  }
}
