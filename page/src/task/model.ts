// What is known of a lineage: its turns and rows in pages, its head, how far it was read.

import { batch, signal } from "@preact/signals";
import { overview, rows, turns } from "../api/calls.ts";
import { pause, readWhole } from "../api/read-on.ts";
import { isAbort } from "../api/problem.ts";
import type { Problem } from "../api/problem.ts";
import type { Overview, Row, Turn, Turns } from "../api/types.ts";
import { Paged } from "../list/paged.ts";
import { toProblem } from "../use-ask.ts";

const PAGE = 100;
/** Least time between two overviews of a lineage that grows, in milliseconds. */
const OVERVIEW_GAP = 2_000;

export interface FoldedStep {
  step: number;
  /** Number of turns after the first one. */
  rows: number;
}

const STEP_ENDS = "step_started,step_finished,step_failed";

export class LineageModel {
  readonly head = signal(0);
  readonly total = signal(0);
  /** Offset before which the service has read all events. */
  readonly read = signal(0);
  /** Whether the first answer about turns is there. */
  readonly ready = signal(false);
  readonly stopped = signal(false);
  readonly problem = signal<Problem | null>(null);
  readonly overview = signal<Overview | null>(null);
  /** Overviews of other lineages, for the map. */
  readonly others = signal<ReadonlyMap<number, Overview>>(new Map());
  readonly turns: Paged<Turn>;
  readonly rows: Paged<Row>;
  /** Rows of open turns, by the number of the turn. */
  readonly open = signal<ReadonlyMap<number, readonly Row[]>>(new Map());
  /** Steps of which only the first turn is shown, by its number. */
  readonly folded = signal<ReadonlyMap<number, FoldedStep>>(new Map());
  readonly #abort = new AbortController();
  #refreshing = false;
  #overviewAt = 0;
  #willAsk = false;
  #again = false;

