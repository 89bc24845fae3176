// Geometry of a windowed list: items of one height, of which some are open and show further rows
// of another height below them. A flat row is an item or one of these.

/** Elements higher than this are not drawn reliably, so the scroll bar is scaled beyond it. */
export const SCROLL_LIMIT = 8_000_000;

/** Most rows that a list has in the document. */
export const ROWS_LIMIT = 100;

export interface Fold {
  /** Item that is open. */
  item: number;
  /** Number of rows below it. */
  rows: number;
}

export interface Place {
  item: number;
  /** Row below the item, or -1 for the item itself. */
  sub: number;
}

interface Step {
  /** First flat row after the fold, and its top. */
  flat: number;
  top: number;
  item: number;
}

export class Layout {
  readonly rows: number;
  readonly total: number;
  readonly #steps: Step[] = [];
  readonly #folds: readonly Fold[];

  constructor(
    readonly count: number,
    readonly height: number,
    folds: readonly Fold[] = [],
    readonly subHeight = 28,
  ) {
    const open = folds.filter((fold) => fold.item < count && fold.rows > 0);
    this.#folds = open.toSorted((a, b) => a.item - b.item);
    let extra = 0;
    for (const fold of this.#folds) {
      const before = fold.item + 1;
      extra += fold.rows;
      this.#steps.push({
        item: before,
        flat: before + extra,
        top: before * height + extra * subHeight,
      });
    }
    this.rows = count + extra;
    this.total = count * height + extra * subHeight;
  }

  place(flat: number): Place {
    let before: Step = { item: 0, flat: 0, top: 0 };
    for (let i = 0; i < this.#steps.length; i++) {
      const step = this.#steps[i]!;
      const fold = this.#folds[i]!;
      if (flat < step.flat - fold.rows) break;
      if (flat < step.flat) return { item: fold.item, sub: flat - (step.flat - fold.rows) };
      before = step;
    }
    return { item: before.item + flat - before.flat, sub: -1 };
  }

  flatOf(item: number, sub = -1): number {
    let extra = 0;
    for (const fold of this.#folds) {
      if (fold.item >= item) break;
      extra += fold.rows;
    }
    return item + extra + sub + 1;
  }

  top(flat: number): number {
    const { item, sub } = this.place(flat);
    const extra = this.flatOf(item) - item;
    const start = item * this.height + extra * this.subHeight;
    return sub < 0 ? start : start + this.height + sub * this.subHeight;
  }

  heightOf(flat: number): number {
    return this.place(flat).sub < 0 ? this.height : this.subHeight;
  }

  /** Returns the flat row at a distance from the top. */
  rowAt(y: number): number {
    let low = 0;
    let high = this.rows - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.top(middle) <= y) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }
}

export interface Scale {
  /** Height of the element that gives the scroll bar its length. */
  space: number;
  /** Pixels of the list for a pixel of the scroll bar; 1 unless scaled. */
  ratio: number;
}

export function scaleOf(total: number, view: number): Scale {
  if (total <= SCROLL_LIMIT) return { space: total, ratio: 1 };
  return { space: SCROLL_LIMIT, ratio: (total - view) / (SCROLL_LIMIT - view) };
}

export function clampTop(top: number, total: number, view: number): number {
  return Math.max(0, Math.min(top, total - view));
}

export interface Window {
  first: number;
  /** One behind the last row. */
  end: number;
}

/** Returns the rows to draw: those in view and a few around them, at most `ROWS_LIMIT`. */
export function windowOf(layout: Layout, top: number, view: number, around = 8): Window {
  if (layout.rows === 0) return { first: 0, end: 0 };
  const from = layout.rowAt(top);
  const to = layout.rowAt(top + Math.max(0, view - 1)) + 1;
  const spare = Math.max(0, Math.min(around, Math.floor((ROWS_LIMIT - (to - from)) / 2)));
  const first = Math.max(0, from - spare);
  return { first, end: Math.min(layout.rows, to + spare, first + ROWS_LIMIT) };
}

/** Returns the top at which a row is in view, moved as little as possible. */
export function topFor(layout: Layout, flat: number, top: number, view: number): number {
  const start = layout.top(flat);
  const end = start + layout.heightOf(flat);
  if (start < top) return start;
  if (end > top + view) return Math.min(start, end - view);
  return top;
}
