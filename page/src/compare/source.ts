// Items of alignments, page after page.

import { batch, computed, signal } from "@preact/signals";
import { align } from "../api/calls.ts";
import { isAbort } from "../api/problem.ts";
import type { Problem } from "../api/problem.ts";
import type { Align, AlignItem } from "../api/types.ts";
import { toProblem } from "../use-ask.ts";
import { merged } from "./merge.ts";

export class AlignSource {
  readonly items = signal<readonly AlignItem[]>([]);
  readonly counts = signal<Align["counts"] | null>(null);
  readonly common = signal(0);
  readonly problem = signal<Problem | null>(null);
  readonly done = signal(false);
  #next: number | null = null;
  #busy: Promise<void> | null = null;
  readonly #abort = new AbortController();

  constructor(
    readonly a: string,
    readonly b: string,
    readonly texts: boolean,
  ) {}

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
        this.common.value = page.common;
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

/** Alignments of the other histories with the first one. */
export class Columns {
  readonly pairs: readonly AlignSource[];
  /** Numbers of the histories that have an alignment, from 1. */
  readonly there = computed(() => {
    const has = (one: AlignSource) => !one.problem.value || one.items.value.length > 0;
    return this.pairs.flatMap((one, i) => (has(one) ? [i + 1] : []));
  });
  readonly rows = computed(() => {
    const there = new Set(this.there.value);
    return merged(
      this.pairs.map(({ items, done, problem }, i) => {
        const whole = done.value && !problem.value;
        return there.has(i + 1) ? { items: items.value, whole } : null;
      }),
    );
  });

  constructor(
    readonly of: readonly string[],
    texts: boolean,
  ) {
    this.pairs = of.slice(1).map((other) => new AlignSource(of[0]!, other, texts));
  }

  get hasMore(): boolean {
    return this.pairs.some((one) => !one.done.value);
  }

  async more(): Promise<void> {
    await Promise.all(this.pairs.map((one) => one.more()));
  }

  end(): void {
    for (const one of this.pairs) one.end();
  }
}