  constructor(
    readonly task: string,
    readonly lineage: number,
    /** First offset that a cleanup left. */
    readonly begin: number,
    head: number,
  ) {
    this.head.value = head;
    this.turns = new Paged(async (from, limit, abort) => {
      const page = await turns(task, { lineage, from, limit }, abort);
      this.#took(page);
      return page.items;
    }, PAGE);
    this.rows = new Paged(async (index, limit, abort) => {
      const from = begin + index;
      const to = Math.min(from + limit, this.head.peek());
      if (to <= from) return [];
      const page = await rows(task, { lineage, from, to, limit }, abort);
      return page.items;
    }, PAGE);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  end(): void {
    this.#abort.abort();
  }

  /** Reads the turns around an offset. Returns the number of the turn that has it. */
  async near(offset: number): Promise<number> {
    const near = Math.max(0, Math.min(offset, this.head.peek() - 1));
    const asked = { lineage: this.lineage, near, limit: PAGE };
    const page = await turns(this.task, asked, this.#abort.signal);
    const first = page.items[0];
    batch(() => {
      this.#took(page);
      if (first) this.turns.put(first.number, page.items);
    });
    let found = first?.number ?? 0;
    for (const turn of page.items) {
      if (turn.first > offset) break;
      found = turn.number;
    }
    return found;
  }

  #took(page: Pick<Turns, "total" | "read" | "head">): void {
    batch(() => {
      this.total.value = Math.max(this.total.peek(), page.total);
      this.read.value = Math.max(this.read.peek(), page.read);
      this.head.value = Math.max(this.head.peek(), page.head);
      this.ready.value = true;
      this.problem.value = null;
    });
  }

  /** Opens at an offset, then asks until all events were read. */
  async start(offset: number): Promise<number> {
    try {
      const number = await this.near(offset);
      void this.readOn();
      return number;
    } catch (error) {
      if (!isAbort(error)) this.problem.value = toProblem(error);
      return 0;
    }
  }

  async readOn(): Promise<void> {
    this.stopped.value = false;
    while (this.read.value < this.head.value && !this.stopped.value && !this.signal.aborted) {
      try {
        const before = this.read.value;
        const asked = { lineage: this.lineage, from: this.total.value, limit: 1 };
        this.#took(await turns(this.task, asked, this.signal));
        if (this.read.value === before) await pause(500);
      } catch (error) {
        if (!isAbort(error)) this.problem.value = toProblem(error);
        return;
      }
    }
  }

  /** Asks for the overview, at once or a while after the last time. */
  async askOverview(): Promise<void> {
    if (this.#willAsk) return;
    this.#willAsk = true;
    await pause(Math.max(0, this.#overviewAt + OVERVIEW_GAP - Date.now()));
    this.#willAsk = false;
    if (this.signal.aborted) return;
    this.#overviewAt = Date.now();
    try {
      const found = await overview(this.task, this.lineage, 200, this.signal);
      // An answer to an earlier request can come later.
      if (found.read >= (this.overview.value?.read ?? 0)) this.overview.value = found;
    } catch {
      // The map stays as it is: with the next events it is asked for again.
    }
    const known = this.overview.value;
    const isWhole = !known || known.read >= known.head;
    if (!isWhole && !this.stopped.value) void this.askOverview();
  }

  /** Reads overviews of other lineages one after the other, once the screen is at rest. */
  async askOthers(lineages: readonly number[]): Promise<void> {
    await pause(1_000);
    for (const id of lineages) {
      if (this.signal.aborted) return;
      try {
        const load = () => overview(this.task, id, 200, this.signal);
        const found = await readWhole(load, (all) => [all]);
        this.others.value = new Map(this.others.value).set(id, found);
      } catch {
        return;
      }
    }
  }

  /** Takes in events that were appended up to `head`. Requests never overlap. */
  async grow(head: number): Promise<void> {
    const old = this.head.peek();
    if (head > old) {
      batch(() => {
        this.head.value = head;
        this.rows.dropFrom(Math.max(0, old - this.begin));
      });
    }
    if (this.#refreshing) {
      this.#again = true;
      return;
    }
    this.#refreshing = true;
    try {
      do {
        this.#again = false;
        const known = this.total.peek();
        const from = Math.max(0, known - 1);
        const asked = { lineage: this.lineage, from, limit: PAGE };
        const page = await turns(this.task, asked, this.signal);
        batch(() => {
          this.turns.dropFrom(from);
          this.#took(page);
          this.turns.put(from, page.items);
          this.#growFolded(page.items);
        });
        void this.askOverview();
        await pause(100);
      } while (this.#again && !this.signal.aborted);
    } catch (error) {
      if (!isAbort(error)) this.problem.value = toProblem(error);
    } finally {
      this.#refreshing = false;
    }
  }

  /** Whether a turn is the first of a step of several turns, as far as is known. */
  isHeading(number: number): boolean {
    const turn = this.turns.get(number);
    if (turn?.step == null || turn.turn !== 0) return false;
    if (this.folded.value.has(number)) return true;
    const next = this.turns.get(number + 1);
    return next?.step === turn.step && next.turn !== 0;
  }

  /** Folds the step of a turn. Returns the number of its first turn. */
  async foldStep(number: number): Promise<number> {
    const turn = this.turns.get(number);
    if (turn?.step == null) return number;
    const first = Math.max(0, number - turn.turn);
    const end = await this.#endOfStep(turn);
    const asked = { lineage: this.lineage, near: end, limit: 1 };
    const { items } = await turns(this.task, asked, this.signal);
    const last = items.findLast((one) => one.first <= end);
    const rows = last?.step === turn.step ? last.number - first : 0;
    if (rows <= 0) return number;
    this.folded.value = new Map(this.folded.value).set(first, { step: turn.step, rows });
    return first;
  }

  unfoldStep(first: number): void {
    const folded = new Map(this.folded.value);
    folded.delete(first);
    this.folded.value = folded;
  }

  /** Unfolds the step that hides a turn, and waits until the list has its rows. */
  async reveal(number: number): Promise<void> {
    for (const [first, { rows }] of this.folded.value) {
      if (number <= first || number > first + rows) continue;
      this.unfoldStep(first);
      await pause(0);
    }
  }

  /** Returns the offset of the last event of the step of a turn, or of the lineage. */
  async #endOfStep(turn: Turn): Promise<number> {
    let from = turn.first + 1;
    for (;;) {
      const asked = { lineage: this.lineage, from, kind: STEP_ENDS, limit: 1 };
      const page = await rows(this.task, asked, this.signal);
      const found = page.items[0];
      if (found) return found.offset - (found.kind === "step_started" ? 1 : 0);
      if (page.next == null) return this.head.peek() - 1;
      from = page.next;
    }
  }

  /** Turns that were appended to a folded step are folded with it. */
  #growFolded(items: readonly Turn[]): void {
    const folded = new Map(this.folded.peek());
    for (const turn of items) {
      for (const [first, { step, rows }] of folded) {
        const isNext = turn.number === first + rows + 1;
        if (isNext && turn.step === step && turn.turn !== 0) {
          folded.set(first, { step, rows: rows + 1 });
          this.folded.value = folded;
        }
      }
    }
  }

  isOpen(number: number): boolean {
    return this.open.value.has(number);
  }

  async unfold(number: number): Promise<void> {
    const turn = this.turns.get(number);
    if (!turn || this.open.value.has(number)) return;
    const asked = { lineage: this.lineage, from: turn.first, to: turn.next, limit: 5000 };
    const page = await rows(this.task, asked, this.signal);
    this.open.value = new Map(this.open.value).set(number, page.items);
  }

  fold(number: number): void {
    const open = new Map(this.open.value);
    open.delete(number);
    this.open.value = open;
  }
}

