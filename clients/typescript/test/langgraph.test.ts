// Graphs of LangGraph.js whose threads are in a store, against a real service.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { connect, MilepostError } from "../src/index.js";
import type { Client } from "../src/index.js";
import { MilepostSaver } from "../src/langgraph.js";
import { loses, start } from "./milepost.js";
import type { Milepost } from "./milepost.js";

let milepost: Milepost;
let client: Client;

before(async () => {
  milepost = await start();
  client = connect({ baseUrl: milepost.baseUrl, token: milepost.token });
});

after(() => milepost?.stop());

const State = Annotation.Root({
  notes: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  messages: Annotation<BaseMessage[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

function graphOf(saver: MilepostSaver) {
  return new StateGraph(State)
    .addNode("write", () => ({
      notes: ["draft"],
      messages: [new AIMessage({ content: "a draft", id: "m2" })],
    }))
    .addNode("review", () => ({ notes: [interrupt("good?") as string] }))
    .addEdge(START, "write")
    .addEdge("write", "review")
    .addEdge("review", END)
    .compile({ checkpointer: saver });
}

const question = { notes: ["begin"], messages: [new HumanMessage({ content: "hello", id: "m1" })] };

function configOf(thread: string) {
  return { configurable: { thread_id: thread } };
}

const metadata: CheckpointMetadata = { source: "loop", step: 0, parents: {} };

/** Puts checkpoints, each behind the one before, with one channel. */
async function put(saver: MilepostSaver, thread: string, values: unknown[]) {
  let config: { configurable: Record<string, string> } = configOf(thread);
  const configs = [];
  for (const [index, list] of values.entries()) {
    const versions = { list: index + 1 };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(index),
      channel_values: { list },
      channel_versions: versions,
    };
    config = await saver.put(config, checkpoint, metadata, versions);
    configs.push(config);
  }
  return configs;
}

test("a graph stops at an interrupt, and another process continues it", async () => {
  await graphOf(new MilepostSaver(client)).invoke(question, configOf("1"));
  const graph = graphOf(new MilepostSaver({ baseUrl: milepost.baseUrl, token: milepost.token }));
  const { notes, messages } = await graph.invoke(new Command({ resume: "yes" }), configOf("1"));
  assert.deepEqual(notes, ["begin", "draft", "yes"]);
  assert.deepEqual(
    messages.map((message) => [message.getType(), message.content, message.id]),
    [
      ["human", "hello", "m1"],
      ["ai", "a draft", "m2"],
    ],
  );
  const { values, next } = await graph.getState(configOf("1"));
  assert.deepEqual([values.notes, next], [["begin", "draft", "yes"], []]);
  assert(values.messages[0] instanceof HumanMessage);
});

test("the command shows the values of a thread, and who set them", async () => {
  await graphOf(new MilepostSaver(client)).invoke(question, configOf("shown"));
  const { variables } = JSON.parse(milepost.run("state", "lg:shown", "--json"));
  assert.deepEqual(variables.notes, ["begin", "draft"]);
  assert.deepEqual(
    variables.messages.map((message: { content: string }) => message.content),
    ["hello", "a draft"],
  );
  assert.match(milepost.run("blame", "lg:shown", "/variables/notes/1"), /variables_patched/);
  assert.match(milepost.run("checkpoints", "lg:shown"), /step/);
});

test("going back to an earlier checkpoint is another lineage, and both are listed", async () => {
  const graph = graphOf(new MilepostSaver(client));
  await graph.invoke(question, configOf("fork"));
  await graph.invoke(new Command({ resume: "yes" }), configOf("fork"));
  let earlier;
  for await (const state of graph.getStateHistory(configOf("fork"))) {
    if (state.next[0] === "review") {
      earlier = state.config;
    }
  }
  assert(earlier);
  await graph.updateState(earlier, { notes: ["no"] }, "review");
  const forked = await graph.getState(configOf("fork"));
  assert.deepEqual(forked.values.notes, ["begin", "draft", "no"]);
  const lineages = await client.checkpoints.lineages("lg:fork");
  assert.deepEqual(
    lineages.map(({ active }) => active),
    [false, true],
  );
  const lasts = [];
  for await (const { values, next } of graph.getStateHistory(configOf("fork"))) {
    if (next.length === 0) {
      lasts.push(values.notes.at(-1));
    }
  }
  assert.deepEqual(lasts.sort(), ["no", "yes"]);
});

test("a second child of a checkpoint is a conflict where that is asked for", async () => {
  const saver = new MilepostSaver(client, { onConflict: "refuse" });
  const [parent] = await put(saver, "conflict", [["a"], ["a", "b"]]);
  assert(parent);
  const other = { ...emptyCheckpoint(), id: uuid6(9) };
  await assert.rejects(saver.put(parent, other, metadata, {}), (error) => {
    return error instanceof MilepostError && error.status === 409;
  });
  await new MilepostSaver(client).put(parent, other, metadata, {});
});

test("a list that grew is stored as its new items", async () => {
  const saver = new MilepostSaver(client);
  const long = Array.from({ length: 500 }, (_, index) => `item ${index} of the list`);
  const configs = await put(saver, "grown", [long, [...long, "one more"], [...long.slice(0, 9), "x"]]);
  const sizes: number[] = [];
  for await (const { body } of client.events("lg:grown", { kinds: ["application"] })) {
    sizes.push(JSON.stringify(body).length);
  }
  const [first = 0, ...others] = sizes;
  assert(first > 10_000 && Math.max(...others) < 1000, `${sizes}`);
  const read = await Promise.all(configs.map((config) => saver.get(config)));
  assert.deepEqual(
    read.map((checkpoint) => (checkpoint?.channel_values["list"] as string[]).length),
    [500, 501, 10],
  );
});

test("values of all kinds come back as they were put", async () => {
  const saver = new MilepostSaver(client);
  const values = [
    [null, true, -1, 127, 128, -33, 65_536, -70_000, 2 ** 40, -(2 ** 40), 0.5, -0.5, 1e300],
    ["", "ä".repeat(40), "x".repeat(70_000), "half \ud800", "__proto__"],
    { deep: { a: [{}, []] }, __proto__of: 1, [`long ${"k".repeat(300)}`]: 1 },
    new Set([1, "b"]),
    new Map([["a", [1]]]),
    Uint8Array.of(0, 200, 255),
    [Uint8Array.of(1), new HumanMessage("hi").content],
    JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`),
    Array.from({ length: 70_000 }, (_, index) => index % 3),
  ];
  const configs = await put(saver, "kinds", values);
  for (const [index, config] of configs.entries()) {
    const read = await saver.get(config);
    assert.deepEqual(read?.channel_values["list"], values[index]);
  }
});

test("messages, sets and bytes that Python stored are those of JavaScript", async () => {
  const saver = new MilepostSaver(client);
  const [config] = await put(saver, "of-python", [["replaced"]]);
  assert(config);
  // `JsonPlusSerializer().dumps_typed([HumanMessage("hey", id="9"), {1}, b"ab"])`
  const bytes =
    "k8eJBZS9bGFuZ2NoYWluX2NvcmUubWVzc2FnZXMuaHVtYW6sSHVtYW5NZXNzYWdlhqdjb250ZW50o2hlebFhZGRp" +
    "dGlvbmFsX2t3YXJnc4CxcmVzcG9uc2VfbWV0YWRhdGGApHR5cGWlaHVtYW6kbmFtZcCiaWShObNtb2RlbF92YWxp" +
    "ZGF0ZV9qc29u2ACTqGJ1aWx0aW5zo3NldJEBxAJhYg==";
  const value = Buffer.concat([Buffer.from("msgpack\0\0"), Buffer.from(bytes, "base64")]);
  const data = { base64: value.toString("base64") };
  await client.http.POST("/v1/tasks/{task}/attachments", {
    params: { path: { task: "lg:of-python" } },
    body: {
      alias: config.configurable["checkpoint_id"] ?? "",
      attachments: [{ writer: "task", index: 0, name: "list", data }],
    },
  });
  const tuple = await saver.getTuple(config);
  const [message, set, raw] = tuple?.pendingWrites?.[0]?.[2] as [HumanMessage, unknown, unknown];
  assert(message instanceof HumanMessage);
  assert.deepEqual([message.content, message.id, message.name], ["hey", "9", undefined]);
  assert.deepEqual([set, raw], [new Set([1]), new Uint8Array(Buffer.from("ab"))]);
});

test("a checkpoint whose answer is lost is there once", async () => {
  const lost = loses();
  const keys = new Set<string>();
  const fetch = (request: Request) => {
    const key = request.headers.get("Idempotency-Key");
    if (key !== null && !keys.has(key)) {
      keys.add(key);
      lost.next();
    }
    return lost.fetch(request);
  };
  const wet = connect({ baseUrl: milepost.baseUrl, token: milepost.token, fetch });
  await put(new MilepostSaver(wet), "lossy", [["a"], ["a", "b"]]);
  assert(lost.count() >= 2);
  assert.equal((await client.checkpoints.checkpoints("lg:lossy")).items.length, 2);
});

test("writes may come before their checkpoint, and late ones of a deleted thread are dropped", async () => {
  const saver = new MilepostSaver(client);
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(0) };
  const config = { configurable: { thread_id: "early", checkpoint_ns: "", checkpoint_id: checkpoint.id } };
  await saver.putWrites(config, [["notes", "b"]], "task-2", "~1");
  await saver.putWrites(config, [["notes", "a"]], "task-1", "~2");
  await saver.put(configOf("early"), checkpoint, metadata, {});
  const tuple = await saver.getTuple(configOf("early"));
  assert.deepEqual(tuple?.pendingWrites, [
    ["task-2", "notes", "b"],
    ["task-1", "notes", "a"],
  ]);
  await saver.deleteThread("early");
  await saver.putWrites(config, [["notes", "late"]], "task-3");
  await assert.rejects(client.task("lg:early"), MilepostError);
});

test("a serializer of the application stores its own encoding", async () => {
  const turned = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x55);
  const serde = {
    dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => [
      "turned",
      turned(new TextEncoder().encode(JSON.stringify(value))),
    ],
    loadsTyped: async (_: string, data: Uint8Array | string) =>
      JSON.parse(new TextDecoder().decode(turned(data as Uint8Array))),
  };
  const saver = new MilepostSaver(client, { serde });
  await put(saver, "turned", [["secret"]]);
  const read = await saver.get(configOf("turned"));
  assert.deepEqual(read?.channel_values["list"], ["secret"]);
  assert.match(milepost.run("state", "lg:turned", "--json"), /of an unknown encoding/);
});
