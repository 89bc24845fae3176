// Roll back, with its plan: changes of the state, files, and conflicts with a choice each.

import { useState } from "preact/hooks";
import { restore, restorePlan } from "../api/calls.ts";
import type { RestoreAsked } from "../api/calls.ts";
import type { PlannedPath, RestorePlan } from "../api/types.ts";
import { closeDialog, go, me, say } from "../app-state.ts";
import { bytes, count } from "../format.ts";
import { ChangeList } from "../parts/Changes.tsx";
import { Waiting } from "../parts/ui.tsx";
import { after, before } from "../task/selection.ts";
import type { Selection } from "../task/selection.ts";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Dialog, Field, Radios } from "./Dialog.tsx";

type Choices = Record<string, "theirs" | "keep_mine">;

function pathOf(of: PlannedPath | string): string {
  const path = typeof of === "string" ? of : of.path;
  return typeof path === "string" ? path : `base64:${path.base64}`;
}

function Paths({ title, of }: { title: string; of: readonly PlannedPath[] }) {
  if (of.length === 0) return null;
  return (
    <details open={of.length <= 12}>
      <summary>{title}</summary>
      {of.slice(0, 1000).map((one) => (
        <div class="m">
          <Text text={pathOf(one)} />{" "}
          {one.bytes !== undefined && <span class="dim">{bytes(one.bytes)}</span>}
        </div>
      ))}
    </details>
  );
}

interface PlanProps {
  plan: RestorePlan;
  choices: Choices;
  choose: (path: string, choice: "theirs" | "keep_mine") => void;
}

function Plan({ plan, choices, choose }: PlanProps) {
  const w = words.value;
  const { files } = plan;
  const place = (of: RestorePlan["from"]) => `${plan.task}/${of.lineage}@${of.offset}`;
  return (
    <>
      <p>{w.planFrom(place(plan.from), place(plan.to))}</p>
      {plan.changes.length > 0 && (
        <details open>
          <summary>{w.planChanges}</summary>
          <ChangeList items={plan.changes} more={plan.more} />
        </details>
      )}
      {files && (
        <>
          <Paths title={w.planCreates(count(files.creates.length))} of={files.creates} />
          <Paths title={w.planOverwrites(count(files.changes.length))} of={files.changes} />
          <Paths title={w.planDeletes(count(files.deletes.length))} of={files.deletes} />
          {files.conflicts.length > 0 && <h3>{w.planConflicts(count(files.conflicts.length))}</h3>}
          {files.conflicts.map((one) => (
            <Radios
              name={`${pathOf(one)} ${one.text ?? one.why ?? ""}`}
              value={choices[pathOf(one)] ?? ""}
              of={[
                ["keep_mine", w.keepMine],
                ["theirs", w.theirs],
              ]}
              onChange={(choice) => choice && choose(pathOf(one), choice)}
            />
          ))}
        </>
      )}
      {plan.changes.length === 0 && !files && <p class="dim">{w.planNothing}</p>}
    </>
  );
}

export function RollBackDialog({ selection }: { selection: Selection }) {
  const w = words.value;
  const [place, setPlace] = useState<"before" | "after">("before");
  const [scope, setScope] = useState<"state" | "all" | "files">("state");
  const [folder, setFolder] = useState("");
  const [choices, setChoices] = useState<Choices>({});
  const to = place === "before" ? before(selection) : after(selection);
  const needsFolder = scope !== "state";
  const asks: RestoreAsked = needsFolder ? { to, scope, folder: folder.trim() } : { to, scope };
  const key = needsFolder && folder.trim() === "" ? null : JSON.stringify(asks);
  const asked = useAsk(key, (signal) => restorePlan(asks, signal));
  const plan = key === null ? null : asked.value;
  const conflicts = plan?.files?.conflicts ?? [];
  const open = conflicts.filter((one) => choices[pathOf(one)] === undefined);
  const files = plan?.files;
  const touched = files ? files.creates.length + files.changes.length + files.deletes.length : 0;
  const run = async () => {
    const by = (of: string) => Object.keys(choices).filter((path) => choices[path] === of);
    await restore({
      ...asks,
      ...(conflicts.length > 0
        ? { choices: { theirs: by("theirs"), keep_mine: by("keep_mine") } }
        : {}),
    });
    closeDialog();
    say(w.rolledBack(to));
    go({ screen: "task", address: selection.task, tab: "step", pointer: "", view: "" });
  };
  const why = !plan ? "" : open.length > 0 ? w.chooseEach : undefined;
  const admin = me.value?.admin ? undefined : w.adminWhy;
  const name = touched > 0 ? w.doRollBackFiles(count(touched)) : w.doRollBack;
  return (
    <Dialog title={w.rollBackTitle} act={{ name, run, why }}>
      <p>{w.rollBackHow}</p>
      <Radios
        name={w.where}
        value={place}
        of={[
          ["before", w.beforeThis(before(selection))],
          ["after", w.afterThis(after(selection))],
        ]}
        onChange={setPlace}
      />
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
      {needsFolder && (
        <Field name={w.folder}>
          <input value={folder} onChange={(event) => setFolder(event.currentTarget.value)} />
        </Field>
      )}
      {plan ? (
        <Plan
          plan={plan}
          choices={choices}
          choose={(path, choice) => setChoices({ ...choices, [path]: choice })}
        />
      ) : (
        key !== null && <Waiting of={asked} what={to} />
      )}
    </Dialog>
  );
}

type Option<T> = readonly [T, string] | readonly [T, string, string];

function option<T extends string>(value: T, name: string, why: string | undefined): Option<T> {
  return why === undefined ? [value, name] : [value, name, why];
}
