// Lineages of the task of a share: their parents, documents, points.

import { formatPoint, parsePoint } from "../address.ts";
import { parse } from "../api/numbers.ts";
import { Problem } from "../api/problem.ts";
import type { Checkpoint, Lineage, Page, Point } from "../api/types.ts";
import { words } from "../words/index.ts";
import { damaged } from "./file.ts";
import type { ShareFile } from "./file.ts";
import type { EventLine } from "./lines.ts";

/** Checkpoint with its names in other systems. */
export type Mark = Checkpoint & { aliases?: string[] };

export interface Place {
  lineage: Lineage;
  offset: number;
  checkpoint?: string;
}

export function missing(detail: string): Problem {
  return new Problem(404, { title: words.value.notFound, detail });
}

/** Problem of what a share does not have. */
export function notHere(detail: string): Problem {
  return new Problem(422, { title: words.value.shareHasNot, detail });
}

/** Returns whether a value is a whole number, as ids and offsets are. */
function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export class History {
  readonly #byId: ReadonlyMap<number, Lineage>;

  private constructor(
    readonly file: ShareFile,
    readonly lineages: readonly Lineage[],
  ) {
    this.#byId = new Map(lineages.map((one) => [one.id, one]));
  }

  static async of(file: ShareFile): Promise<History> {
    const page = await file.document<Page<Lineage>>("lineages");
    const items = page?.items ?? [];
    // A lineage is opened after its parent, so that no walk is in a circle.
    const isSound = (one: Lineage) =>
      isCount(one.id) &&
      [one.head, one.begin, one.parent?.offset ?? 0].every(isCount) &&
      (one.parent == null || (isCount(one.parent.lineage) && one.parent.lineage < one.id));
    if (!Array.isArray(items) || !items.every(isSound)) throw damaged("lineages");
    return new History(file, items);
  }

  get task(): string {
    return this.file.contents.task;
  }

  /** Returns a lineage, the active one unless named. */
  lineage(id: number | null): Lineage {
    const found = this.#byId.get(id ?? this.file.contents.active);
    if (!found) throw missing(words.value.notFoundHow);
    return found;
  }

  parentOf(of: Lineage): Lineage | undefined {
    return of.parent ? this.#byId.get(of.parent.lineage) : undefined;
  }

  /** Returns a document of a lineage: its own, or that of the nearest ancestor that has one. */
  async document<T>(of: Lineage, name: (lineage: number) => string): Promise<T | null> {
    let at: Lineage | undefined = of;
    while (at) {
      if (this.file.has(name(at.id))) return this.file.document<T>(name(at.id));
      at = this.parentOf(at);
    }
    return null;
  }

  /** Returns the lineage that recorded the event at an offset. */
  recorder(of: Lineage, offset: number): Lineage {
    let at = of;
    for (;;) {
      const parent = this.parentOf(at);
      if (!parent || offset >= at.parent!.offset) return at;
      at = parent;
    }
  }

  /** Returns the text of the line of the event at an offset, or null. */
  lineText(of: Lineage, offset: number): Promise<string | null> {
    return this.file.line(String(this.recorder(of, offset).id), offset);
  }

  /** Returns the line of the event at an offset. */
  async line(of: Lineage, offset: number): Promise<EventLine> {
    const text = await this.lineText(of, offset);
    if (text === null) throw missing(words.value.noEvent);
    return parse(text) as EventLine;
  }

  /** First offset at which two histories may differ. */
  common(a: Lineage, b: Lineage): number {
    const forks = new Map<number, number>();
    let end = Infinity;
    for (let at: Lineage | undefined = a; at; at = this.parentOf(at)) {
      forks.set(at.id, end);
      end = Math.min(end, at.parent?.offset ?? 0);
    }
    end = Infinity;
    for (let at: Lineage | undefined = b; at; at = this.parentOf(at)) {
      const other = forks.get(at.id);
      if (other !== undefined) return Math.min(other, end);
      end = Math.min(end, at.parent?.offset ?? 0);
    }
    return 0;
  }

  /** Checks that a request is about the task of the file. */
  checkTask(task: string): void {
    if (task !== this.task) throw missing(words.value.shareOnlyTask(this.task));
  }

  /** Finds the point of an address. */
  async place(address: string): Promise<Place> {
    if (address === this.task) {
      const lineage = this.lineage(null);
      return { lineage, offset: lineage.head };
    }
    const parts = parsePoint(address);
    // `@ID` names a checkpoint of any task.
    if (parts.task !== "" || parts.selector === null) this.checkTask(parts.task);
    if (parts.selector !== null) return this.#marked(parts.selector, parts.lineage);
    const lineage = this.lineage(parts.lineage);
    const offset = parts.offset ?? lineage.head;
    if (offset > lineage.head) throw missing(words.value.notFoundHow);
    return { lineage, offset };
  }

  /** Finds a label, an alias, or an id of which 8 digits or more are given. */
  async #marked(name: string, id: number | null): Promise<Place> {
    const first = this.lineage(id);
    const others = id === null ? this.lineages.filter((one) => one !== first) : [];
    for (const of of [first, ...others]) {
      const found = (await this.marks(of)).findLast((mark) => {
        const isId = /^[0-9a-f]{8,64}$/.test(name) && mark.id.startsWith(name);
        return mark.label === name || isId || (mark.aliases?.includes(name) ?? false);
      });
      if (!found) continue;
      return { lineage: this.lineage(found.lineage), offset: found.at, checkpoint: found.id };
    }
    throw missing(words.value.notFoundHow);
  }

  /** Returns the marks in the history of a lineage, those of its ancestors first. */
  async marks(of: Lineage): Promise<Mark[]> {
    const own = (await this.file.document<Mark[]>(`marks/${of.id}`)) ?? [];
    const parent = this.parentOf(of);
    const before = parent ? await this.marks(parent) : [];
    const fork = of.parent?.offset ?? 0;
    const all = new Map<string, Mark>();
    for (const one of before) if (one.mark < fork) all.set(one.id, one);
    for (const one of own.toSorted((a, b) => a.mark - b.mark)) all.set(one.id, one);
    return [...all.values()];
  }

  /** Returns the form of a point. Its hash is that of the event before it. */
  async point({ lineage, offset, checkpoint }: Place): Promise<Point> {
    const before = offset > lineage.begin ? await this.line(lineage, offset - 1) : null;
    return {
      address: formatPoint(this.task, lineage.id, offset),
      task: this.task,
      lineage: lineage.id,
      offset,
      hash: before?.hash ?? (await this.file.hashAt(lineage.id, offset)),
      ...(checkpoint === undefined ? {} : { checkpoint }),
    };
  }
}
