// A service with a store of its own, for one file of tests.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

export const command = resolve(process.env["MILEPOST"] ?? "../../target/debug/milepost");

/** The steps of `exec-001`. Each leaves a checkpoint, whose state has the step's score. */
export const steps = 5;

/** A running service. */
export interface Milepost {
  /** The address of the service. */
  baseUrl: string;
  /** A token that may do everything. */
  token: string;
  /** The path of the socket in the store. */
  socketPath: string;
  /** Returns what the command prints, which works on the store through the service. */
  run(...args: string[]): string;
  /** Ends the service. */
  end(): Promise<void>;
  /** Ends the service, and removes its store. */
  stop(): Promise<void>;
}

/** Variables of the surroundings could name another store or another service. */
export const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("MILEPOST")),
);

/** Records `exec-001` in a new store, and serves it on a free port. */
export async function start(): Promise<Milepost> {
  const folder = await mkdtemp(join(tmpdir(), "milepost-typescript-"));
  const run = (...args: string[]) =>
    execFileSync(command, args, { cwd: folder, env, encoding: "utf8", stdio: "pipe" });

  const events = Array.from({ length: steps }, (_, index) => [
    { kind: "step_started", step: index + 1 },
    { kind: "variables_patched", patch: { score: index + 1 } },
    { kind: "step_finished", step: index + 1 },
  ]);
  const lines = events.flat().map((event) => `${JSON.stringify(event)}\n`);
  await writeFile(join(folder, "run.jsonl"), lines.join(""));
  run("record", "--task", "exec-001", "run.jsonl");
  return serve(folder);
}

/** Serves the store of a folder on a free port. */
export async function serve(folder: string): Promise<Milepost> {
  const run = (...args: string[]) =>
    execFileSync(command, args, { cwd: folder, env, encoding: "utf8", stdio: "pipe" });
  const token = run("token", "create", "--user", "root", "--admin").trim();

  const service = spawn(command, ["serve", "--listen", "127.0.0.1:0", "--log", "none"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(service, "exit");
  let said = "";
  service.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));

  let baseUrl: string | undefined;
  // Ends with the output, if the service does not start.
  for await (const line of createInterface(service.stdout)) {
    baseUrl = /^listening on (.*)$/.exec(line)?.[1];
    if (baseUrl !== undefined) {
      break;
    }
  }
  if (baseUrl === undefined) {
    await ended;
    await rm(folder, { recursive: true });
    throw new Error(`the service did not start: ${said}`);
  }
  return {
    baseUrl,
    token,
    socketPath: join(folder, ".milepost", "server", "socket"),
    run(...args) {
      return execFileSync(command, args, {
        cwd: folder,
        env: { ...env, MILEPOST_TOKEN: token, MILEPOST_SERVER: baseUrl },
        encoding: "utf8",
        stdio: "pipe",
      });
    },
    async end() {
      service.kill();
      await ended;
    },
    async stop() {
      service.kill();
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

/** A `fetch` that loses answers: the request is carried out, and the connection breaks. */
export function loses() {
  let isNext = false;
  let count = 0;
  return {
    /** Loses the answer of the next request. */
    next() {
      isNext = true;
    },
    /** Returns the number of lost answers. */
    count: () => count,
    async fetch(request: Request): Promise<Response> {
      const answer = await fetch(request);
      if (!isNext) {
        return answer;
      }
      isNext = false;
      count += 1;
      await answer.arrayBuffer();
      throw new TypeError("fetch failed");
    },
  };
}
