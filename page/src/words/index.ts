// Words of the page in the language of the person. A word that one language lacks does not compile.

import { computed, signal } from "@preact/signals";
import { en } from "./en.ts";
import type { Words } from "./form.ts";
import { zh } from "./zh.ts";

export type { Word, Words } from "./form.ts";

export type Language = "en" | "zh";
const KEY = "milepost.language";

function first(): Language {
  const kept = localStorage.getItem(KEY);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const language = signal<Language>(first());
export const words = computed<Words>(() => (language.value === "zh" ? zh : en));

export function setLanguage(to: Language): void {
  language.value = to;
  localStorage.setItem(KEY, to);
}
