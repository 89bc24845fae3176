// Forms of LangGraph's configs and metadata in a store.

import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";

/** What this saver reads of a config. */
export interface Config {
  configurable?: { [name: string]: unknown };
}

/** Thread, namespace and id of a checkpoint; without an id, the newest one. */
export interface Place {
  thread: string;
  namespace: string;
  id: string | undefined;
}

/** The beginning of the ids of the tasks of threads. */
export const PREFIX = "lg:";

/** A mark takes 64 KiB of metadata. */
const METADATA_MAX = 60_000;
const VALUE_MAX = 4096;

/** The key of the metadata with the channels that later checkpoints are rebuilt from. */
const DELTAS = "counters_since_delta_snapshot";

/** Returns the id of a thread's task. */
export function taskOf(thread: string): string {
  return `${PREFIX}${thread}`;
}

/** Returns the thread of a task. */
export function threadOf(task: string): string {
  return task.slice(PREFIX.length);
}

/** Returns the place that a config names. */
export function placeOf(config: Config): Place {
  const thread = config.configurable?.["thread_id"];
  if (thread === undefined || thread === null || thread === "") {
    throw new TypeError(
      "the config has no `thread_id`: graph.invoke(input, { configurable: { thread_id: \"1\" } })",
    );
  }
  const namespace = String(config.configurable?.["checkpoint_ns"] ?? "");
  return { thread: String(thread), namespace, id: idOf(config) };
}

/** Returns the id of a checkpoint that a config names. */
export function idOf(config: Config | undefined): string | undefined {
  const id = config?.configurable?.["checkpoint_id"] || config?.configurable?.["thread_ts"];
  return id === undefined || id === null || id === "" ? undefined : String(id);
}

/** Returns the config of a checkpoint. */
export function configOf(thread: string, namespace: string, id: string) {
  return { configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } };
}

/** Returns the step that a checkpoint ends; `undefined` for input and updates from outside. */
export function stepOf({ step, source }: CheckpointMetadata) {
  const isStep = Number.isSafeInteger(step) && step >= 0;
  return isStep ? { number: step, source: typeof source === "string" ? source : undefined } : undefined;
}

/**
 * Returns the metadata of a mark, for filters: all of it, or its shortest scalars if there is no
 * room. It says in any case whether there are deltas.
 */
export function metadataOf(metadata: CheckpointMetadata): { [name: string]: unknown } {
  const sizeOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value) ?? "").length;
  try {
    if (sizeOf(metadata) <= METADATA_MAX) {
      return JSON.parse(JSON.stringify(metadata)) as { [name: string]: unknown };
    }
  } catch {
    // A value without a form in JSON: only the scalars are there for filters.
  }
  const fields = metadata as { [name: string]: unknown };
  const fitting: { [name: string]: unknown } = fields[DELTAS] ? { [DELTAS]: true } : {};
  const scalars = Object.entries(fields).filter(
    ([, value]) =>
      (value === null || ["string", "number", "boolean"].includes(typeof value)) &&
      sizeOf(value) < VALUE_MAX,
  );
  let room = METADATA_MAX - sizeOf(fitting);
  for (const [name, value] of scalars.sort((a, b) => sizeOf(a) - sizeOf(b))) {
    room -= sizeOf({ [name]: value }) + 2;
    if (room < 0) {
      break;
    }
    fitting[name] = value;
  }
  return fitting;
}

/** Returns the part of a filter that the store compares, as JSON: its short texts. */
export function filterOf(filter: { [name: string]: unknown }) {
  const texts = Object.entries(filter).filter(
    ([, value]) => typeof value === "string" && !isHalf(value) && value.length < VALUE_MAX / 8,
  );
  return {
    text: texts.length === 0 ? undefined : JSON.stringify(Object.fromEntries(texts)),
    isWhole: texts.length === Object.keys(filter).length,
  };
}

/** Returns whether a text has half a surrogate pair, which the store's texts do not have. */
function isHalf(text: string): boolean {
  return /\\u[dD][89a-fA-F]/.test(JSON.stringify(text));
}

/** Returns whether metadata has all that a filter asks for. */
export function fits(
  metadata: CheckpointMetadata | undefined,
  filter: { [name: string]: unknown },
): boolean {
  const fields = (metadata ?? {}) as { [name: string]: unknown };
  return Object.entries(filter).every(
    ([name, value]) => JSON.stringify(fields[name]) === JSON.stringify(value),
  );
}
