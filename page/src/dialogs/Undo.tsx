// Undo of the last restore or switch, with its plan.

import { useState } from "preact/hooks";
import { undo, undoPlan } from "../api/calls.ts";
import type { Lineage } from "../api/types.ts";
import { closeDialog, go, say } from "../app-state.ts";
import { count } from "../format.ts";
import { Waiting } from "../parts/ui.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Dialog } from "./Dialog.tsx";
import { FolderField, usedFolder } from "./FolderField.tsx";
import { Plan, useDecisions } from "./plan.tsx";

export function whyNoUndo(lineages: readonly Lineage[]): string | undefined {
  return lineages.length > 1 ? undefined : words.value.noUndo;
}

export function UndoDialog({ task, lineages }: { task: string; lineages: readonly Lineage[] }) {
  const w = words.value;
  const [typed, setFolder] = useState(() => usedFolder(task));
  const folder = typed.trim();
  const active = lineages.find((one) => one.active);
  const name = (id: number | undefined) => (id === undefined ? task : `${task}/${id}`);
  const ofState = useAsk(task, (signal) => undoPlan(task, {}, signal));
  // Only an undo of a restore with files asks for a folder.
  const takesFiles = ofState.value?.scope === "all";
  const key = takesFiles && folder !== "" ? folder : null;
  const ofFiles = useAsk(key, (signal) => undoPlan(task, { folder }, signal));
  const asked = takesFiles ? ofFiles : ofState;
  const plan = takesFiles && key === null ? null : asked.value;
  const decided = useDecisions(folder, plan);
  const { choices, files } = decided;
  const run = async () => {
    const withFiles = choices ? { folder, choices } : { folder };
    const done = await undo(task, takesFiles ? withFiles : {});
    closeDialog();
    say(w.undone(name(done.lineage.id)));
    go({ screen: "task", address: task, tab: "step", pointer: "", view: "" });
  };
  const why = takesFiles && key === null ? w.folderNeeded : decided.why;
  const act = { name: files > 0 ? w.doUndoFiles(count(files)) : w.doUndo, run, why };
  return (
    <Dialog title={w.undoTitle} act={act}>
      <p>{w.undoHow(name(active?.id))}</p>
      {takesFiles && (
        <>
          <p>{w.undoFiles}</p>
          <FolderField task={task} value={typed} onChange={setFolder} />
        </>
      )}
      {plan ? (
        <Plan plan={plan} of={decided} short={!takesFiles} />
      ) : (
        (!takesFiles || key) && <Waiting of={asked} what={task} />
      )}
    </Dialog>
  );
}
