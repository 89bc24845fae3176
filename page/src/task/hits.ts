// Failures, marks and hits of a text in a lineage: their offsets, collected as they are asked for.

import { effect, signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { rows } from "../api/calls.ts";
import type { RowsRequest } from "../api/calls.ts";

const LIMIT = 5000;
/** Time after which a search is one that a person waits for, in milliseconds. */
const SLOW = 400;

/** Hit that was looked for. */
export interface Next {
  offset: number;
  /** Whether it is beyond an end of the lineage: the first one after the last, or the reverse. */
  wrapped: boolean;
}

/** Waits until a condition of signals holds. */
function until(holds: () => boolean): Promise<void> {
  return new Promise((done) => {
    const end = effect(() => {
      if (!holds()) return;
      done();
      queueMicrotask(() => end());
    });
  });
}

/** Offsets that a search has found. */
export class Hits {
  readonly found = signal<readonly number[]>([]);
  /** Offset up to which was searched. */
  readonly read: Signal<number>;
  readonly running = signal(false);
  /** Whether it has run for so long that it can be stopped. */
  readonly slow = signal(false);
  /** Whether it reached the head once: only then `found` is all that there is. */
  readonly complete = signal(false);
  #stop = new AbortController();

  constructor(
    readonly task: string,
    readonly lineage: number,
    begin: number,
    readonly by: Pick<RowsRequest, "kind" | "text" | "failed">,
  ) {
    this.read = signal(begin);
  }

  stop(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  /** Searches up to the head, or until `enough` says so. */
  async search(enough: () => boolean = () => false): Promise<void> {
    while (this.running.peek()) {
      await until(() => !this.running.value || enough());
      if (enough() || this.complete.peek()) return;
    }
    await this.#search(enough);
  }

  async #search(enough: () => boolean): Promise<void> {
    this.running.value = true;
    const late = setTimeout(() => (this.slow.value = true), SLOW);
    const { signal: stop } = this.#stop;
    try {
      for (;;) {
        const from = this.read.peek();
        const asked = { ...this.by, lineage: this.lineage, from, limit: LIMIT };
        const page = await rows(this.task, asked, stop);
        const offsets = page.items.map((row) => row.offset);
        if (offsets.length > 0) this.found.value = [...this.found.value, ...offsets];
        this.read.value = page.next ?? page.head;
        if (page.next == null) this.complete.value = true;
        if (page.next == null || enough()) return;
      }
    } finally {
      clearTimeout(late);
      this.running.value = false;
      this.slow.value = false;
    }
  }

  /** Returns the next hit in a direction, or null if there is none at all. Searches as needed. */
  async next(from: number, direction: 1 | -1): Promise<Next | null> {
    const look = () => nextOf(this.found.value, from, direction);
    const isThere = () => (direction === 1 ? look() !== null : this.read.value > from);
    if (!isThere()) await this.search(isThere);
    const offset = look();
    if (offset !== null) return { offset, wrapped: false };
    if (direction === -1) await this.search();
    const other = this.found.peek().at(direction === 1 ? 0 : -1);
    return other === undefined ? null : { offset: other, wrapped: true };
  }
}

export function nextOf(found: readonly number[], from: number, direction: 1 | -1): number | null {
  if (direction === 1) return found.find((offset) => offset > from) ?? null;
  return found.findLast((offset) => offset < from) ?? null;
}

/** Returns the hits from an offset to before another: the place of the first one, and how many. */
export function within(found: readonly number[], first: number, next: number): [number, number] {
  const begin = found.findIndex((offset) => offset >= first);
  if (begin < 0) return [0, 0];
  const end = found.findIndex((offset) => offset >= next);
  return [begin, (end < 0 ? found.length : end) - begin];
}
