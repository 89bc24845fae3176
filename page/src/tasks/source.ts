// The list of tasks: pages by cursor, rows that change by stream, or by asking every 2 s.

import { signal } from "@preact/signals";
import { summaries } from "../api/calls.ts";
import { query } from "../api/link.ts";
import { me } from "../app-state.ts";
import { Problem, isAbort } from "../api/problem.ts";
import { followWhileVisible } from "../api/stream.ts";
import type { Message } from "../api/stream.ts";
import type { Summary } from "../api/types.ts";
import { toProblem } from "../use-ask.ts";

/** Rows of a page: as many as the service gives. */
const limit = () => me.peek()?.limits.summaries ?? 100;

export interface TasksRequest {
  q: string;
  sort: string;
  columns: string;
}

export class TasksSource {
  readonly items = signal<readonly Summary[]>([]);
  readonly total = signal<number | null>(null);
  readonly problem = signal<Problem | null>(null);
  readonly state = signal<"loading" | "there">("loading");
  /** Whether the first answer takes over 2 s. */
  readonly long = signal(false);
  readonly live = signal<"stream" | "polling" | "none">("none");
  asOf = 0;
  #next: string | null = null;
  #busy = false;
  #abort = new AbortController();
  #stop = () => {};

  constructor(readonly asked: TasksRequest) {}

  start(): void {
    const late = setTimeout(() => (this.long.value = true), 2_000);
    void this.reload().finally(() => clearTimeout(late));
    this.#stop = this.#follow();
  }

  end(): void {
    this.#abort.abort();
    this.#stop();
  }

  /** Asks again for what is shown, at most the first page. */
  async reload(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      const page = await this.#ask(null);
      const more = this.items.value.length > limit() ? this.items.value.slice(limit()) : [];
      const ids = new Set(page.items.map((item) => item.id));
      this.items.value = [...page.items, ...more.filter((item) => !ids.has(item.id))];
      if (more.length === 0) this.#next = page.next ?? null;
      this.#took(page.total);
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#busy = false;
    }
  }

  get hasMore(): boolean {
    return this.#next !== null;
  }

  async more(): Promise<void> {
    if (this.#busy || this.#next === null) return;
    this.#busy = true;
    try {
      const page = await this.#ask(this.#next);
      this.#next = page.next ?? null;
      this.items.value = [...this.items.value, ...page.items];
      this.#took(page.total);
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#busy = false;
    }
  }

  #ask(cursor: string | null) {
    return summaries({ ...this.asked, limit: limit(), cursor }, this.#abort.signal);
  }

  #took(total: number | undefined): void {
    this.total.value = total ?? null;
    this.problem.value = null;
    this.state.value = "there";
    this.asOf = Date.now();
  }

  #failed(error: unknown): void {
    if (isAbort(error)) return;
    this.problem.value = toProblem(error);
  }

  #follow(): () => void {
    let changed = new Map<string, Summary>();
    let frame = 0;
    const apply = () => {
      frame = 0;
      const rows = changed;
      changed = new Map();
      const known = new Set(this.items.value.map((item) => item.id));
      this.items.value = this.items.value.map((item) => rows.get(item.id) ?? item);
      if ([...rows.keys()].some((id) => !known.has(id)) && this.asked.q === "") void this.reload();
    };
    const onMessage = (message: Message) => {
      const row: unknown = parsed(message.data);
      if (typeof row !== "object" || row === null || !("id" in row)) return;
      if (message.event === "deleted") {
        this.items.value = this.items.value.filter((item) => item.id !== row.id);
        return;
      }
      changed.set((row as Summary).id, row as Summary);
      if (!frame) frame = requestAnimationFrame(apply);
    };
    let poll: ReturnType<typeof setInterval> | undefined;
    const onRefused = () => {
      this.live.value = "polling";
      poll = setInterval(() => {
        if (document.visibilityState === "visible") void this.reload();
      }, 2_000);
    };
    // Rows that changed while the stream was away are read again.
    let opened = 0;
    const onOpen = () => {
      this.live.value = "stream";
      opened += 1;
      if (opened > 1) void this.reload();
    };
    const path = `/v1/summaries${query({ columns: this.asked.columns })}`;
    const stop = followWhileVisible({ path, onMessage, onRefused, onOpen });
    return () => {
      stop();
      clearInterval(poll);
      cancelAnimationFrame(frame);
    };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
