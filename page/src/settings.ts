// What a person chose in this browser: theme, time zone, widths of panes.

import { effect, signal } from "@preact/signals";
import { keep, kept } from "./kept.ts";

export interface Settings {
  theme: "system" | "light" | "dark";
  utc: boolean;
  /** Width of the list beside the reading pane, in percent. */
  split: number;
}

const KEY = "milepost.settings";
const DEFAULTS: Settings = { theme: "system", utc: false, split: 40 };

function first(): Settings {
  try {
    const read: unknown = JSON.parse(kept(KEY) ?? "{}");
    return { ...DEFAULTS, ...(read as Partial<Settings>) };
  } catch {
    return DEFAULTS;
  }
}

export const settings = signal<Settings>(first());

export function set(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
  keep(KEY, JSON.stringify(settings.value));
}

effect(() => {
  const { theme } = settings.value;
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
});
