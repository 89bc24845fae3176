// Signals that all screens share: the route, the caller, dialogs, and what is told aloud.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { formatRoute, parseRoute } from "./address.ts";
import type { Route } from "./address.ts";
import type { Me } from "./api/types.ts";

export const route = signal<Route>(parseRoute(location.hash));
export const me = signal<Me | null>(null);

/** Whether this is the copy of a task in a file, in which nothing can be changed. */
export const isShare = () => me.value?.reason === "share";

/** Line below the head of each screen. */
export const banner = signal<(() => ComponentChildren) | null>(null);

/** Goes to a screen. With `replace` the browser's history gets no entry. */
export function go(to: Route, replace = false): void {
  const fragment = formatRoute(to);
  if (fragment === location.hash) return;
  if (replace) history.replaceState(history.state, "", fragment);
  else history.pushState(null, "", fragment);
  route.value = to;
}

export function listenToAddress(): void {
  const read = () => {
    if (formatRoute(route.peek()) !== location.hash) route.value = parseRoute(location.hash);
  };
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
}

/** Whether a narrow screen shows the reading pane in place of the list. */
export const reading = signal(false);

/** Grows with each action that changed something, so that screens ask again. */
export const changed = signal(0);

/** Open dialog, drawn above the screen. */
export const dialog = signal<{ draw: () => ComponentChildren } | null>(null);

export function openDialog(draw: () => ComponentChildren): void {
  dialog.value = { draw };
}

export function closeDialog(): void {
  dialog.value = null;
}

export interface Notice {
  text: string;
  bad?: boolean;
}

export const notice = signal<Notice | null>(null);
let hide: ReturnType<typeof setTimeout> | undefined;

/** Shows a line at the bottom for some seconds; screen readers hear it. */
export function say(text: string, bad = false): void {
  notice.value = { text, bad };
  clearTimeout(hide);
  hide = setTimeout(() => (notice.value = null), bad ? 12_000 : 5_000);
}

/** Tasks and lineages that are chosen for a comparison, as addresses. */
export const chosen = signal<readonly string[]>([]);

export function toggleChosen(address: string): void {
  const now = chosen.value;
  chosen.value = now.includes(address) ? now.filter((a) => a !== address) : [...now, address];
}

/** Text under "live": changes of counts, told at most once in 5 s. */
export const told = signal("");
let lastTold = 0;

export function tellPolitely(text: string): void {
  if (Date.now() - lastTold < 5_000) return;
  lastTold = Date.now();
  told.value = text;
}
