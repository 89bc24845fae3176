// Search in all lineages of a share: each event once, in the lineage that recorded it.

import { formatPoint } from "../address.ts";
import type { Page, SearchHit } from "../api/types.ts";
import type { History } from "./history.ts";
import { rowsPage } from "./readings.ts";
import type { Wanted } from "./readings.ts";

/** Searches for a quarter of a second. `cursor` is the lineage and the offset to go on at. */
export async function search(
  history: History,
  wanted: Wanted,
  limit: number,
  cursor: string | null,
): Promise<Page<SearchHit> & { events: number }> {
  const order = history.lineages.toSorted((a, b) => b.id - a.id);
  const [id, offset] = cursor?.split(":").map(Number) ?? [];
  const at = Math.max(
    0,
    order.findIndex((one) => one.id === id),
  );
  const of = order[at];
  if (!of) return { items: [], next: null, events: 0 };
  const own = Math.max(of.begin, of.parent?.offset ?? 0);
  const from = offset ?? own;
  const page = await rowsPage(history, of, { ...wanted, from, to: of.head, limit });
  const { task } = history;
  const items = page.items.map((row) => {
    return { address: formatPoint(task, of.id, row.offset), task, row };
  });
  const behind = order[at + 1];
  const start = Math.max(behind?.begin ?? 0, behind?.parent?.offset ?? 0);
  const after = behind ? `${behind.id}:${start}` : null;
  const next = page.next == null ? after : `${of.id}:${page.next}`;
  return { items, next, events: (page.next ?? of.head) - from };
}
