// Alignments of a share: of the heads of the active lineage and of another one.

import { formatPoint } from "../address.ts";
import type { Align, AlignItem } from "../api/types.ts";
import { words } from "../words/index.ts";
import type { History, Place } from "./history.ts";
import { notHere } from "./history.ts";

const SWAPPED = {
  same: "same",
  changed: "changed",
  moved: "moved",
  only_a: "only_b",
  only_b: "only_a",
} as const;

/** Returns an item with its sides in each other's place. */
function swapped(item: AlignItem): AlignItem {
  return { ...item, op: SWAPPED[item.op], a: item.b, b: item.a };
}

export interface AlignAsked {
  from: number;
  limit: number;
  texts: boolean;
}

export async function align(
  history: History,
  a: Place,
  b: Place,
  asked: AlignAsked,
): Promise<Align> {
  const { active } = history.file.contents;
  const isHead = ({ lineage, offset }: Place) => offset === Number(lineage.head);
  const other = a.lineage.id === active ? b : a;
  const isPair = a.lineage.id !== b.lineage.id && [a, b].some((one) => one.lineage.id === active);
  const head = formatPoint(history.task, active, Number(history.lineage(null).head));
  if (!isPair || !isHead(a) || !isHead(b)) throw notHere(words.value.shareOnlyActive(head));
  const name = `${asked.texts ? "align-texts" : "align"}/${other.lineage.id}`;
  const found = await history.file.document<Align>(name);
  if (!found) throw notHere(words.value.shareNoAlign);
  const turn = other === a ? swapped : (item: AlignItem) => item;
  const { counts } = found;
  const end = asked.from + asked.limit;
  return {
    common: found.common,
    counts:
      other === a ? { ...counts, only_a: counts.only_b, only_b: counts.only_a } : counts,
    items: found.items.slice(asked.from, end).map(turn),
    next: end < found.items.length ? String(end) : null,
  };
}
