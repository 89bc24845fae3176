// Axis of times for the map: where the events of lineages are in time, and idle time cut out of it.

import type { Bucket } from "../api/types.ts";

/** Times of a lineage at some of its offsets, both ascending. */
export interface Times {
  offsets: readonly number[];
  times: readonly number[];
}

/** A gap over this many times the median is idle time. */
const IDLE = 20;
/** Length of a break on the axis, and of all breaks, as shares of the times that are left. */
const BREAK = 0.02;
const BREAKS = 0.3;

/** Returns the times of a lineage, of which `opened` is the only one if no buckets are known. */
export function timesOf(buckets: readonly Bucket[], opened: { at: number; time: number }): Times {
  const timed = buckets.filter((one) => one.time_us !== undefined);
  if (timed.length === 0) return { offsets: [opened.at], times: [opened.time] };
  // A clock that was set back takes no event back.
  let latest = 0;
  const times = timed.map((one) => (latest = Math.max(latest, one.time_us ?? 0)));
  return { offsets: timed.map((one) => one.from), times };
}

/** Returns the value at `x` of a line through points of ascending `xs`; it is level beyond them. */
export function along(xs: readonly number[], ys: readonly number[], x: number): number {
  let [low, high] = [0, xs.length - 1];
  if (x <= xs[low]!) return ys[low]!;
  if (x >= xs[high]!) return ys[high]!;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle]! <= x) low = middle;
    else high = middle;
  }
  const [from, to] = [xs[low]!, xs[high]!];
  return ys[low]! + ((ys[high]! - ys[low]!) * (x - from)) / (to - from);
}

export interface Break {
  /** Places on the axis between which it is. */
  from: number;
  to: number;
  /** Time that it stands for, in microseconds. */
  time: number;
}

/** Places of times: they begin with 0, and idle time takes the room of a break. */
export interface TimeAxis {
  length: number;
  breaks: readonly Break[];
  placeOf: (time: number) => number;
  timeAt: (place: number) => number;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

/** Makes an axis of the times of all lineages, with or without idle time. */
export function timeAxis(lanes: readonly Times[], cut: boolean): TimeAxis {
  const all = new Set(lanes.flatMap((one) => one.times));
  const times = [...all].sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  const limit = cut ? IDLE * median(gaps) : Infinity;
  const idle = gaps.filter((gap) => gap > limit).length;
  const left = gaps.reduce((sum, gap) => sum + (gap > limit ? 0 : gap), 0);
  const length = left * Math.min(BREAK, BREAKS / idle);
  const places = [0];
  const breaks: Break[] = [];
  for (const gap of gaps) {
    const from = places.at(-1)!;
    const to = from + (gap > limit ? length : gap);
    places.push(to);
    if (gap > limit) breaks.push({ from, to, time: gap });
  }
  return {
    length: places.at(-1)!,
    breaks,
    placeOf: (time) => along(times, places, time),
    timeAt: (place) => along(places, times, place),
  };
}
