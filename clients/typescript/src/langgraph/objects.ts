// Objects in values: LangGraph.js writes them into JSON as records with `lc`, LangGraph for Python
// into MessagePack as extensions. Messages, bytes, sets and snapshots of deltas have a form in both.

import { toBase64 } from "../bytes.js";

/** For whom a value is read: the records of LangGraph.js for its serializer, or plain values. */
export type Reading = "serializer" | "people";

type Fields = Record<string, unknown>;

/** Extensions with the content `(module, class, arguments, ..)`. */
const OBJECTS_MAX = 5;
const KEYWORDS = 2;
const SINGLE = 0;
const NUMPY = 6;
const SNAPSHOT = 7;

/** The modules of the messages in Python, by the beginnings of their classes. */
const MODULES: Record<string, string> = {
  AIMessage: "ai",
  ChatMessage: "chat",
  FunctionMessage: "function",
  HumanMessage: "human",
  RemoveMessage: "modifier",
  SystemMessage: "system",
  ToolMessage: "tool",
};
const MESSAGES = "langchain_core.messages.";

/**
 * Returns the extension of a record of LangGraph.js, or its bytes without a kind; `undefined` for
 * another object.
 */
export function packedObject(
  value: Fields,
  pack: (value: unknown) => Uint8Array,
): { kind?: number; bytes: Uint8Array } | undefined {
  if (value["lc"] === 1 && value["type"] === "constructor") {
    const id: unknown = value["id"];
    const isMessage = Array.isArray(id) && id[0] === "langchain_core" && id[1] === "messages";
    const name: unknown = isMessage && id.length === 3 ? id[2] : undefined;
    const module = typeof name === "string" ? MODULES[name.replace(/Chunk$/, "")] : undefined;
    const isPlain = Object.keys(value).length === 4 && isFields(value["kwargs"]);
    if (module === undefined || !isPlain) {
      return undefined;
    }
    return { kind: KEYWORDS, bytes: pack([`${MESSAGES}${module}`, name, value["kwargs"]]) };
  }
  if (value["lc"] !== 2) {
    return undefined;
  }
  if (value["type"] === "delta_snapshot" && Object.keys(value).length === 3) {
    return { kind: SNAPSHOT, bytes: pack(value["value"]) };
  }
  const [name, ...more] = Array.isArray(value["id"]) ? (value["id"] as unknown[]) : [];
  const args = value["args"];
  if (value["type"] !== "constructor" || more.length > 0 || !Array.isArray(args)) {
    return undefined;
  }
  const first: unknown = args[0];
  if (args.length !== 1 || !Array.isArray(first)) {
    return undefined;
  }
  if (name === "Uint8Array" && value["method"] === "from") {
    return { bytes: Uint8Array.from(first as number[]) };
  }
  return name === "Set" ? { kind: SINGLE, bytes: pack(["builtins", "set", first]) } : undefined;
}

/** Returns what bytes are read as. */
export function fromObject(bytes: Uint8Array, reading: Reading): unknown {
  return reading === "people"
    ? { base64: toBase64(bytes) }
    : constructed("Uint8Array", "from", Array.from(bytes));
}

/** Returns what an extension is read as. An object that JavaScript does not have is its content. */
export function ofObject(
  kind: number,
  bytes: Uint8Array,
  reading: Reading,
  unpack: () => unknown,
): unknown {
  if (kind === SNAPSHOT) {
    const value = unpack();
    return reading === "people" ? value : { lc: 2, type: "delta_snapshot", value };
  }
  if (kind === NUMPY) {
    return unpack();
  }
  const parts = kind >= 0 && kind <= OBJECTS_MAX ? unpack() : undefined;
  if (!Array.isArray(parts) || parts.length < 3) {
    return { extension: kind, base64: toBase64(bytes) };
  }
  const [module, name, content] = parts as unknown[];
  if (reading === "people") {
    return content;
  }
  if (typeof module === "string" && module.startsWith(MESSAGES) && isFields(content)) {
    // Python's messages have their type, which the class is in JavaScript, and what is absent.
    const kwargs = Object.fromEntries(
      Object.entries(content).filter(([field, value]) => field !== "type" && value !== null),
    );
    return { lc: 1, type: "constructor", id: ["langchain_core", "messages", name], kwargs };
  }
  if (module === "builtins" && (name === "set" || name === "frozenset") && Array.isArray(content)) {
    return constructed("Set", null, content);
  }
  return content;
}

function constructed(name: string, method: string | null, argument: unknown[]): Fields {
  return { lc: 2, type: "constructor", id: [name], method, args: [argument], kwargs: {} };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
