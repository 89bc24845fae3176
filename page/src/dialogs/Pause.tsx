// Pause and resume of a run.

import { useState } from "preact/hooks";
import { control as setControl } from "../api/calls.ts";
import { closeDialog, say } from "../app-state.ts";
import { controlWord } from "../parts/ui.tsx";
import { words } from "../words/index.ts";
import { Dialog, Field } from "./Dialog.tsx";

interface PauseProps {
  task: string;
  control: string;
  done: () => void;
}

export function PauseDialog({ task, control, done }: PauseProps) {
  const w = words.value;
  const [reason, setReason] = useState("");
  const pauses = control === "running";
  const run = async () => {
    const now = await setControl(task, pauses ? "paused" : "running", reason.trim());
    closeDialog();
    say(w.controlIs(controlWord(now.control)));
    done();
  };
  return (
    <Dialog
      title={pauses ? w.pauseTitle : w.resumeTitle}
      act={{ name: pauses ? w.doPause : w.doResume, run }}
    >
      <p>{pauses ? w.pauseHow : w.resumeHow}</p>
      <Field name={w.reason}>
        <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </Field>
    </Dialog>
  );
}
