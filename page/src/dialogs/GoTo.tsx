// Go to an address, or to an offset of the lineage that is open.

import { useState } from "preact/hooks";
import { formatPoint, parseRoute } from "../address.ts";
import type { View } from "../address.ts";
import { at } from "../api/calls.ts";
import { closeDialog, go } from "../app-state.ts";
import { words } from "../words/index.ts";
import { Dialog, Field } from "./Dialog.tsx";

interface GoToProps {
  lineage: { task: string; id: number } | null;
  /** View of the task's list, which stays. */
  view?: View | "";
}

export function GoToDialog({ lineage, view = "" }: GoToProps) {
  const w = words.value;
  const [text, setText] = useState("");
  const run = async () => {
    const given = text.trim();
    if (given === "") return;
    const fragment = given.indexOf("#/");
    if (fragment >= 0) {
      closeDialog();
      return go(parseRoute(given.slice(fragment)));
    }
    const offset = /^@?(\d{1,15})$/.exec(given)?.[1];
    const known = offset && lineage ? formatPoint(lineage.task, lineage.id, +offset) : null;
    const point = known === null && given.includes("@") ? await at(given) : null;
    const address = known ?? point?.address ?? given;
    closeDialog();
    go({ screen: "task", address, tab: "step", pointer: "", view });
  };
  return (
    <Dialog title={w.keyGoTo} act={{ name: w.open, run }}>
      <Field name={w.goToHow}>
        <input
          data-focus
          value={text}
          spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.isComposing) return;
            event.preventDefault();
            const dialog = event.currentTarget.closest("dialog");
            dialog?.querySelector<HTMLButtonElement>(".foot .main")?.click();
          }}
        />
      </Field>
    </Dialog>
  );
}
