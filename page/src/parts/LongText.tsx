// A text of an event: whole, or its beginning with ways to the rest.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { send } from "../api/link.ts";
import { valueText } from "../api/calls.ts";
import { parse, stringify } from "../api/numbers.ts";
import type { Cut, Json } from "../api/types.ts";
import { say } from "../app-state.ts";
import { bytes } from "../format.ts";
import { Text } from "../text/Text.tsx";
import { toProblem } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { copy } from "./ui.tsx";

/** Characters of a long text that are shown at first. */
const FIRST = 64 * 1024;

/** Most bytes that are shown; larger values can only be saved. */
const SHOWN_LIMIT = 8 * 1024 * 1024;

export function isCut(value: Json | undefined): value is Json & Cut {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return typeof value["cut"] === "string" && typeof value["pointer"] === "string";
}

/** Saves an answer as a file, without showing it. */
export async function save(path: string, name: string, signal?: AbortSignal): Promise<void> {
  const answer = await send(path, { headers: { Accept: "*/*" }, signal });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The same, and tells what went wrong. */
export async function saveAs(path: string, name: string): Promise<void> {
  try {
    await save(path, name);
  } catch (error) {
    say(toProblem(error).message, true);
  }
}

/** Pretty form of a text that is JSON, the text itself otherwise. */
export function prettyText(text: string): string {
  const first = text.trimStart()[0];
  if (text.length > 2_000_000 || (first !== "{" && first !== "[")) return text;
  try {
    return stringify(parse(text), 1);
  } catch {
    return text;
  }
}

export function asText(value: Json): string {
  return typeof value === "string" ? prettyText(value) : stringify(value, 1);
}

interface LongTextProps {
  name: preact.ComponentChildren;
  value: Json;
  /** Path of the whole value, given the pointer of the part that was cut. */
  pathOf: (pointer: string) => string;
  children?: preact.ComponentChildren;
}

export function LongText(props: LongTextProps) {
  const w = words.value;
  const [all, setAll] = useState<string | null>(null);
  const [open, setOpen] = useState(false);
  const cut = all === null && isCut(props.value) ? props.value : null;
  const whole = all !== null ? prettyText(all) : cut ? cut.cut : asText(props.value);
  const long = !cut && !open && whole.length > FIRST;
  const text = long ? whole.slice(0, FIRST) : whole;
  const path = isCut(props.value) ? props.pathOf(props.value.pointer) : "";
  const showAll = async () => {
    try {
      setAll(await valueText(path));
      openAll();
    } catch (error) {
      say(toProblem(error).message, true);
    }
  };
  const size = cut ? bytes(cut.bytes) : "";
  // The button that showed the rest is gone: who reads by keys goes on in the text.
  const box = useRef<HTMLPreElement>(null);
  const asked = useRef(false);
  useLayoutEffect(() => {
    if (!open || !asked.current) return;
    asked.current = false;
    box.current?.focus({ preventScroll: true });
  }, [open]);
  const openAll = () => {
    asked.current = true;
    setOpen(true);
  };
  return (
    <>
      <h3>
        {props.name}
        <span class="gap" />
        {props.children}
        <button type="button" class="link" onClick={() => void copy(whole)}>
          {w.copy}
        </button>
        {text.length > 600 && (
          <button type="button" class="link" onClick={() => setOpen(!open)}>
            {open ? w.fold : w.expand}
          </button>
        )}
      </h3>
      {text === "" ? (
        <div class="dim">{w.emptyText}</div>
      ) : (
        <pre ref={box} tabIndex={0} class={open ? "whole" : ""} role="group">
          <Text text={text} />
        </pre>
      )}
      {long && (
        <div class="warn">
          {w.cutAt(bytes(FIRST), bytes(new Blob([whole]).size))}{" "}
          <button type="button" class="link" onClick={openAll}>
            {w.showAll(bytes(new Blob([whole]).size))}
          </button>
        </div>
      )}
      {cut && (
        <div class="warn">
          {w.cutAt(bytes(new Blob([cut.cut]).size), size)}{" "}
          {cut.bytes <= SHOWN_LIMIT && (
            <button type="button" class="link" onClick={() => void showAll()}>
              {w.showAll(size)}
            </button>
          )}{" "}
          <button type="button" class="link" onClick={() => void saveAs(path, "value.txt")}>
            {w.save(size)}
          </button>
        </div>
      )}
    </>
  );
}
