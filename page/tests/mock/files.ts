// Captured folders of the mock: the task `stones` has one, in which each step changes a file.

import type { CapturedFile, FileChange } from "../../src/api/types.ts";
import type { Task } from "./logs.ts";
import { Refused } from "./routes.ts";
import type { At } from "./routes.ts";

function contents(at: At): Map<string, string> {
  if (at.task.id !== "stones") throw new Refused(404, "no capture before this point");
  const steps = at.lane.events.slice(0, at.offset).filter((one) => one.kind === "step_finished");
  const lines = ["# Stones", "", "A heap is counted once.", "", "| heap | stones |", "|---|---|"];
  steps.forEach((_, i) => lines.push(`| ${i} | ${i * 3} |`));
  const files = new Map([
    ["notes/count.md", `${lines.join("\n")}\n`],
    ["raw/heap.bin", "\u0000"],
  ]);
  if (steps.length > 4) files.set("done.txt", "<b>half of it</b>\n");
  return files;
}

function form(path: string, text: string): CapturedFile {
  return { path, kind: "file", mode: "0644", size: text.length, hash: "0".repeat(64) };
}

/** Folders that were captured in the history of a task: one that is there, and one that moved. */
export function foldersOf(task: Task) {
  if (task.id !== "stones") return { items: [], more: false };
  const time = "2026-01-05T09:00:00Z";
  return {
    items: [
      { folder: "/srv/stones", at: "stones/0@42", time, exists: true },
      { folder: "/home/ana/stones", at: "stones/0@10", time, exists: false },
    ],
    more: true,
  };
}

export function filesOf(at: At): { items: CapturedFile[]; next: null } {
  const folder: CapturedFile = { path: "notes", kind: "directory", mode: "0755" };
  return {
    items: [folder, ...[...contents(at)].map(([path, text]) => form(path, text))],
    next: null,
  };
}

export function fileText(at: At, path: string): string {
  const text = contents(at).get(path);
  if (text === undefined) throw new Refused(404, "there is no such file");
  return text;
}

export function fileChangesOf(a: At, b: At): { items: FileChange[]; more: boolean } {
  const [before, after] = [contents(a), contents(b)];
  const items: FileChange[] = [];
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(path), after.get(path)];
    if (was === is) continue;
    items.push({
      change: was === undefined ? "added" : is === undefined ? "removed" : "changed",
      before: was === undefined ? null : form(path, was),
      after: is === undefined ? null : form(path, is),
    });
  }
  return { items, more: false };
}
