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

/** Items that are not shown: those after one, which stands for them. */
export interface Hidden {
  item: number;
  rows: number;
}

export class Layout {
  readonly rows: number;
  readonly total: number;
  /** Number of items that are shown. */
  readonly shown: number;
  readonly #steps: Step[] = [];
  readonly #folds: readonly Fold[];
  readonly #hidden: readonly Hidden[];

  constructor(
    readonly count: number,
    readonly height: number,
    folds: readonly Fold[] = [],
    readonly subHeight = 28,
    hidden: readonly Hidden[] = [],
  ) {
    this.#hidden = hidden
      .map(({ item, rows }) => ({ item, rows: Math.min(rows, count - item - 1) }))
      .filter(({ rows }) => rows > 0)
      .toSorted((a, b) => a.item - b.item);
    this.shown = count - this.#hidden.reduce((sum, one) => sum + one.rows, 0);
    this.#folds = folds
      .filter((fold) => fold.item < count && fold.rows > 0 && this.isShown(fold.item))
      .map((fold) => ({ item: this.#indexOf(fold.item), rows: fold.rows }))
      .toSorted((a, b) => a.item - b.item);
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
    this.rows = this.shown + extra;
    this.total = this.shown * height + extra * subHeight;
  }

  isShown(item: number): boolean {
    return !this.#hidden.some((one) => item > one.item && item <= one.item + one.rows);
  }

  /** Returns the item that is this many shown ones away, or the last one in that direction. */
  beside(item: number, by: number): number {
    return this.#itemAt(Math.max(0, Math.min(this.shown - 1, this.#indexOf(item) + by)));
  }

  /** Ranges of the items that rows stand for, from the first to before the end. */
  ranges(first: number, end: number): [first: number, end: number][] {
    if (end <= first) return [];
    const from = this.#placeOf(first).item;
    const to = this.#placeOf(end - 1).item;
    const found: [number, number][] = [];
    for (let index = from; index <= to; index++) {
      const item = this.#itemAt(index);
      const last = found.at(-1);
      if (last?.[1] === item) last[1] = item + 1;
      else found.push([item, item + 1]);
    }
    return found;
  }

  /** Place of an item among those that are shown; of a hidden one, that of the one before it. */
  #indexOf(item: number): number {
    let less = 0;
    for (const one of this.#hidden) {
      if (item <= one.item) break;
      if (item <= one.item + one.rows) return one.item - less;
      less += one.rows;
    }
    return item - less;
  }

  #itemAt(index: number): number {
    let item = index;
    for (const one of this.#hidden) {
      if (item <= one.item) break;
      item += one.rows;
    }
    return item;
  }

  /** As `place`, with the place of the item among those that are shown. */
  #placeOf(flat: number): Place {
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

  #flatAt(index: number): number {
    let extra = 0;
    for (const fold of this.#folds) {
      if (fold.item >= index) break;
      extra += fold.rows;
    }
    return index + extra;
  }

  place(flat: number): Place {
    const { item, sub } = this.#placeOf(flat);
    return { item: this.#itemAt(item), sub };
  }

  flatOf(item: number, sub = -1): number {
    return this.#flatAt(this.#indexOf(item)) + sub + 1;
  }

  top(flat: number): number {
    const { item, sub } = this.#placeOf(flat);
    const extra = this.#flatAt(item) - item;
    const start = item * this.height + extra * this.subHeight;
    return sub < 0 ? start : start + this.height + sub * this.subHeight;
  }

  heightOf(flat: number): number {
    return this.#placeOf(flat).sub < 0 ? this.height : this.subHeight;
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
