// A run of a Rust program continues here, and one that began here continues in Rust. The program is an
// example next to the command; `cargo build --workspace` builds it.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { connect } from "../src/index.js";
import type { Client, Event } from "../src/index.js";
import { command, env, serve } from "./milepost.js";

const program = join(dirname(command), "milepost-example-prompts");

/** Runs the optimizer on the store of a folder, until it aborts in its second layer. */
function optimize(folder: string): string {
  const args = [join(folder, ".milepost"), "--stop-after", "1"];
  const { error, stdout, stderr } = spawnSync(program, args, { env, encoding: "utf8" });
  assert.equal(error, undefined);
  return stdout + stderr;
}

/** Serves the store of a folder for a while. */
async function served<Result>(folder: string, use: (client: Client) => Promise<Result>) {
  const milepost = await serve(folder);
  try {
    return await use(connect({ baseUrl: milepost.baseUrl, token: milepost.token }));
  } finally {
    await milepost.end();
  }
}

async function eventsOf(client: Client): Promise<Event[]> {
  const events = [];
  for await (const event of client.events("prompts")) {
    events.push(event);
  }
  return events;
}

test(
  "a Rust program and a JavaScript program return the results that the other recorded",
  { skip: existsSync(program) ? false : "the example is not built" },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "milepost-typescript-"));
    const [first, second] = [join(folder, "first"), join(folder, "second")];
    await Promise.all([mkdir(first), mkdir(second)]);

    const asked = optimize(first);
    // The store is the program's: its tokens do not count before it is trusted.
    execFileSync(command, ["trust", "--yes"], { cwd: first, env });
    execFileSync(command, ["init"], { cwd: second, env });
    const [key, result, initial] = await served(first, async (client) => {
      const events = await eventsOf(client);
      const recorded = events.find(({ key }) => key?.startsWith("once/"));
      const key = recorded?.key?.slice("once/".length) ?? "";
      const run = await client.resume("prompts");
      const read = await run.once(key, () => assert.fail("the work was done again"));
      assert.deepEqual(read, recorded?.body?.["data"]);
      return [key, read, events[0]?.body?.["initial"] as Record<string, unknown>] as const;
    });
    assert(asked.includes(`asks: ${key}`), asked);

    await served(second, async (client) => {
      const run = await client.resume("prompts", { initial, begin: false });
      assert.deepEqual(await run.once(key, () => result), result);
    });
    const goesOn = optimize(second);
    assert(goesOn.includes("asks: ") && !goesOn.includes(`asks: ${key}`), goesOn);
    await rm(folder, { recursive: true });
  },
);
