// Words of the page in the language of the person. A word that one language lacks does not compile.

import { computed, signal } from "@preact/signals";
import { keep, kept } from "../kept.ts";
import { en } from "./en.ts";
import type { Words } from "./form.ts";
import { zh } from "./zh.ts";

export type { Word, Words } from "./form.ts";

export type Language = "en" | "zh";
const KEY = "milepost.language";

function first(): Language {
  const chosen = kept(KEY);
  if (chosen === "en" || chosen === "zh") return chosen;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const language = signal<Language>(first());
export const words = computed<Words>(() => (language.value === "zh" ? zh : en));

export function setLanguage(to: Language): void {
  language.value = to;
  keep(KEY, to);
}
