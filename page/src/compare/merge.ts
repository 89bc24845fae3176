// Alignments of several histories with the first one, merged into rows of its turns.

import type { AlignItem, Turn } from "../api/types.ts";

export interface Aligned {
  items: readonly AlignItem[];
  /** Whether these are all items. */
  whole: boolean;
}

export interface Row {
  /** Turn of the first history, or null where it has none. */
  a: Turn | null;
  /** Item of each of the others; null where it has none, or has no alignment. */
  others: (AlignItem | null)[];
}

/** Items that are looked at for a turn that another history has further on. */
const AHEAD = 8;

function keyOf({ b }: AlignItem): string {
  const calls = b!.calls.map((one) => [one.tool, one.arguments]);
  return JSON.stringify(calls.length > 0 ? calls : (b!.said ?? b!.name));
}

/** Rows of turns that the first history has not: what looks the same in several is one row. */
function between(gaps: readonly AlignItem[][]): Row[] {
  const rows: Row[] = [];
  const at = gaps.map(() => 0);
  const isLater = (key: string, own: number) =>
    gaps.some((gap, k) => {
      const ahead = k === own ? [] : gap.slice(at[k]! + 1, at[k]! + 1 + AHEAD);
      return ahead.some((item) => keyOf(item) === key);
    });
  for (;;) {
    const left = gaps.map((gap, k) => gap[at[k]!] ?? null);
    const keys = left.map((item) => item && keyOf(item));
    const free = keys.findIndex((key, k) => key !== null && !isLater(key, k));
    const lead = keys[free] ?? keys.find((key) => key !== null);
    if (lead === undefined) return rows;
    const others = left.map((item, k) => (keys[k] === lead ? item : null));
    others.forEach((item, k) => (at[k]! += item ? 1 : 0));
    rows.push({ a: null, others });
  }
}

/** Merges alignments, as far as all of them are known. Null is a history without one. */
export function merged(of: readonly (Aligned | null)[]): Row[] {
  const rows: Row[] = [];
  const at = of.map(() => 0);
  for (;;) {
    let isWhole = true;
    const gaps = of.map((one, k) => {
      const gap: AlignItem[] = [];
      if (!one) return gap;
      for (; at[k]! < one.items.length && !one.items[at[k]!]!.a; at[k]!++) {
        gap.push(one.items[at[k]!]!);
      }
      if (at[k] === one.items.length && !one.whole) isWhole = false;
      return gap;
    });
    rows.push(...between(gaps));
    const others = of.map((one, k) => one?.items[at[k]!++] ?? null);
    const a = others.find((item) => item !== null)?.a;
    if (!isWhole || !a) return rows;
    rows.push({ a, others });
  }
}

export function isSame(row: Row): boolean {
  return row.a !== null && row.others.every((item) => item === null || item.op === "same" || item.op === "said");
}
