// Guidance for a run, with the events that it appends.

import { useMemo, useState } from "preact/hooks";
import { append } from "../api/calls.ts";
import type { Json } from "../api/types.ts";
import { closeDialog, say } from "../app-state.ts";
import { randomKey } from "../random.ts";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import { Dialog, Field } from "./Dialog.tsx";
import { eventsOf } from "./Fork.tsx";
import type { Edits } from "./Fork.tsx";

export interface GuideEdits extends Edits {
  rules: string;
  artifacts: string;
}

/** Reads JSON; the reason why it is none names the field. */
function json(name: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Events that edits append. Throws the reason why there are none. */
export function guideEvents(edits: GuideEdits): ReturnType<typeof eventsOf> {
  const w = words.value;
  const { guidance, rules, artifacts, variables } = edits;
  if (variables.trim()) json(w.editVariables, variables);
  const events = eventsOf({ ...edits, guidance: "" });
  if (rules.trim()) {
    events.push({ kind: "rules_changed", body: { rules: json(w.editRules, rules) } });
  }
  if (artifacts.trim()) {
    const given = json(w.editArtifacts, artifacts);
    if (typeof given !== "object" || given === null || Array.isArray(given)) {
      throw new Error(`${w.editArtifacts}: ${w.artifactsByName}`);
    }
    events.push({ kind: "artifacts_edited", body: { artifacts: given } });
  }
  return [...events, ...eventsOf({ prompt: "", variables: "", guidance })];
}

interface Preview {
  events: ReturnType<typeof eventsOf>;
  wrong: string | null;
}

function preview(edits: GuideEdits): Preview {
  try {
    return { events: guideEvents(edits), wrong: null };
  } catch (error) {
    return { events: [], wrong: error instanceof Error ? error.message : String(error) };
  }
}

const NONE: GuideEdits = { prompt: "", variables: "", guidance: "", rules: "", artifacts: "" };

export function GuideDialog({ task }: { task: string }) {
  const w = words.value;
  const key = useMemo(randomKey, []);
  const [edits, setEdits] = useState(NONE);
  const { events, wrong } = preview(edits);
  const run = async () => {
    await append(task, events, key);
    closeDialog();
    say(w.guided);
  };
  const area = (name: keyof GuideEdits, title: string, first = false) => (
    <Field name={title}>
      <textarea
        data-focus={first || undefined}
        rows={name === "guidance" ? 3 : 2}
        value={edits[name]}
        onInput={(event) => setEdits({ ...edits, [name]: event.currentTarget.value })}
      />
    </Field>
  );
  const why = events.length === 0 ? "" : undefined;
  return (
    <Dialog title={w.guideTitle} act={{ name: w.doGuide, run, why }}>
      <p>{w.guideHow}</p>
      {area("guidance", w.guideText, true)}
      {area("prompt", w.editPrompt)}
      {area("variables", w.editVariables)}
      {area("rules", w.editRules)}
      {area("artifacts", w.editArtifacts)}
      <div class="dim">{w.willAppend}</div>
      <pre tabIndex={0} class={wrong === null ? "" : "bad"}>
        <Text text={wrong ?? (events.map((one) => JSON.stringify(one)).join("\n") || w.none)} />
      </pre>
    </Dialog>
  );
}
