// Runs that resume, and work that is done once, against a real service.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect, MilepostError } from "../src/index.js";
import type { Client } from "../src/index.js";
import { loses, start } from "./milepost.js";
import type { Milepost } from "./milepost.js";

let milepost: Milepost;
let client: Client;

before(async () => {
  milepost = await start();
  client = connect({ baseUrl: milepost.baseUrl, token: milepost.token });
});

after(() => milepost?.stop());

function never(): never {
  throw new Error("the work was done again");
}

/** What the command prints of a task's events, oldest first. */
function printed(task: string): Record<string, any>[] {
  const lines = milepost.run("log", task, "--json").trim().split("\n");
  return lines.map((line) => JSON.parse(line)).reverse();
}

test("work is done once, and later runs return its recorded result", async () => {
  const run = await client.resume("mailing");
  const sent = await run.once("mail to bob", () => ({ id: "message-42", at: undefined }));
  assert.deepEqual(sent, { id: "message-42" });
  assert.deepEqual(await run.once("mail to bob", never), sent);
  assert.deepEqual(await (await client.resume("mailing")).once("mail to bob", never), sent);
});

test("the command reads a result as the event that Rust records", async () => {
  const run = await client.resume("form");
  await run.once("rows", () => 3);
  const event = printed("form").find(({ kind }) => kind === "application");
  assert.equal(event?.["key"], "once/rows");
  assert.deepEqual(event?.["body"], { kind: "application", name: "milepost.once", data: 3 });
});

test("Python finds the result where its own `once` looks", async () => {
  const run = await client.resume("for-python");
  await run.once("rows", () => ({ rows: 3 }));
  const params = { path: { task: "for-python" }, query: { alias: "once:rows" } };
  const { data } = await client.http.GET("/v1/tasks/{task}/attachments", { params });
  assert.deepEqual(data?.items.map((item) => item.data), [{ rows: 3 }]);
});

test("results that Rust and Python recorded are returned without doing the work", async () => {
  await client.start("begun-elsewhere");
  const body = { name: "milepost.once", data: { rows: 3 } };
  await client.append("begun-elsewhere", { kind: "application", body, key: "once/rust" });
  const attachments = [{ writer: "once", index: 0, name: "python", data: { rows: 4 } }];
  await client.http.POST("/v1/tasks/{task}/attachments", {
    params: { path: { task: "begun-elsewhere" } },
    body: { alias: "once:python", attachments },
  });
  const run = await client.resume("begun-elsewhere");
  assert.deepEqual(await run.once("rust", never), { rows: 3 });
  assert.deepEqual(await run.once("python", never), { rows: 4 });
});

test("results of any kind come back: nothing, bytes, and what JSON keeps of a date", async () => {
  const run = await client.resume("kinds");
  const again = await client.resume("kinds");
  const day = new Date(0);
  for (const [key, work, result] of [
    ["nothing", () => undefined, null],
    ["bytes", () => Uint8Array.of(0, 255), Uint8Array.of(0, 255)],
    ["date", () => day, day.toJSON()],
  ] as [string, () => unknown, unknown][]) {
    assert.deepEqual(await run.once(key, work), result);
    assert.deepEqual(await again.once(key, never), result);
  }
});

test("failed work is not recorded, and is done again", async () => {
  const run = await client.resume("failing");
  await assert.rejects(run.once("try", () => Promise.reject(new Error("no"))), /no/);
  assert.equal(await run.once("try", () => "yes"), "yes");
});

test("calls with one key at the same time do the work once, in a run and in two", async () => {
  const [one, other] = await Promise.all([client.resume("race"), client.resume("race")]);
  let calls = 0;
  const count = () => (calls += 1);
  const results = await Promise.all([one.once("a", count), one.once("a", count)]);
  assert.deepEqual([results, calls], [[1, 1], 1]);

  // Both begin before either has recorded: the first record counts for both.
  let begun = 0;
  let release = () => {};
  const both = new Promise<void>((resolve) => (release = resolve));
  const work = (result: string) => async () => {
    begun += 1;
    if (begun === 2) {
      release();
    }
    await both;
    return result;
  };
  const [first, second] = await Promise.all([
    one.once("b", work("one")),
    other.once("b", work("other")),
  ]);
  assert.equal(first, second);
});

test("a result whose record is acknowledged in a lost answer is recorded once", async () => {
  const lost = loses();
  const wet = connect({ baseUrl: milepost.baseUrl, token: milepost.token, fetch: lost.fetch });
  const run = await wet.resume("lossy");
  const result = await run.once("key", () => {
    lost.next();
    return "done";
  });
  assert.deepEqual([result, lost.count()], ["done", 1]);
  assert.equal(printed("lossy").filter(({ kind }) => kind === "application").length, 1);
});

test("after a restore by the command the work behind its target is done again", async () => {
  const run = await client.resume("restored");
  await run.once("kept", () => 1);
  await run.checkpoint("here");
  await run.once("left", () => 1);
  milepost.run("restore", "restored@here");
  assert.equal(await run.once("kept", never), 1);
  assert.equal(await run.once("left", () => 2), 2);
  milepost.run("undo", "restored");
  assert.equal(await run.once("left", never), 1);
});

test("a run that ended in the middle of a step does that step again", async () => {
  const run = await client.resume("steps");
  await run.step((step) => {
    step.metrics["score"] = 0.5;
  });
  await assert.rejects(
    run.step(() => {
      throw new Error("out of paper");
    }),
    /out of paper/,
  );
  // What a killed program leaves.
  await run.append({ kind: "step_started", body: { step: 2 } });

  const resumed = await client.resume("steps");
  assert.equal(await resumed.step(({ number }) => number), 2);
  assert.equal(await resumed.nextStep(), 3);
  assert.deepEqual(
    printed("steps").flatMap(({ kind, body }) => (kind.startsWith("step_") ? [[kind, body.step]] : [])),
    [
      ["step_started", 1],
      ["step_finished", 1],
      ["step_started", 2],
      ["step_failed", 2],
      ["step_started", 2],
      ["step_started", 2],
      ["step_finished", 2],
    ],
  );
});

test("a step during which the task is restored is abandoned", async () => {
  const run = await client.resume("moved");
  await run.checkpoint("here");
  await run.append({ kind: "variables_patched", body: { patch: { a: 1 } } });
  const step = run.step(() => void milepost.run("restore", "moved@here"));
  await assert.rejects(step, (error) => error instanceof MilepostError && error.status === 409);
  assert.equal(await run.nextStep(), 1);
});

test("a run begins when it is resumed, but one that is paused stays so", async () => {
  const run = await client.resume("control");
  assert.equal(await run.control(), "running");
  milepost.run("pause", "control");
  assert.equal(await (await client.resume("control")).control(), "paused");
  milepost.run("resume", "control");
  await run.end();
  assert.equal(await (await client.resume("control", { begin: false })).control(), "idle");
  assert.equal(await (await client.resume("control")).control(), "running");
});
