// Verification of the export, in a worker: pieces are unpacked one after the other.

import { signal } from "@preact/signals";
import script from "worker-text";
import { revived } from "../api/link.ts";
import { toProblem } from "../use-ask.ts";
import { words } from "../words/index.ts";
import type { ShareFile } from "./file.ts";
import type { Verdict } from "./verify/verifier.ts";
import type { ToVerify, Verified } from "./verify/worker.ts";

export type Verification =
  | { state: "waiting" }
  | { state: "running"; events: number }
  | { state: "failed"; why: string }
  | { state: "done"; verdict: Verdict };

export const verification = signal<Verification>({ state: "waiting" });

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
}

/**
 * Starts a worker. The policy of the file allows one script element and workers of `blob:`, so the
 * script of the worker is a text within the viewer.
 */
function startWorker(): Worker {
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy("worker", { createScriptURL: (own) => own });
  return new Worker(policy?.createScriptURL(url) ?? url);
}

/** Sends a message, and waits for the answer. */
function exchange(worker: Worker, message: ToVerify): Promise<Verified> {
  return new Promise((done, failed) => {
    worker.onmessage = ({ data }: MessageEvent<Verified>) => done(data);
    worker.onerror = (event) => failed(new Error(event.message || "worker"));
    worker.postMessage(message);
  });
}

/** Returns the hashes that a worker computed. */
function hashesOf(worker: Worker): ShareFile["hashAt"] {
  let last: Promise<unknown> = Promise.resolve();
  return async (lineage, offset) => {
    // One message at a time: an answer has no number.
    const found = last.then(() => exchange(worker, { lineage, offset }));
    last = found;
    const answer = await found;
    return "hash" in answer ? answer.hash : "";
  };
}

/** Verifies the export. The worker answers each part, so that only one is in memory. */
export async function verify(file: ShareFile): Promise<void> {
  let worker: Worker | undefined;
  verification.value = { state: "running", events: 0 };
  try {
    worker = startWorker();
    for (let piece = 0; piece < file.contents.pieces.length; piece++) {
      const lines = (await file.exportText(piece)).split("\n");
      // Each line ends with a line end, so the last one is empty.
      if (lines.at(-1) === "") lines.pop();
      const answer = await exchange(worker, { lines });
      if ("progress" in answer) verification.value = { state: "running", events: answer.events };
    }
    const answer = await exchange(worker, { end: true });
    if (!("verdict" in answer)) throw new Error("no verdict");
    file.hashAt = hashesOf(worker);
    const { verdict } = answer;
    const { task, user, active } = file.contents;
    // What the heading says is of the contents, which no hash covers.
    [task, user, String(active)].forEach((said, i) => {
      if (said !== verdict.task[i]) verdict.faults.push({ line: 1, what: words.value.checkContents });
    });
    verification.value = { state: "done", verdict };
    // What is shown is asked for again, now with its hash.
    revived.value += 1;
  } catch (error) {
    worker?.terminate();
    verification.value = { state: "failed", why: toProblem(error).detail };
  }
}
