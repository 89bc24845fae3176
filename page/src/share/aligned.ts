// Alignments of a share: of the heads of the active lineage and of another one.

import { formatPoint } from "../address.ts";
import type { Align, AlignItem, Big, Lineage, Turn } from "../api/types.ts";
import { words } from "../words/index.ts";
import type { History, Place } from "./history.ts";
import { notHere } from "./history.ts";
import { turnsOf } from "./readings.ts";

type Op = AlignItem["op"];

/** Numbers of the turns of the active lineage and of the other one; the other of a moved turn. */
type Numbered = [op: Op, a: Big | null, b: Big | null, other: Big | null];

interface Written extends Omit<Align, "items"> {
  items: Numbered[];
}

const SWAPPED: Record<Op, Op> = {
  same: "same",
  said: "said",
  changed: "changed",
  moved: "moved",
  only_a: "only_b",
  only_b: "only_a",
};

/** Returns turns by their numbers. */
async function side(
  history: History,
  of: Lineage,
  numbers: (Big | null)[],
): Promise<Map<Big | null, Turn>> {
  const given = numbers.filter((one) => one !== null);
  const turns = await turnsOf(history, of, given);
  return new Map(given.flatMap((one, i) => (turns[i] ? [[one, turns[i]] as const] : [])));
}

export interface AlignRequest {
  from: number;
  limit: number;
  texts: boolean;
}

export async function align(
  history: History,
  a: Place,
  b: Place,
  asked: AlignRequest,
): Promise<Align> {
  const active = history.lineage(null);
  const isHead = ({ lineage, offset }: Place) => offset === lineage.head;
  const other = a.lineage === active ? b.lineage : a.lineage;
  const isPair = a.lineage !== b.lineage && [a.lineage, b.lineage].includes(active);
  if (!isPair || !isHead(a) || !isHead(b)) {
    const head = formatPoint(history.task, active.id, active.head);
    throw notHere(words.value.shareOnlyActive(head));
  }
  const name = `${asked.texts ? "align-texts" : "align"}/${other.id}`;
  const found = await history.file.document<Written>(name);
  if (!found) throw notHere(words.value.shareNoAlign);
  const end = asked.from + asked.limit;
  const items = found.items.slice(asked.from, end);
  const ours = await side(
    history,
    active,
    items.map((one) => one[1]),
  );
  const theirs = await side(
    history,
    other,
    items.map((one) => one[2]),
  );
  const isSwapped = other === a.lineage;
  const { counts } = found;
  return {
    common: found.common,
    counts: isSwapped ? { ...counts, only_a: counts.only_b, only_b: counts.only_a } : counts,
    items: items.map(([op, i, j, moved]): AlignItem => {
      const [first, second] = [ours.get(i) ?? null, theirs.get(j) ?? null];
      const sides = isSwapped ? { a: second, b: first } : { a: first, b: second };
      return { op: isSwapped ? SWAPPED[op] : op, ...sides, other: moved };
    }),
    next: end < found.items.length ? end : null,
  };
}
