// The store of the mock: tasks, and what a test switches on.

import { agent, chinese, hostile, many, nothing, optimizer, running } from "./logs.ts";
import type { Body, Lane, Stored, Task } from "./logs.ts";

export interface World {
  tasks: Map<string, Task>;
  admin: boolean;
  readOnly: boolean;
  /** Tokens that are accepted; empty if none was made. */
  tokens: Set<string>;
  /** Whether the connection is cut: no answer at all. */
  down: boolean;
  /** Delay of each answer, in milliseconds. */
  slow: number;
  /** Events that a request for an overview or for metrics reads at most. */
  slice: number;
  /** Offsets before which the events of lineages were read in slices. */
  read: WeakMap<Lane, number>;
  /** Paths of /v1 that were asked for, in order, with the bytes of the answers. */
  asked: { method: string; path: string; bytes: number }[];
  /** Paths and bodies of requests that change something, and of plans, in order. */
  sent: { path: string; body: unknown }[];
  changed: Set<(task: Task, lineage: number) => void>;
}

export function world(count = 60): World {
  const tasks = [agent(), optimizer(), hostile(), chinese(), running(), nothing(), ...many(count)];
  return {
    tasks: new Map(tasks.map((task) => [task.id, task])),
    admin: true,
    readOnly: false,
    tokens: new Set(),
    down: false,
    slow: 0,
    slice: Infinity,
    read: new WeakMap(),
    asked: [],
    sent: [],
    changed: new Set(),
  };
}

export function append(of: World, task: Task, lane: Lane, bodies: Body[]): void {
  for (const body of bodies) {
    const event: Stored = { body, kind: body.kind, time_us: Date.now() * 1000, actor: "agent" };
    lane.events.push(event);
    if (body.kind === "control_changed") task.control = String(body["to"]);
  }
  for (const tell of of.changed) tell(task, lane.id);
}

/** Makes the events of a task from an offset on as much later, in microseconds. */
export function idle(task: Task, from: number, time: number): void {
  const later = new Set(task.lanes.flatMap((lane) => lane.events.slice(from)));
  for (const event of later) event.time_us += time;
}

/** Opens a lineage at an offset of another one. */
export function fork(
  of: World,
  task: Task,
  from: Lane,
  at: number,
  type: string,
  text: string,
): Lane {
  const opened: Stored = {
    body: { kind: "lineage_opened", lineage_type: type, description: text },
    kind: "lineage_opened",
    time_us: Date.now() * 1000,
  };
  const lane: Lane = {
    id: Math.max(...task.lanes.map((one) => one.id)) + 1,
    type,
    description: text || null,
    parent: from.id,
    fork: at,
    events: [...from.events.slice(0, at), opened],
    outcome: {},
  };
  task.lanes.push(lane);
  for (const tell of of.changed) tell(task, lane.id);
  return lane;
}
