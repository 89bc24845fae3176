// What is looked at: a task of a million events, ten thousand tasks, and one that grows; in the mock,
// or in a store that the command made.

import { createWriteStream } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { once } from "node:events";
import { command, run, serve } from "../tests/browser/command.ts";
import type { Service } from "../tests/browser/command.ts";
import { MILLION } from "../tests/mock/million.ts";
import { start } from "../tests/mock/server.ts";
import { append, world } from "../tests/mock/world.ts";
import type { Body } from "../tests/mock/logs.ts";

const TASKS = 10_000;

export interface Store {
  /** Who answers. */
  kind: string;
  url: string;
  /** Appends to the task `live`. It returns the head when the events are durable, in the mock when
   * they are told. */
  append: (bodies: Body[]) => Promise<number>;
  end: () => Promise<void>;
}

/** A step with a call, as lines of `milepost record`; with the mark that it makes, six events. */
export function stepOf(step: number): Body[] {
  const call = `c${step}`;
  const ok = step % 5000 !== 0;
  return [
    { kind: "step_started", step },
    { kind: "message", role: "assistant", content: `I look at heap ${step}.` },
    { kind: "tool_called", call, tool: "count", arguments: { heap: step } },
    { kind: "tool_returned", call, tool: "count", ok, output: `${step * 7} stones` },
    { kind: "step_finished", step, metrics: { loss: 1 / step } },
  ];
}

export async function writeSteps(file: string, steps: number): Promise<void> {
  const to = createWriteStream(file);
  for (let step = 1; step <= steps; step++) {
    const text = stepOf(step).map((one) => `${JSON.stringify(one)}\n`).join("");
    if (!to.write(text)) await once(to, "drain");
  }
  to.end();
  await once(to, "close");
}

async function fill(folder: string): Promise<void> {
  process.stderr.write("recording a task of a million events\n");
  await writeSteps(join(folder, "million.jsonl"), Math.ceil(MILLION / 6));
  run(folder, "record", "million.jsonl");
  process.stderr.write("recording ten thousand tasks\n");
  await mkdir(join(folder, "tasks"));
  const names = [];
  for (let i = 0; i < TASKS; i++) {
    const name = `tasks/loan-${String(i).padStart(5, "0")}.jsonl`;
    const failed = i % 17 === 3;
    const bodies = stepOf(i + 1).map((one) => (failed && "ok" in one ? { ...one, ok: false } : one));
    await writeFile(join(folder, name), bodies.map((one) => `${JSON.stringify(one)}\n`).join(""));
    names.push(name);
  }
  run(folder, "record", ...names);
  await writeSteps(join(folder, "live.jsonl"), 1);
  run(folder, "record", "live.jsonl");
}

async function appendOver(url: string, bodies: Body[]): Promise<number> {
  const lines = bodies.map(({ kind, ...body }) => `${JSON.stringify({ kind, body })}\n`);
  const answer = await fetch(`${url}/v1/tasks/live/events`, {
    method: "POST",
    headers: { "Content-Type": "application/x-ndjson" },
    body: lines.join(""),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return Number(answer.headers.get("ETag")!.replaceAll('"', ""));
}

export async function makeStore(folder: string, isFilled: boolean): Promise<Store> {
  const of = world(isFilled && !command ? TASKS : 0);
  let service: Service | undefined;
  if (command && isFilled) {
    await fill(folder);
    service = await serve(folder);
  }
  const lane = { id: 0, type: "root", description: null, parent: null, fork: 0, outcome: {} };
  const fields = { id: "live", user: "ana", control: "running", active: 0, created_us: 0 };
  const live = { ...fields, lanes: [{ ...lane, events: [] }] };
  of.tasks.set("live", live);
  // The page comes from built/, whatever the command has within it.
  const mock = await start(of, "built", 0, service?.url);
  const told = async (bodies: Body[]) => {
    append(of, live, live.lanes[0]!, bodies);
    return live.lanes[0]!.events.length;
  };
  await told(stepOf(1));
  return {
    kind: service ? "the service" : "the mock",
    url: mock.url,
    append: (bodies) => (service ? appendOver(service.url, bodies) : told(bodies)),
    end: async () => {
      await mock.close();
      await service?.end();
    },
  };
}
