#!/usr/bin/env node
// Whether `milepost.js` passes exit codes, output, input and signals. Its path is the argument.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const command = process.argv[2];
const cwd = mkdtempSync(join(tmpdir(), "milepost-npm-"));

function run(args, input = "") {
  return spawnSync(command, args, { cwd, input, encoding: "utf8" });
}

/** Starts the service in a process group of its own, as a shell does, and waits until it listens. */
async function serve() {
  const args = ["serve", "--listen", "127.0.0.1:0", "--log", "none"];
  const service = spawn(command, args, { cwd, detached: true, stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(service, "exit");
  for await (const line of createInterface(service.stdout)) {
    if (line.startsWith("listening on ")) {
      return { service, ended };
    }
  }
  assert.fail(`the service did not start: ${await ended}`);
}

try {
  const usage = run(["--no-such-option"]);
  assert.deepEqual([usage.status, usage.stdout], [2, ""]);
  assert.match(usage.stderr, /no-such-option/);

  const event = JSON.stringify({ kind: "message", role: "user", content: "through the pipe" });
  assert.equal(run(["record", "-", "--task", "piped"], `${event}\n`).status, 0);
  assert.match(run(["log", "piped"]).stdout, /through the pipe/);
  assert.equal(run(["log", "of-nobody"]).status, 1);

  // `serve` ends with 0 on both, and frees the store.
  for (const signal of ["SIGINT", "SIGTERM"]) {
    const { service, ended } = await serve();
    service.kill(signal);
    assert.deepEqual(await ended, [0, null]);
  }

  // A command that a signal ends.
  const args = ["run", "--task", "signals", "--no-files", "--", "sh", "-c", "kill -TERM $$"];
  assert.equal(run(args).status, 128 + 15);
  const { service, ended } = await serve();
  const [child] = readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, "utf8").split(" ");
  process.kill(Number(child), "SIGKILL");
  assert.deepEqual(await ended, [null, "SIGKILL"]);
} finally {
  rmSync(cwd, { recursive: true });
}
