// Items of a long list, asked for in pages around what is in view.

import { signal } from "@preact/signals";
import { isAbort } from "../api/problem.ts";
import type { Problem } from "../api/problem.ts";
import { toProblem } from "../use-ask.ts";

export type Load<T> = (from: number, limit: number, signal: AbortSignal) => Promise<T[]>;

/** From the first to before the end. */
export type Range = [first: number, end: number];

/** Number of items that are kept, without those in view. */
const ITEMS_KEPT = 1_000;

export class Paged<T> {
  /** Grows with each change, so that components draw again. */
  readonly version = signal(0);
  readonly problem = signal<Problem | null>(null);
  readonly #items = new Map<number, T>();
  readonly #asked = new Map<number, AbortController>();
  #wanted: readonly Range[] = [];

  constructor(
    readonly load: Load<T>,
    readonly size = 100,
  ) {}

  get(index: number): T | undefined {
    return this.#items.get(index);
  }

  /** Puts items that are known already, such as those of an answer around a place. */
  put(from: number, items: readonly T[]): void {
    items.forEach((item, i) => this.#items.set(from + i, item));
    this.#trim([from, from + items.length]);
    this.version.value += 1;
  }

  /** Asks for missing items of these ranges, and gives up pages that are no longer wanted. */
  want(...ranges: readonly Range[]): void {
    this.#wanted = ranges;
    const pageOf = (index: number) => Math.floor(index / this.size);
    for (const [page, control] of this.#asked) {
      const isNear = ranges.some(([first, end]) => {
        return page >= pageOf(first) - 1 && page <= pageOf(Math.max(first, end - 1)) + 1;
      });
      if (isNear) continue;
      control.abort();
      this.#asked.delete(page);
    }
    for (const [first, end] of ranges) {
      for (let index = first; index < end; index++) {
        const page = pageOf(index);
        if (!this.#items.has(index) && !this.#asked.has(page)) void this.#ask(page);
      }
    }
  }

  /** Forgets the items from this one on, since the list grew or changed there. */
  dropFrom(index: number): void {
    for (const known of [...this.#items.keys()]) {
      if (known >= index) this.#items.delete(known);
    }
    for (const [page, control] of this.#asked) {
      if ((page + 1) * this.size <= index) continue;
      control.abort();
      this.#asked.delete(page);
    }
    this.version.value += 1;
  }

  retry(): void {
    this.problem.value = null;
    this.version.value += 1;
  }

  async #ask(page: number): Promise<void> {
    const control = new AbortController();
    this.#asked.set(page, control);
    const from = page * this.size;
    try {
      const items = await this.load(from, this.size, control.signal);
      if (control.signal.aborted) return;
      items.forEach((item, i) => this.#items.set(from + i, item));
      this.#trim();
      if (this.problem.value) this.problem.value = null;
    } catch (error) {
      if (!isAbort(error) && !control.signal.aborted) this.problem.value = toProblem(error);
    } finally {
      if (this.#asked.get(page) === control) this.#asked.delete(page);
      if (!control.signal.aborted) this.version.value += 1;
    }
  }

  #trim(...put: Range[]): void {
    if (this.#items.size <= ITEMS_KEPT) return;
    const spare = 2 * this.size;
    for (const index of [...this.#items.keys()]) {
      const isNear = [...this.#wanted, ...put].some(([first, end]) => {
        return index >= first - spare && index <= end + spare;
      });
      if (!isNear) this.#items.delete(index);
    }
  }
}
