// What a person chose in this browser: theme, time zone, widths of panes.

import { effect, signal } from "@preact/signals";

export interface Settings {
  theme: "system" | "light" | "dark";
  utc: boolean;
  /** Width of the list beside the reading pane, in percent. */
  split: number;
}

const KEY = "milepost.settings";
const DEFAULTS: Settings = { theme: "system", utc: false, split: 40 };

function kept(): Settings {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return { ...DEFAULTS, ...(read as Partial<Settings>) };
  } catch {
    return DEFAULTS;
  }
}

export const settings = signal<Settings>(kept());

export function set(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
  localStorage.setItem(KEY, JSON.stringify(settings.value));
}

effect(() => {
  const { theme } = settings.value;
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
});
