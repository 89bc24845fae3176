// Uses `@milepost/client` as it is installed, against a service of the `milepost` that is installed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { connect, MilepostError } from "@milepost/client";
import { createCheckpointService } from "@milepost/client/checkpointService";

const args = ["serve", "--listen", "127.0.0.1:0", "--log", "none", "--store", "store"];
const service = spawn("node_modules/.bin/milepost", args, { stdio: ["ignore", "pipe", "ignore"] });
const ended = once(service, "exit");
let baseUrl;
for await (const line of createInterface(service.stdout)) {
  baseUrl = /^listening on (.*)$/.exec(line)?.[1];
  if (baseUrl !== undefined) {
    break;
  }
}
assert(baseUrl, "the service did not start");

try {
  const client = connect({ baseUrl });
  const run = await client.resume("essay");
  const content = await run.step(() => run.once("draft", () => "It rained."));
  await run.append({ kind: "message", body: { role: "assistant", content } }, { key: "said" });
  await client.checkpoint("essay", "draft");

  const resumed = await client.resume("essay");
  assert.equal(await resumed.once("draft", () => assert.fail("done again")), "It rained.");
  assert.equal(await resumed.nextStep(), 2);
  assert.equal(await client.state("essay@draft", { pointer: "/messages/0/content" }), "It rained.");
  await assert.rejects(client.task("missing"), MilepostError);
  const { items } = await createCheckpointService({ baseUrl }).checkpoints("essay");
  assert.equal(items[0]?.label, "draft");
} finally {
  service.kill();
  assert.deepEqual(await ended, [0, null]);
}
