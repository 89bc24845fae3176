// The client that writes and reads runs, against a real service.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addressOf, connect, MilepostError } from "../src/index.js";
import type { Client, Event } from "../src/index.js";
import { loses, start } from "./milepost.js";
import type { Milepost } from "./milepost.js";

let milepost: Milepost;
let client: Client;

before(async () => {
  milepost = await start();
  client = connect({ baseUrl: milepost.baseUrl, token: milepost.token });
});

after(() => milepost?.stop());

async function kinds(task: string): Promise<string[]> {
  const found = [];
  for await (const event of client.events(task)) {
    found.push(event.kind);
  }
  return found;
}

function says(content: string) {
  return { kind: "message", body: { role: "user", content } };
}

function status(expected: number) {
  return (error: unknown) => error instanceof MilepostError && error.status === expected;
}

test("events of one append are one commit with their checkpoint, and the state has them", async () => {
  await client.start("essay", { initial: { variables: { score: 0 } } });
  const { first, next, checkpoint } = await client.append(
    "essay",
    [says("Write about rain."), { kind: "variables_patched", body: { patch: { score: 0.4 } } }],
    { mark: { label: "draft", metadata: { score: 0.4 } } },
  );
  assert.equal(BigInt(next) - BigInt(first), 3n);
  assert.equal((await client.checkpoints.checkpoint(checkpoint ?? "")).label, "draft");
  assert.equal(await client.state("essay@draft", { pointer: "/variables/score" }), 0.4);

  await client.append("essay", { kind: "variables_patched", body: { patch: { score: 0.9 } } });
  const state = (await client.state("essay")) as { variables: unknown };
  assert.deepEqual(state.variables, { score: 0.9 });
  assert.equal((await client.checkpoint("essay", "better")).label, "better");
  assert.match(milepost.run("state", "essay@better", "--json"), /"score":0.9/);
});

test("events are read page by page, from an offset, and by their kinds", async () => {
  await client.start("pages");
  await client.append("pages", ["a", "b", "c"].map(says));
  await client.append("pages", { kind: "step_started", body: { step: 1 } });
  const contents = async (options: Parameters<Client["events"]>[1]) => {
    const read: Event[] = [];
    for await (const event of client.events("pages", options)) {
      read.push(event);
    }
    return read.map(({ body }) => body?.["content"] ?? null);
  };
  assert.deepEqual(await contents({ page: 1, kinds: ["message"] }), ["a", "b", "c"]);
  assert.deepEqual(await contents({ from: 2, to: 4n }), ["b", "c"]);
  assert.deepEqual(await kinds("pages"), [
    "lineage_opened",
    "message",
    "message",
    "message",
    "step_started",
  ]);
});

test("an append onto another head is refused, and the error has the head", async () => {
  await client.start("heads");
  const { next } = await client.append("heads", says("first"), { ifHead: 1 });
  await assert.rejects(client.append("heads", says("second"), { ifHead: 1 }), (error) => {
    assert(error instanceof MilepostError);
    assert.deepEqual([error.status, error.head], [412, next]);
    assert.notEqual(error.detail, "");
    return true;
  });
  await assert.rejects(client.checkpoint("heads", "late", { ifHead: 1n }), status(412));
});

test("writes whose answers are lost are repeated, and are there once", async () => {
  const lost = loses();
  const wet = connect({ baseUrl: milepost.baseUrl, token: milepost.token, fetch: lost.fetch });
  const each = async (write: () => Promise<unknown>) => {
    lost.next();
    await write();
  };
  await each(() => wet.start("lossy"));
  await each(() => wet.append("lossy", says("one")));
  await each(() => wet.append("lossy", [says("two"), says("three")], { mark: { label: "m" } }));
  await each(() => wet.append("lossy", { ...says("four"), key: "a key with blanks" }));
  await each(() => wet.checkpoint("lossy", "end"));
  assert.equal(lost.count(), 5);
  const read = await kinds("lossy");
  assert.equal(read.filter((kind) => kind === "message").length, 4);
  assert.equal(read.filter((kind) => kind === "checkpoint_marked").length, 2);
});

test("an append under a key of its own is there once, and other events under it are refused", async () => {
  await client.start("keys");
  const first = await client.append("keys", says("once"), { key: "turn-7" });
  const again = await client.append("keys", says("once"), { key: "turn-7" });
  assert.deepEqual([again.repeated, again.first], [true, first.first]);
  await assert.rejects(client.append("keys", says("twice"), { key: "turn-7" }), status(409));
  await assert.rejects(client.append("keys", says("x"), { key: "two words" }), RangeError);
  const both = client.append("keys", { ...says("x"), key: "a" }, { key: "b" });
  await assert.rejects(both, RangeError);
});

test("a task whose id has the characters of addresses is found", async () => {
  const task = "a/b@c~d%e";
  await client.start(task);
  await client.append(task, says("here"));
  await client.checkpoint(task, "label");
  assert.equal(await client.state(addressOf(task, "@label"), { pointer: "/message_count" }), 1);
});

test("the socket in the store takes requests, and a refusal has its details there, too", async () => {
  const local = connect({ socket: milepost.socketPath, token: milepost.token });
  await local.start("local");
  await local.append("local", [says("ä"), says("b")]);
  assert.equal(await client.state("local", { pointer: "/message_count" }), 2);
  await assert.rejects(local.task("missing"), status(404));
  const nowhere = connect({ socket: `${milepost.socketPath}-of-nobody` });
  await assert.rejects(nowhere.task("local"), TypeError);
  assert.throws(() => connect({ socket: milepost.socketPath, baseUrl: milepost.baseUrl }), TypeError);
  const aborted = local.task("local", { signal: AbortSignal.abort(new Error("enough")) });
  await assert.rejects(aborted, /enough/);
});
