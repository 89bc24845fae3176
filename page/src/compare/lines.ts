// Lines of a comparison: items of the alignment, and runs of equal ones that are folded.

import type { AlignItem } from "../api/types.ts";

/** Rows of the list: items of the alignment, and runs of equal ones that are folded. */
export type Line = { item: AlignItem; index: number } | { run: number };

export function linesOf(items: readonly AlignItem[], only: boolean): Line[] {
  if (!only) return items.map((item, index) => ({ item, index }));
  const lines: Line[] = [];
  items.forEach((item, index) => {
    const last = lines[lines.length - 1];
    if (item.op !== "same") lines.push({ item, index });
    else if (last && "run" in last) last.run += 1;
    else lines.push({ run: 1 });
  });
  return lines;
}
