// Lines of a comparison: rows of the alignments, and runs of equal ones that are folded.

import { isSame } from "./merge.ts";
import type { Row } from "./merge.ts";

export type Line = { row: Row } | { run: number };

export function linesOf(rows: readonly Row[], only: boolean): Line[] {
  if (!only) return rows.map((row) => ({ row }));
  const lines: Line[] = [];
  for (const row of rows) {
    const last = lines[lines.length - 1];
    if (!isSame(row)) lines.push({ row });
    else if (last && "run" in last) last.run += 1;
    else lines.push({ run: 1 });
  }
  return lines;
}
