// Requests of the mock that change something.

import type { Body, Lane, Task } from "./logs.ts";
import { diff, laneOf, lineageForm, pointForm, pointOf, Refused, taskOf } from "./routes.ts";
import type { At } from "./routes.ts";
import { append, fork } from "./world.ts";
import type { World } from "./world.ts";

interface Answer {
  status: number;
  value: unknown;
}

interface Given {
  to?: string;
  folder?: string;
  description?: string;
  lineage?: number;
  scope?: string;
  label?: string;
  at?: number;
}

function lines(text: string): Body[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { kind: string; body: object })
    .map(({ kind, body }) => ({ kind, ...body }));
}

function plan(world: World, given: Given) {
  return planOf(world, pointOf(world, given.to ?? ""), given);
}

/** Plan of an undo: the files are in it if the body names the folder. */
function undoPlan(world: World, task: Task, lane: Lane, given: Given) {
  if (lane.parent === null) throw new Refused(400, "there is no restore to undo");
  if (lane.withFiles && !world.admin) {
    throw new Refused(403, "an undo that takes files back is for admins");
  }
  if (given.folder && !lane.withFiles) throw new Refused(400, "an undo leaves files as they are");
  const to = pointOf(world, `${task.id}/${lane.parent}`);
  const { files, ...plan } = planOf(world, to, {
    ...given,
    scope: lane.withFiles ? "all" : "state",
  });
  return given.folder ? { ...plan, files } : plan;
}

/** Conflicts of a folder: two of the names are those of folders that have one as a whole. */
function conflictsOf(folder = "") {
  if (folder.endsWith("/moved")) {
    return [{ path: null, why: "other_folder", text: "the snapshot is of another folder" }];
  }
  if (folder.endsWith("/locked")) {
    return [{ path: null, why: "locked", text: "another process holds the folder" }];
  }
  return [{ path: "notes/today.md", why: "changed", text: "changed by others" }];
}

function planOf(world: World, to: At, given: Given) {
  const from = pointOf(world, to.task.id);
  const files = {
    creates: [],
    changes: [
      { path: "notes/plan.md", kind: "file", bytes: 5120 },
      { path: "src/loans.txt", kind: "file", bytes: 220 },
    ],
    deletes: [{ path: "draft.txt", kind: "file" }],
    modes: [],
    conflicts: conflictsOf(given.folder),
    notes: [],
    bytes: 5340,
    needs: 5340,
    free: 1_073_741_824,
  };
  return {
    task: to.task.id,
    scope: given.scope ?? "state",
    from: { ...pointForm(from) },
    to: { ...pointForm(to) },
    changes: given.scope === "files" ? [] : diff(from, to),
    more: false,
    ...(given.scope && given.scope !== "state" ? { files } : {}),
  };
}

function activate(task: Task, lineage: number, world: World): Answer {
  const lane = laneOf(task, String(lineage));
  task.active = lineage;
  for (const tell of world.changed) tell(task, lineage);
  return { status: 200, value: { task: task.id, lineage: lineageForm(task, lane) } };
}

export function act(world: World, method: string, url: URL, text: string): Answer {
  if (world.readOnly && !url.pathname.endsWith("/plan")) throw new Refused(403, "read-only");
  const [, of, name = "", rest = "", last] = url.pathname.split("/").slice(1).map(decodeURIComponent);
  const isLines = text.includes("\n") || rest === "events";
  const given = (isLines || text === "" ? {} : JSON.parse(text)) as Given;
  world.sent.push({ path: url.pathname, body: given });
  if (of === "restores") {
    if (name === "plan") return { status: 200, value: plan(world, given) };
    const at = pointOf(world, given.to ?? "");
    const lane = fork(world, at.task, at.lane, at.offset, "restore", given.description ?? "");
    lane.withFiles = given.folder !== undefined;
    const done = activate(at.task, lane.id, world);
    return { ...done, status: 201 };
  }
  if (of === "points") {
    const at = pointOf(world, name);
    const description = given.description ?? url.searchParams.get("description") ?? "";
    const lane = fork(world, at.task, at.lane, at.offset, "branch", description);
    if (rest === "events") append(world, at.task, lane, lines(text));
    const form = lineageForm(at.task, lane);
    return { status: 201, value: rest === "events" ? { lineage: form } : form };
  }
  if (of === "verify") return { status: 200, value: { ok: true, faults: [], tasks: 2 } };
  const task = taskOf(world, name);
  const lane = laneOf(task, null);
  switch (`${method} ${rest}`) {
    case "POST undo":
      if (last === "plan") return { status: 200, value: undoPlan(world, task, lane, given) };
      return activate(task, lane.parent ?? 0, world);
    case "PUT active":
      return activate(task, given.lineage ?? 0, world);
    case "POST control": {
      const body = { kind: "control_changed", from: task.control, to: given.to };
      append(world, task, lane, [body]);
      return { status: 200, value: { control: given.to } };
    }
    case "POST events": {
      const first = lane.events.length;
      append(world, task, lane, lines(text));
      return { status: 201, value: { first, next: lane.events.length } };
    }
    case "POST checkpoints": {
      const body = { kind: "checkpoint_marked", label: given.label, status: "success" };
      append(world, task, lane, [{ ...body, cause: "manual" }]);
      return { status: 201, value: { id: "0".repeat(64) } };
    }
    default:
      throw new Refused(404, "there is nothing at this path");
  }
}
