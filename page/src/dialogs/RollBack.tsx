// Roll back, with its plan: changes of the state, files, and conflicts with a choice each.

import { useState } from "preact/hooks";
import { restore, restorePlan } from "../api/calls.ts";
import type { RestoreRequest } from "../api/calls.ts";
import { closeDialog, go, me, say } from "../app-state.ts";
import { count } from "../format.ts";
import { Waiting } from "../parts/ui.tsx";
import { after, before } from "../task/selection.ts";
import type { Selection } from "../task/selection.ts";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Dialog, Radios } from "./Dialog.tsx";
import { FolderField, noteFolder, usedFolder } from "./FolderField.tsx";
import { Plan, useDecisions } from "./plan.tsx";

interface RollBackProps {
  selection: Selection;
  /** The point, as of a checkpoint. Otherwise the user chooses before or after the selection. */
  at?: string;
}

export function RollBackDialog({ selection, at }: RollBackProps) {
  const w = words.value;
  const [place, setPlace] = useState<"before" | "after">("before");
  const [scope, setScope] = useState<"state" | "all" | "files">("state");
  const [typed, setFolder] = useState(() => usedFolder(selection.task));
  const to = at ?? (place === "before" ? before(selection) : after(selection));
  const folder = typed.trim();
  const needsFolder = scope !== "state";
  const asks: RestoreRequest = needsFolder ? { to, scope, folder } : { to, scope };
  const key = needsFolder && folder === "" ? null : JSON.stringify(asks);
  const asked = useAsk(key, (signal) => restorePlan(asks, signal));
  const plan = key === null ? null : asked.value;
  const decided = useDecisions(key ?? "", plan);
  const { choices, files } = decided;
  const why = key === null ? w.folderNeeded : decided.why;
  const run = async () => {
    await restore({ ...asks, ...(choices ? { choices } : {}) });
    if (needsFolder) noteFolder(selection.task, folder);
    closeDialog();
    say(w.rolledBack(to));
    go({ screen: "task", address: selection.task, tab: "step", pointer: "", view: "" });
  };
  const admin = me.value?.admin ? undefined : w.adminWhy;
  const name = files > 0 ? w.doRollBackFiles(count(files)) : w.doRollBack;
  return (
    <Dialog title={w.rollBackTitle} act={{ name, run, why }}>
      <p>{w.rollBackHow}</p>
      {at === undefined && (
        <Radios
          name={w.where}
          value={place}
          of={[
            ["before", w.beforeThis(before(selection))],
            ["after", w.afterThis(after(selection))],
          ]}
          onChange={setPlace}
        />
      )}
      <Radios
        name={w.scope}
        value={scope}
        of={[
          ["state", w.scopeState],
          option("all", w.scopeAll, admin),
          option("files", w.scopeFiles, admin),
        ]}
        onChange={setScope}
      />
      {needsFolder && <FolderField task={selection.task} value={typed} onChange={setFolder} />}
      {plan ? <Plan plan={plan} of={decided} /> : key && <Waiting of={asked} what={to} />}
    </Dialog>
  );
}

type Option<T> = readonly [T, string] | readonly [T, string, string];

function option<T extends string>(value: T, name: string, why: string | undefined): Option<T> {
  return why === undefined ? [value, name] : [value, name, why];
}
