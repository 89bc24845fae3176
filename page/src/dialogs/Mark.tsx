// Mark of a checkpoint, and pin of one.

import { useState } from "preact/hooks";
import { checkpoints, mark, pin } from "../api/calls.ts";
import type { Checkpoint, Page } from "../api/types.ts";
import { closeDialog, say } from "../app-state.ts";
import { Problem } from "../api/problem.ts";
import { after } from "../task/selection.ts";
import type { Selection } from "../task/selection.ts";
import { words } from "../words/index.ts";
import { Dialog, Field } from "./Dialog.tsx";

export function MarkDialog({ selection }: { selection: Selection }) {
  const w = words.value;
  const [label, setLabel] = useState("");
  const run = async () => {
    const place = { lineage: selection.lineage, at: selection.next };
    await mark(selection.task, label.trim() ? { ...place, label: label.trim() } : place);
    closeDialog();
    say(w.marked);
  };
  return (
    <Dialog title={w.markTitle} act={{ name: w.doMark, run }}>
      <p>{w.markHow(after(selection))}</p>
      <Field name={w.label}>
        <input data-focus value={label} onInput={(event) => setLabel(event.currentTarget.value)} />
      </Field>
    </Dialog>
  );
}

/** Finds the id of the mark within the chosen step, or directly after it. */
async function markOf(of: Selection): Promise<string | undefined> {
  let cursor: string | null = null;
  do {
    const page: Page<Checkpoint> = await checkpoints(of.task, of.lineage, cursor);
    const inStep = (one: Checkpoint) => one.mark >= of.first && one.mark <= of.next;
    const found = page.items.find(inStep);
    if (found) return found.id;
    if (page.items.some((one) => one.mark < of.first)) return undefined;
    cursor = page.next ?? null;
  } while (cursor !== null);
  return undefined;
}

export function PinDialog({ selection }: { selection: Selection }) {
  const w = words.value;
  const [reason, setReason] = useState("");
  const run = async () => {
    const id = await markOf(selection);
    if (!id) throw new Problem(404, { title: w.noMark, detail: w.noMark });
    await pin(id, reason.trim());
    closeDialog();
    say(w.pinned);
  };
  return (
    <Dialog title={w.pinTitle} act={{ name: w.doPin, run }}>
      <p>{w.pinHow}</p>
      <Field name={w.reason}>
        <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </Field>
    </Dialog>
  );
}
