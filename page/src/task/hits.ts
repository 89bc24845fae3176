// Failures, marks and hits of a text in a lineage: their offsets, collected as they are asked for.

import { signal } from "@preact/signals";
import { rows } from "../api/calls.ts";
import type { RowsAsked } from "../api/calls.ts";

const LIMIT = 5000;

/** Offsets that a search has found. */
export class Hits {
  readonly found = signal<readonly number[]>([]);
  /** Offset up to which was searched. */
  readonly read = signal(0);
  readonly running = signal(false);
  #stop = new AbortController();
  #searched: number;

  constructor(
    readonly task: string,
    readonly lineage: number,
    begin: number,
    readonly by: Pick<RowsAsked, "kind" | "text" | "failed">,
  ) {
    this.#searched = begin;
  }

  stop(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  /** Searches up to the head, or until `enough` says so. */
  async search(enough: () => boolean = () => false): Promise<void> {
    if (this.running.value) return;
    this.running.value = true;
    const { signal: stop } = this.#stop;
    try {
      for (;;) {
        const asked = { ...this.by, lineage: this.lineage, from: this.#searched, limit: LIMIT };
        const page = await rows(this.task, asked, stop);
        const offsets = page.items.map((row) => Number(row.offset));
        if (offsets.length > 0) this.found.value = [...this.found.value, ...offsets];
        this.#searched = page.next ? Number(page.next) : Number(page.head);
        this.read.value = this.#searched;
        if (!page.next || enough()) return;
      }
    } finally {
      this.running.value = false;
    }
  }

  /** Returns the next hit in a direction, or null. Searches only as far as needed. */
  async next(from: number, direction: 1 | -1): Promise<number | null> {
    const look = () => nextOf(this.found.value, from, direction);
    if (direction === 1) {
      if (look() === null) await this.search(() => look() !== null);
    } else if (this.#searched <= from) await this.search(() => this.#searched > from);
    return look();
  }
}

export function nextOf(found: readonly number[], from: number, direction: 1 | -1): number | null {
  if (direction === 1) return found.find((offset) => offset > from) ?? null;
  return found.findLast((offset) => offset < from) ?? null;
}
