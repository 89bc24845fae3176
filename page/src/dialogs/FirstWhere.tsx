// Search for the first event after which a condition holds.

import { useState } from "preact/hooks";
import { bisect } from "../api/calls.ts";
import { stringify } from "../api/numbers.ts";
import type { Bisected, Json } from "../api/types.ts";
import { closeDialog, go } from "../app-state.ts";
import { count } from "../format.ts";
import { ChangeList } from "../parts/Changes.tsx";
import { words } from "../words/index.ts";
import { Dialog, Field } from "./Dialog.tsx";

/** Writes the condition that a value of the state suggests. */
export function whenOf(pointer: string, value?: Json): string {
  if (pointer === "") return "";
  const plain = /^[^\s\u0000-\u001f()=!<>"]+$/.test(pointer);
  const name = plain ? pointer : JSON.stringify(pointer);
  if (value === undefined) return `exists ${name}`;
  if (typeof value === "object" && value !== null) return `exists ${name}`;
  return `${name} == ${stringify(value)}`;
}

function Found({ found }: { found: Bisected }) {
  const w = words.value;
  const open = () => {
    closeDialog();
    go({ screen: "task", address: found.found, tab: "changes", pointer: "", view: "" });
  };
  return (
    <>
      <p role="status">
        <b>{w.whenFound(found.found)}</b>{" "}
        <span class="dim">
          {found.event.kind}
          {found.step != null && ` · ${w.stepN(String(found.step))}`} ·{" "}
          {w.whenStates(count(found.states))}
        </span>{" "}
        {found.until != null && <span>{w.whenUntil(found.until)} </span>}
        <button type="button" onClick={open}>
          {w.openThere}
        </button>
      </p>
      <ChangeList items={found.changes.items} more={found.changes.more} />
    </>
  );
}

export function FirstWhereDialog({ at, when: given }: { at: string; when: string }) {
  const w = words.value;
  const [when, setWhen] = useState(given);
  const [good, setGood] = useState("");
  const [found, setFound] = useState<Bisected | null>(null);
  const run = async () => {
    setFound(null);
    setFound(await bisect(at, when.trim(), good.trim()));
  };
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    const dialog = event.currentTarget.closest("dialog");
    dialog?.querySelector<HTMLButtonElement>(".foot .main")?.click();
  };
  const why = when.trim() === "" ? "" : undefined;
  return (
    <Dialog title={w.buttonFirstWhere} act={{ name: w.doSearch, run, why }} close={w.close}>
      <p>{w.whenAt(at)}</p>
      <Field name={w.when}>
        <input
          data-focus
          class="m"
          value={when}
          spellcheck={false}
          aria-describedby="when-how"
          onInput={(event) => setWhen(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </Field>
      <p class="dim" id="when-how">
        {w.whenHow}
      </p>
      <Field name={w.whenGood}>
        <input
          class="m"
          value={good}
          spellcheck={false}
          onInput={(event) => setGood(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </Field>
      {found && <Found found={found} />}
    </Dialog>
  );
}
