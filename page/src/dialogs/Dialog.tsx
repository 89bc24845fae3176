// Frame of a dialog: title, body, buttons. The first button is the safe answer and has the focus.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { changed, closeDialog, isShare, me } from "../app-state.ts";
import { useActs } from "../keyboard.ts";
import { toProblem } from "../use-ask.ts";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";

interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** The action; without it the dialog only closes. */
  act?: { name: string; run: () => Promise<void>; why?: string | undefined };
  close?: string;
}

/** Returns the reason why nothing may be changed, or undefined. */
export function whyReadOnly(): string | undefined {
  if (isShare()) return words.value.shareWhy;
  return me.value?.read_only ? words.value.readOnlyWhy : undefined;
}

export function Dialog(props: DialogProps) {
  const w = words.value;
  const element = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  useActs({}, true);
  // Before the next key arrives, so that typing on reaches the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const box = element.current!;
    box.showModal();
    const first = box.querySelector<HTMLElement>("[data-focus]");
    (first ?? box.querySelector<HTMLElement>("[data-safe]"))?.focus();
    return () => {
      box.close();
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  const run = async () => {
    if (!props.act || busy || props.act.why) return;
    setBusy(true);
    setWrong("");
    try {
      await props.act.run();
      changed.value += 1;
    } catch (error) {
      const problem = toProblem(error);
      setWrong(problem.detail || problem.title || w.noAnswer);
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog
      ref={element}
      aria-labelledby={title}
      onCancel={(event) => {
        event.preventDefault();
        closeDialog();
      }}
      onClick={(event) => event.target === element.current && closeDialog()}
    >
      <h2 id={title}>{props.title}</h2>
      <div class="body" tabIndex={0} role="region" aria-labelledby={title}>
        {props.children}
        {wrong && (
          <p class="bad" role="alert">
            <Text text={wrong} />
          </p>
        )}
        {props.act?.why && <p class="warn">{props.act.why}</p>}
      </div>
      <div class="foot">
        <button type="button" data-safe onClick={closeDialog}>
          {props.close ?? (props.act ? w.cancel : w.close)}
        </button>
        {props.act && (
          <button
            type="button"
            class="main"
            disabled={busy || props.act.why !== undefined}
            onClick={() => void run()}
          >
            {props.act.name}
          </button>
        )}
      </div>
    </dialog>
  );
}

export function Field(props: { name: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{props.name}</span>
      {props.children}
    </label>
  );
}

interface RadiosProps<T extends string> {
  name: ComponentChildren;
  value: T;
  of: readonly (readonly [value: T, name: string, why?: string])[];
  onChange: (value: T) => void;
}

export function Radios<T extends string>(props: RadiosProps<T>) {
  const group = useId();
  return (
    <fieldset class="field">
      <legend>{props.name}</legend>
      {props.of.map(([value, name, why]) => (
        <label>
          <input
            type="radio"
            name={group}
            checked={value === props.value}
            disabled={why !== undefined}
            onChange={() => props.onChange(value)}
          />
          {name}
          {why && <span class="dim">{why}</span>}
        </label>
      ))}
    </fieldset>
  );
}
