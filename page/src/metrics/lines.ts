// Series of the service as lines of a chart, and the values of all lines on one axis.

import { signal } from "@preact/signals";
import type { Float, Series } from "../api/types.ts";

export interface Place {
  x: number;
  first: number;
  last: number;
  min: number;
  max: number;
  count: number;
  at: number;
  lastAt: number;
  minAt: number;
  maxAt: number;
}

export interface Line {
  address: string;
  places: readonly Place[];
}

/** Reads a number; those that JSON lacks are texts. */
export function float(value: Float): number {
  if (typeof value === "number") return value;
  if (/^-?inf(inity)?$/i.test(value)) return value.startsWith("-") ? -Infinity : Infinity;
  return value === "" ? NaN : Number(value);
}

export function linesOf(of: Series): Line[] {
  return of.items.map((item) => ({
    address: item.address,
    places: item.buckets.map((bucket) => ({
      x: Number(bucket.x),
      first: float(bucket.first),
      last: float(bucket.last),
      min: float(bucket.min),
      max: float(bucket.max),
      count: bucket.count,
      at: bucket.at,
      lastAt: bucket.last_at,
      minAt: bucket.min_at,
      maxAt: bucket.max_at,
    })),
  }));
}

/** Lines by the name of their metric, for the values beside the charts. */
export const known = signal<ReadonlyMap<string, readonly Line[]>>(new Map());

export interface Aligned {
  xs: number[];
  /** Of each line: last, least and greatest value at each x, or null. */
  values: { last: (number | null)[]; min: (number | null)[]; max: (number | null)[] }[];
}

/** Puts all lines on the union of their x. */
export function aligned(lines: readonly Line[]): Aligned {
  const all = new Set<number>();
  for (const line of lines) for (const place of line.places) all.add(place.x);
  const xs = [...all].sort((a, b) => a - b);
  const index = new Map(xs.map((x, i) => [x, i]));
  const values = lines.map((line) => {
    const empty = () => new Array<number | null>(xs.length).fill(null);
    const found = { last: empty(), min: empty(), max: empty() };
    for (const place of line.places) {
      const i = index.get(place.x)!;
      const [min, max] = [found.min[i] ?? null, found.max[i] ?? null];
      found.last[i] = finite(place.last);
      found.min[i] = min === null ? finite(place.min) : Math.min(min, place.min);
      found.max[i] = max === null ? finite(place.max) : Math.max(max, place.max);
    }
    return found;
  });
  return { xs, values };
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Returns the last place of a line at or before x. */
export function placeAt(line: Line, x: number): Place | undefined {
  const last = line.places[line.places.length - 1];
  if (!last || x > last.x) return undefined;
  return line.places.findLast((place) => place.x <= x);
}

/** Value of a place that a pointer is at, and the offset of its event. */
export interface Near {
  value: number;
  at: number;
}

/** Returns the first, last, least or greatest value of a place: the one nearest to a height. */
export function nearest(place: Place, height: number): Near {
  const { first, at, last, lastAt, min, minAt, max, maxAt } = place;
  const all = [[last, lastAt], [first, at], [max, maxAt], [min, minAt]] as const;
  let best: Near = { value: last, at: lastAt };
  for (const [value, of] of all) {
    const isNearer = Math.abs(value - height) < Math.abs(best.value - height);
    if (isNearer || !Number.isFinite(best.value)) best = { value, at: of };
  }
  return best;
}

/** Returns the least and the greatest value of a line; null without one that is a number. */
export function endsOf(line: Line): { min: Near; max: Near } | null {
  const places = line.places.filter((place) => place.min <= place.max);
  if (places.length === 0) return null;
  const low = places.reduce((best, one) => (one.min < best.min ? one : best));
  const high = places.reduce((best, one) => (one.max > best.max ? one : best));
  return {
    min: { value: low.min, at: low.minAt },
    max: { value: high.max, at: high.maxAt },
  };
}

const COLOURS = ["--dim", "--warn", "--ok", "--bad"];
const DASHES = [[], [5, 3], [2, 2], [8, 3, 2, 3]];

/** Returns how a line is drawn: the name of its colour, its dashes, its width. */
export function lookOf(index: number, chosen: number) {
  if (index === chosen) return { colour: "--accent", dash: [] as number[], width: 2.2 };
  const colour = COLOURS[index % COLOURS.length]!;
  return { colour, dash: DASHES[index % DASHES.length]!, width: 1.2 };
}
