// Items of an alignment, page after page.

import { batch, signal } from "@preact/signals";
import { align } from "../api/calls.ts";
import { isAbort } from "../api/problem.ts";
import type { Problem } from "../api/problem.ts";
import type { Align, AlignItem } from "../api/types.ts";
import { toProblem } from "../use-ask.ts";

export class AlignSource {
  readonly items = signal<readonly AlignItem[]>([]);
  readonly counts = signal<Align["counts"] | null>(null);
  readonly common = signal(0);
  readonly problem = signal<Problem | null>(null);
  readonly done = signal(false);
  #next: string | null = null;
  #busy: Promise<void> | null = null;
  readonly #abort = new AbortController();

  constructor(
    readonly a: string,
    readonly b: string,
    readonly texts: boolean,
  ) {}

  get hasMore(): boolean {
    return !this.done.value;
  }

  end(): void {
    this.#abort.abort();
  }

  more(): Promise<void> {
    if (this.done.peek()) return Promise.resolve();
    this.#busy ??= this.#ask().finally(() => (this.#busy = null));
    return this.#busy;
  }

  async #ask(): Promise<void> {
    try {
      const page = await align(this.a, this.b, this.#next, this.texts, this.#abort.signal);
      this.#next = page.next ?? null;
      batch(() => {
        this.items.value = [...this.items.value, ...page.items];
        this.counts.value = page.counts;
        this.common.value = Number(page.common);
        this.problem.value = null;
        this.done.value = this.#next === null;
      });
    } catch (error) {
      if (isAbort(error)) return;
      this.problem.value = toProblem(error);
      this.done.value = true;
    }
  }
}
