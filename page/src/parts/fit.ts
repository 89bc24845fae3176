// Fitting of the head of a screen: what does not fit is hidden, and is in the list of actions (`.`).

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Act } from "../keys.ts";

export interface Control {
  /** Act of a button: the list of actions has it anyway. */
  act?: Act;
  draw: () => ComponentChildren;
}

/** Controls of the head that are hidden and that the list of actions would not have otherwise. */
export const hiddenControls = signal<readonly Control[]>([]);

/** Hides what has `data-gives`, lowest number first, until the others fit. */
function fit(head: HTMLElement): void {
  const giving = [...head.querySelectorAll<HTMLElement>("[data-gives]")];
  giving.sort((a, b) => Number(a.dataset["gives"]) - Number(b.dataset["gives"]));
  for (const one of giving) one.hidden = false;
  // Names and fields have the room that they want, not the least that they can do with.
  head.classList.add("measured");
  for (const one of giving) {
    if (head.scrollWidth <= head.clientWidth) break;
    one.hidden = true;
  }
  head.classList.remove("measured");
}

/** Fits a head whenever its width or what is in it changes. */
export function useFit(controls: readonly Control[]) {
  const head = useRef<HTMLElement>(null);
  const latest = useRef(controls);
  latest.current = controls;
  const tell = () => {
    hiddenControls.value = latest.current.filter((one, i) => {
      if (one.act) return false;
      return head.current?.querySelector<HTMLElement>(`[data-control="${i}"]`)?.hidden === true;
    });
  };
  useLayoutEffect(tell);
  useLayoutEffect(() => {
    const element = head.current!;
    const again = () => {
      fit(element);
      tell();
    };
    const size = new ResizeObserver(again);
    size.observe(element);
    const content = new MutationObserver(again);
    content.observe(element, { childList: true, characterData: true, subtree: true });
    again();
    return () => {
      size.disconnect();
      content.disconnect();
      hiddenControls.value = [];
    };
  }, []);
  return head;
}
