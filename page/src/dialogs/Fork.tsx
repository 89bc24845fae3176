// Fork: a lineage beside the active one, with edits as its first events.

import { useState } from "preact/hooks";
import { activate, branch, branchWith } from "../api/calls.ts";
import type { Json } from "../api/types.ts";
import { closeDialog, go, say } from "../app-state.ts";
import { Copy } from "../parts/ui.tsx";
import { toProblem } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { after, before } from "../task/selection.ts";
import type { Selection } from "../task/selection.ts";
import { Dialog, Field, Radios } from "./Dialog.tsx";

export interface Edits {
  prompt: string;
  variables: string;
  guidance: string;
}

/** Events that edits append, or the reason why the variables are not JSON. */
export function eventsOf(edits: Edits): { kind: string; body: { [name: string]: Json } }[] {
  const events: { kind: string; body: { [name: string]: Json } }[] = [];
  if (edits.prompt.trim()) events.push({ kind: "prompt_changed", body: { prompt: edits.prompt } });
  if (edits.variables.trim()) {
    const patch = JSON.parse(edits.variables) as Json;
    events.push({ kind: "variables_patched", body: { form: "merge", patch } });
  }
  if (edits.guidance.trim())
    events.push({ kind: "guidance_given", body: { text: edits.guidance } });
  return events;
}

function preview(edits: Edits): { text: string; wrong: boolean } {
  try {
    const events = eventsOf(edits);
    const lines = events.map((one) => JSON.stringify(one)).join("\n");
    return { text: lines || words.value.nothingAppended, wrong: false };
  } catch (error) {
    return { text: String(error), wrong: true };
  }
}

function Done({ task, lineage }: { task: string; lineage: number }) {
  const w = words.value;
  const address = `${task}/${lineage}`;
  const open = () => {
    closeDialog();
    go({ screen: "task", address, tab: "step", pointer: "", view: "" });
  };
  const take = async () => {
    try {
      await activate(task, lineage);
      say(w.undone(address));
      open();
    } catch (error) {
      say(toProblem(error).message, true);
    }
  };
  return (
    <Dialog title={w.forkTitle}>
      <p>{w.forkDone(address)}</p>
      <p class="dim">{w.forkTake}</p>
      <pre tabIndex={0}>{address}</pre>
      <div class="buttons">
        <Copy text={address} />
        <button type="button" onClick={open} data-focus>
          {w.openIt}
        </button>
        <button type="button" onClick={() => void take()}>
          {w.makeActive}
        </button>
      </div>
    </Dialog>
  );
}

export function ForkDialog({ selection }: { selection: Selection }) {
  const w = words.value;
  const [place, setPlace] = useState<"before" | "after">("before");
  const [description, setDescription] = useState("");
  const [edits, setEdits] = useState<Edits>({ prompt: "", variables: "", guidance: "" });
  const [done, setDone] = useState<number | null>(null);
  if (done !== null) return <Done task={selection.task} lineage={done} />;
  const at = place === "before" ? before(selection) : after(selection);
  const run = async () => {
    const events = eventsOf(edits);
    const made =
      events.length === 0
        ? await branch(at, description)
        : (await branchWith(at, description, events)).lineage;
    setDone(typeof made === "number" ? made : made.id);
  };
  const shown = preview(edits);
  const area = (name: keyof Edits, title: string) => (
    <Field name={title}>
      <textarea
        value={edits[name]}
        rows={2}
        onInput={(event) => setEdits({ ...edits, [name]: event.currentTarget.value })}
      />
    </Field>
  );
  return (
    <Dialog title={w.forkTitle} act={{ name: w.doFork, run }}>
      <p>{w.forkHow(at)}</p>
      <Radios
        name={w.where}
        value={place}
        of={[
          ["before", w.beforeThis(before(selection))],
          ["after", w.afterThis(after(selection))],
        ]}
        onChange={setPlace}
      />
      <Field name={w.description}>
        <input value={description} onInput={(event) => setDescription(event.currentTarget.value)} />
      </Field>
      <h3>{w.edits}</h3>
      {area("prompt", w.editPrompt)}
      {area("variables", w.editVariables)}
      {area("guidance", w.editGuidance)}
      <div class="dim">{w.willAppend}</div>
      <pre tabIndex={0} class={shown.wrong ? "bad" : ""}>
        {shown.text}
      </pre>
    </Dialog>
  );
}
