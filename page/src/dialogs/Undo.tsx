// Undo of the last restore or switch.

import { undo } from "../api/calls.ts";
import type { Lineage } from "../api/types.ts";
import { closeDialog, go, say } from "../app-state.ts";
import { words } from "../words/index.ts";
import { Dialog } from "./Dialog.tsx";

export function whyNoUndo(lineages: readonly Lineage[]): string | undefined {
  return lineages.length > 1 ? undefined : words.value.noUndo;
}

export function UndoDialog({ task, lineages }: { task: string; lineages: readonly Lineage[] }) {
  const w = words.value;
  const active = lineages.find((one) => one.active);
  const name = (id: number | undefined) => (id === undefined ? task : `${task}/${id}`);
  const run = async () => {
    const done = await undo(task);
    closeDialog();
    say(w.undone(name(done.lineage.id)));
    go({ screen: "task", address: task, tab: "step", pointer: "", view: "" });
  };
  return (
    <Dialog title={w.undoTitle} act={{ name: w.doUndo, run }}>
      <p>{w.undoHow(name(active?.id))}</p>
    </Dialog>
  );
}
