// Form of the words of a language: those of English. A word that is missing does not compile.

import type { en } from "./en.ts";

/** The same words: texts, and functions of the same parameters. */
export type Words = { [word in keyof typeof en]: Same<(typeof en)[word]> };
type Same<T> = T extends (...given: infer Given) => string ? (...given: Given) => string : string;

/** Names of words without parameters. */
export type Word = {
  [word in keyof typeof en]: (typeof en)[word] extends string ? word : never;
}[keyof typeof en];
