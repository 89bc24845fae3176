// Mark of a checkpoint, and pin of one.

import { useState } from "preact/hooks";
import { mark, pin, rows } from "../api/calls.ts";
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
    const place = { lineage: selection.lineage, at: String(selection.next) };
    await mark(selection.task, label.trim() ? { ...place, label: label.trim() } : place);
    closeDialog();
    say(w.marked);
  };
  return (
    <Dialog title={w.markTitle} act={{ name: w.doMark, run }}>
      <p>{w.markHow(after(selection))}</p>
      <Field name={w.label}>
        <input
          data-focus
          value={label}
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </Field>
    </Dialog>
  );
}

/** Finds the id of the mark within the chosen step, or directly after it. */
async function markOf(of: Selection): Promise<string | undefined> {
  const asked = { lineage: of.lineage, from: of.first, to: of.next + 1, limit: 5000 };
  const page = await rows(of.task, asked).catch(() => rows(of.task, { ...asked, to: of.next }));
  return page.items.findLast((row) => row.mark?.id)?.mark?.id;
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
