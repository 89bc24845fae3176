// Dispatch of keys to the handlers of the screen and of open dialogs.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { keep, kept } from "./kept.ts";
import { actOf } from "./keys.ts";
import type { Act } from "./keys.ts";

export interface Action {
  run: () => void;
  /** Reason why the action is not possible now. It is shown, and the key does nothing. */
  why?: string | undefined;
  /** Name in the list of actions, if the key's own does not fit. */
  name?: string | undefined;
}

export type Acts = { [act in Act]?: Action | (() => void) | undefined };

interface Layer {
  acts: Acts;
  /** Whether the layers below get no keys. */
  modal: boolean;
}

const layers: Layer[] = [];

/** Grows when handlers come or go, so that buttons of actions are drawn again. */
const layersChanged = signal(0);

export const keysEnabled = signal(kept("milepost.keys") !== "off");

export function enableKeys(on: boolean): void {
  keysEnabled.value = on;
  keep("milepost.keys", on ? "on" : "off");
}

/** Called with the reason if a key's action is not possible. */
let tell: (why: string) => void = () => {};

export function onRefusedKey(handler: (why: string) => void): void {
  tell = handler;
}

export function actionOf(act: Act): Action | undefined {
  void layersChanged.value;
  for (let i = layers.length - 1; i >= 0; i--) {
    const found = layers[i]!.acts[act];
    if (found) return typeof found === "function" ? { run: found } : found;
    if (layers[i]!.modal) return undefined;
  }
  return undefined;
}

/** Returns the action of the screen below open dialogs. */
export function screenAction(act: Act): Action | undefined {
  void layersChanged.value;
  for (const layer of [...layers].reverse()) {
    const found = layer.modal ? undefined : layer.acts[act];
    if (found) return typeof found === "function" ? { run: found } : found;
  }
  return undefined;
}

/** Gives keys to a component while it is shown. */
export function useActs(acts: Acts, modal = false): void {
  const layer = useRef<Layer>({ acts, modal });
  layer.current.acts = acts;
  layer.current.modal = modal;
  useLayoutEffect(() => {
    const own = layer.current;
    layers.push(own);
    layersChanged.value += 1;
    return () => {
      layers.splice(layers.indexOf(own), 1);
      layersChanged.value += 1;
    };
  }, []);
}

function types(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) {
    return !["checkbox", "radio", "button"].includes(target.type);
  }
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Keys that a focused control uses itself. */
function usedByControl(key: string, target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const arrow = key.startsWith("Arrow") || key === "Home" || key === "End";
  if (key === "Enter") return target.closest("button, a, summary, input") !== null;
  if (!arrow) return false;
  const own = "[role=tab], [role=separator], [role=slider], input[type=radio], [data-arrows]";
  return target.closest(own) !== null;
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const plain = event.key === "Escape";
  if (!plain && (types(event.target) || usedByControl(event.key, event.target))) return;
  const letter = event.key.length === 1;
  if (letter && !keysEnabled.value) return;
  const act = actOf(event.key);
  const action = act && actionOf(act);
  if (!action) return;
  event.preventDefault();
  if (action.why) tell(action.why);
  else action.run();
}

export function listenToKeys(): void {
  document.addEventListener("keydown", onKey);
}
