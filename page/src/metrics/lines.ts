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
      count: Number(bucket.count),
      at: Number(bucket.at),
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
