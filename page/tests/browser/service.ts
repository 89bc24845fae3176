// The real service, for tests: MILEPOST names the command.

import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Stored, Task } from "../mock/logs.ts";

const command = process.env["MILEPOST"];

/** Reason to skip tests that need the command. */
export const skip = command ? false : "MILEPOST is not set";

/** Bodies of events that a client may append. The command marks steps itself. */
export function bodiesOf(events: readonly Stored[]): Record<string, unknown>[] {
  const own = ["lineage_opened", "checkpoint_marked", "unknown"];
  return events.flatMap((one) => (one.body && !own.includes(one.kind) ? [one.body] : []));
}

/** A folder with stores, and the service of the one that is named `store`. */
export class Service {
  readonly folder = mkdtempSync(join(tmpdir(), "milepost-page-"));
  #process: ChildProcess | undefined;
  url = "";

  run(...args: string[]): string {
    return execFileSync(resolve(command!), args, {
      cwd: this.folder,
      encoding: "utf8",
      stdio: "pipe",
    });
  }

  /** Records a lineage of a task of the mock. */
  record(name: string, task: Task, lane = 0): void {
    const lines = bodiesOf(task.lanes[lane]!.events).map((one) => JSON.stringify(one));
    writeFileSync(join(this.folder, "run.jsonl"), `${lines.join("\n")}\n`);
    this.run("record", "--store", "store", "--task", name, "run.jsonl");
  }

  async start(): Promise<void> {
    const args = ["serve", "--store", "store", "--listen", "127.0.0.1:0"];
    const service = spawn(resolve(command!), args, { cwd: this.folder });
    this.#process = service;
    this.url = await new Promise<string>((done, fail) => {
      const onData = (data: Buffer) => {
        const url = /listening on (http:\S+)/.exec(data.toString())?.[1];
        if (url) done(url);
      };
      service.stdout.on("data", onData);
      service.stderr.on("data", onData);
      service.on("exit", () => fail(new Error("the service ended")));
    });
  }

  /** Asks the service, and returns the value of its answer. */
  async ask(method: string, path: string, body?: string): Promise<unknown> {
    const type = body?.includes("\n") ? "application/x-ndjson" : "application/json";
    const answer = await fetch(this.url + path, {
      method,
      headers: { "Content-Type": type },
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  async end(): Promise<void> {
    const service = this.#process;
    if (service) {
      const ended = new Promise((done) => service.on("exit", done));
      service.kill();
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
