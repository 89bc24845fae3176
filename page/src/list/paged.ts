// Items of a long list, asked for in pages around what is in view.

import { signal } from "@preact/signals";
import { isAbort } from "../api/problem.ts";
import type { Problem } from "../api/problem.ts";
import { toProblem } from "../use-ask.ts";

export type Load<T> = (from: number, limit: number, signal: AbortSignal) => Promise<T[]>;

const ITEMS_KEPT = 4000;

export class Paged<T> {
  /** Grows with each change, so that components draw again. */
  readonly version = signal(0);
  readonly problem = signal<Problem | null>(null);
  readonly #items = new Map<number, T>();
  readonly #asked = new Map<number, AbortController>();
  #wanted: [first: number, end: number] = [0, 0];

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
    this.version.value += 1;
  }

  /** Asks for missing items among these, and gives up pages that are no longer wanted. */
  want(first: number, end: number): void {
    this.#wanted = [first, end];
    const pages = [Math.floor(first / this.size), Math.floor(Math.max(first, end - 1) / this.size)];
    for (const [page, control] of this.#asked) {
      if (page < pages[0]! - 1 || page > pages[1]! + 1) {
        control.abort();
        this.#asked.delete(page);
      }
    }
    for (let index = first; index < end; index++) {
      const page = Math.floor(index / this.size);
      if (!this.#items.has(index) && !this.#asked.has(page)) void this.#ask(page);
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

  #trim(): void {
    if (this.#items.size <= ITEMS_KEPT) return;
    const [first, end] = this.#wanted;
    for (const index of [...this.#items.keys()]) {
      if (index < first - 2 * this.size || index > end + 2 * this.size) this.#items.delete(index);
    }
  }
}
