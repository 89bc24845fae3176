// What differs between many histories: facts of their lineages, last metrics, and variables.

import { isExact, stringify } from "../api/numbers.ts";
import type { Json, LineageSummary } from "../api/types.ts";
import { costOf, count, measure, tokensOf } from "../format.ts";
import { outcomeText } from "../parts/ui.tsx";
import { pointerTo } from "../pointer.ts";
import { words } from "../words/index.ts";

export interface History {
  address: string;
  /** Facts of the whole lineage. */
  lineage: LineageSummary;
  /** State at the address, without messages. */
  state: { [name: string]: Json };
}

export interface Cell {
  text: string;
  /** Number of characters, if the text is only the beginning. */
  cut?: number;
  /** Where the value is in the state; facts of lineages have no place. */
  pointer?: string;
}

/** A row of the table; null where nothing was recorded. */
export interface DiffRow {
  name: string;
  cells: (Cell | null)[];
}

export interface Differences {
  differing: DiffRow[];
  /** Rows in which all histories have the same. */
  equal: DiffRow[];
}

/** Characters of a value that a cell shows. */
const SHOWN = 120;

/** JSON of a value in which the order of names does not count. */
export function canonical(value: Json | undefined): string | null {
  if (value === undefined) return null;
  return JSON.stringify(value, (_, one: Json) => {
    if (typeof one !== "object" || one === null || Array.isArray(one)) return one;
    const names = Object.keys(one).sort();
    return Object.fromEntries(names.map((name) => [name, one[name]]));
  });
}

/** Names of an object of the states, in the order in which the histories have them first. */
function namesIn(of: readonly History[], part: string): string[] {
  return [...new Set(of.flatMap(({ state }) => Object.keys(objectOf(state[part]))))];
}

function objectOf(value: Json | undefined): { [name: string]: Json } {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && !isExact(value) ? value : {};
}

function cellOf(value: Json | undefined, pointer: string): Cell | null {
  if (value === undefined) return null;
  const text = typeof value === "number" ? measure(value) : textOf(value);
  const characters = [...text];
  if (characters.length <= SHOWN) return { text, pointer };
  return { text: `${characters.slice(0, SHOWN).join("")}…`, cut: characters.length, pointer };
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : stringify(value);
}

interface Compared extends DiffRow {
  /** What is compared: a cell may show less. */
  keys: (string | null)[];
}

function facts(of: readonly History[]): Compared[] {
  const w = words.value;
  const row = (name: string, text: (one: LineageSummary) => string | null): Compared => {
    const texts = of.map(({ lineage }) => text(lineage));
    return { name, keys: texts, cells: texts.map((one) => (one === null ? null : { text: one })) };
  };
  return [
    row(w.outcome, (one) => outcomeText(one.outcome)),
    row(w.columnSteps, (one) => count(one.steps)),
    row(w.columnCalls, (one) => count(one.calls)),
    row(w.columnFailed, (one) => count(one.failed)),
    row(w.columnTokens, (one) => {
      const tokens = tokensOf(one.usage);
      return tokens === null ? null : count(tokens);
    }),
    row(w.columnCost, (one) => costOf(one.usage)),
  ];
}

function values(of: readonly History[], part: string): Compared[] {
  return namesIn(of, part).map((name) => {
    const pointer = pointerTo(`/${part}`, name);
    const found = of.map(({ state }) => {
      const all = objectOf(state[part]);
      return Object.hasOwn(all, name) ? all[name] : undefined;
    });
    return {
      name: pointer,
      keys: found.map(canonical),
      cells: found.map((value) => cellOf(value, pointer)),
    };
  });
}

/** Divides the rows into those that differ and those that are equal. */
export function differencesOf(of: readonly History[]): Differences {
  const differing: DiffRow[] = [];
  const equal: DiffRow[] = [];
  const rows = [...facts(of), ...values(of, "metrics"), ...values(of, "variables")];
  for (const { keys, ...row } of rows) {
    (keys.every((key) => key === keys[0]) ? equal : differing).push(row);
  }
  return { differing, equal };
}
