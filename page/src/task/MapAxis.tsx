// The x axis of the map: offsets, or times with or without idle time.

import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Bucket, Lineage } from "../api/types.ts";
import { count, duration } from "../format.ts";
import { keep, kept } from "../kept.ts";
import { words } from "../words/index.ts";
import type { MapProps } from "./Map.tsx";
import { along, timeAxis, timesOf } from "./time-axis.ts";
import type { TimeAxis, Times } from "./time-axis.ts";

export interface Axis {
  /**
   * Place of an event of a lineage, as a share of the width. On an axis of times it is that of the
   * event `before` offsets earlier.
   */
  share: (lineage: number, offset: number, before?: number) => number;
  /** Offset of a lineage at a share of the width. */
  offsetAt: (lineage: number, share: number) => number;
  /** Breaks of the axis. */
  drawn: (pixel: (share: number) => number, height: number) => preact.ComponentChildren;
  controls: preact.ComponentChildren;
  /** What the axis leaves out. */
  told: readonly string[];
}

const KEY = "milepost.map";
type Kind = "offset" | "time" | "all-times";

function first(): Kind {
  const found = kept(KEY);
  return found === "time" || found === "all-times" ? found : "offset";
}

/** Axis that the person chose; of times, `time` has no idle time. */
const kind = signal<Kind>(first());

function choose(to: Kind): void {
  kind.value = to;
  keep(KEY, to);
}

/** Button with a sign, disabled where it does nothing. */
export function button(sign: string, name: string, run: () => void, on: boolean, down?: boolean) {
  return (
    <button
      type="button"
      aria-label={name}
      title={name}
      aria-pressed={down}
      aria-disabled={!on}
      onClick={() => on && run()}
    >
      {sign}
    </button>
  );
}

interface Read {
  cut: boolean;
  buckets: readonly (readonly Bucket[])[];
  times: ReadonlyMap<number, Times>;
  axis: TimeAxis;
}

/** Makes the axis anew only if what it is made of has changed. */
function useTimes(of: readonly Lineage[], bucketsOf: MapProps["bucketsOf"], cut: boolean): Read {
  const made = useRef<Read | null>(null);
  const buckets = of.map((one) => bucketsOf(one.id));
  const old = made.current;
  const isSame = old?.cut === cut && old.buckets.length === buckets.length;
  if (old && isSame && buckets.every((one, i) => one === old.buckets[i])) return old;
  const times = new Map(
    of.map((one, i) => {
      const opened = { at: one.parent?.offset ?? 0, time: one.opened_us };
      return [one.id, timesOf(buckets[i]!, opened)];
    }),
  );
  made.current = { cut, buckets, times, axis: timeAxis([...times.values()], cut) };
  return made.current;
}

const slashes = (x: number, height: number) =>
  `M${x - 4} ${height}L${x} 0M${x} ${height}L${x + 4} 0`;

/** A range of offsets is one of the open lineage: on an axis of times it is the time between. */
export function useAxis(
  props: MapProps,
  [from, to]: readonly [number, number],
  isPart: boolean,
  bucketsOf: MapProps["bucketsOf"],
): Axis {
  const w = words.value;
  const isTime = kind.value !== "offset";
  const cut = kind.value !== "all-times";
  const lineages = isTime ? props.lineages : [];
  const { axis, times, buckets } = useTimes(lineages, bucketsOf, cut);
  // Times are there once the overview of the open lineage is.
  const hasTimes = isTime && bucketsOf(props.open).length > 0;

  const controls = (
    <>
      {button("◷", w.mapTime, () => choose(isTime ? "offset" : "time"), true, isTime)}
      {button("//", w.mapCut, () => choose(cut ? "all-times" : "time"), isTime, isTime && cut)}
    </>
  );
  if (!hasTimes) {
    return {
      share: (_, offset) => (offset - from) / (to - from),
      offsetAt: (_, share) => from + share * (to - from),
      drawn: () => null,
      controls,
      told: [],
    };
  }
  const placeOf = (id: number, offset: number) => {
    const { offsets, times: at } = times.get(id)!;
    return axis.placeOf(along(offsets, at, offset));
  };
  const begin = isPart ? placeOf(props.open, from) : 0;
  const length = (isPart ? placeOf(props.open, to) - begin : axis.length) || 1;
  const share = (place: number) => (place - begin) / length;
  const seen = axis.breaks.filter((one) => share(one.to) > 0 && share(one.from) < 1);
  const untimed = buckets.filter((one) => one.length === 0).length;
  return {
    share: (id, offset, before = 0) => share(placeOf(id, Math.max(0, offset - before))),
    offsetAt: (id, at) => {
      const { offsets, times: own } = times.get(id)!;
      return along(own, offsets, axis.timeAt(begin + at * length));
    },
    drawn: (pixel, height) =>
      seen.map((one) => {
        const middle = pixel(share((one.from + one.to) / 2));
        return (
          <path class="break" d={slashes(middle, height)}>
            <title>{w.mapIdle(duration(one.time))}</title>
          </path>
        );
      }),
    controls,
    told: [
      ...(seen.length > 0 ? [w.mapBreaks(count(seen.length))] : []),
      ...(untimed > 0 ? [w.mapUntimed(count(untimed))] : []),
    ],
  };
}
