// Guidance for a run, with the events that it appends.

import { useMemo, useState } from "preact/hooks";
import { append } from "../api/calls.ts";
import { closeDialog, say } from "../app-state.ts";
import { randomKey } from "../random.ts";
import { words } from "../words/index.ts";
import { Dialog, Field } from "./Dialog.tsx";
import { eventsOf } from "./Fork.tsx";
import type { Edits } from "./Fork.tsx";

export function GuideDialog({ task }: { task: string }) {
  const w = words.value;
  const key = useMemo(randomKey, []);
  const [edits, setEdits] = useState<Edits>({ prompt: "", variables: "", guidance: "" });
  let text = "";
  let wrong = false;
  try {
    text = eventsOf(edits)
      .map((one) => JSON.stringify(one))
      .join("\n");
  } catch (error) {
    text = String(error);
    wrong = true;
  }
  const run = async () => {
    await append(task, eventsOf(edits), key);
    closeDialog();
    say(w.guided);
  };
  const area = (name: keyof Edits, title: string, first = false) => (
    <Field name={title}>
      <textarea
        data-focus={first || undefined}
        rows={name === "guidance" ? 3 : 2}
        value={edits[name]}
        onInput={(event) => setEdits({ ...edits, [name]: event.currentTarget.value })}
      />
    </Field>
  );
  const why = text === "" || wrong ? "" : undefined;
  return (
    <Dialog title={w.guideTitle} act={{ name: w.doGuide, run, why }}>
      <p>{w.guideHow}</p>
      {area("guidance", w.guideText, true)}
      {area("prompt", w.editPrompt)}
      {area("variables", w.editVariables)}
      <div class="dim">{w.willAppend}</div>
      <pre tabIndex={0} class={wrong ? "bad" : ""}>
        {text || w.none}
      </pre>
    </Dialog>
  );
}
