// Zoom of the map: a part of the offsets, chosen by dragging over them or by buttons.

import { useEffect, useRef, useState } from "preact/hooks";
import { overview } from "../api/calls.ts";
import { readWhole } from "../api/read-on.ts";
import type { Bucket } from "../api/types.ts";
import { count } from "../format.ts";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { button, useAxis } from "./MapAxis.tsx";
import type { Axis } from "./MapAxis.tsx";
import type { MapProps } from "./Map.tsx";

type Range = readonly [from: number, to: number];

/** `drawn` has the part over which the pointer is dragged, too. */
export interface Zoom extends Omit<Axis, "told"> {
  bucketsOf: MapProps["bucketsOf"];
  /** Handlers of presses and moves on the drawing. */
  drag: preact.SVGAttributes<SVGSVGElement>;
  /** Whether the click that comes now ends a drag. */
  hasDragged: () => boolean;
}

export interface ZoomRequest extends MapProps {
  most: number;
  /** Returns the share of the width at a distance from the left of the window. */
  shareAt: (clientX: number) => number;
}

/** Buckets of an overview: all that a zoom shows parts of, and how many it draws. */
const ASKED = 2_000;
const DRAWN = 200;
/** Fewest buckets that a zoom leaves, and the factor of a button. */
const LEAST = 16;
const FACTOR = 4;
/** Lineages of which the map has buckets, and the events of each that is not open. */
const LANES = 8;
const LONGEST = 20_000;
/** Pixels below which a drag is a click. */
const DRAG = 4;

function sum(buckets: readonly Bucket[], of: "events" | "steps" | "calls" | "failed" | "marks") {
  return buckets.reduce((all, one) => all + one[of], 0);
}

/** Returns the buckets of a range, joined so that there are at most `most`. */
export function part(buckets: readonly Bucket[], [from, to]: Range, most = DRAWN): Bucket[] {
  const inside = buckets.filter((one) => one.from < to && one.from + one.events > from);
  const size = Math.ceil(inside.length / most);
  if (size <= 1) return inside;
  const found: Bucket[] = [];
  for (let i = 0; i < inside.length; i += size) {
    const some = inside.slice(i, i + size);
    found.push({
      from: some[0]!.from,
      events: sum(some, "events"),
      steps: sum(some, "steps"),
      calls: sum(some, "calls"),
      failed: sum(some, "failed"),
      marks: sum(some, "marks"),
    });
  }
  return found;
}

/** Moves a range into what there is. */
export function within([from, to]: Range, most: number): Range | null {
  const size = Math.round(to - from);
  if (size >= most) return null;
  const first = Math.round(Math.max(0, Math.min(from, most - size)));
  return [first, first + size];
}

const area = ([from, to]: readonly number[], height: number) =>
  `M${from} 0H${to}V${height}H${from}z`;

/** Zoom of the task that was shown last, for its other lineages. */
let last: { task: string; range: Range | null } = { task: "", range: null };

/** Reads finer overviews of the open lineage, and of the others. */
function useFiner(props: MapProps, on: boolean): ReadonlyMap<number, readonly Bucket[]> {
  const { task, open } = props;
  const end = props.bucketsOf(open).at(-1);
  const reach = end ? end.from + end.events : 0;
  const read = async (id: number, signal: AbortSignal) => {
    const load = () => overview(task, id, ASKED, signal);
    return (await readWhole(load, (found) => [found])).buckets;
  };
  const own = useAsk(on ? `${task}/${open} ${reach}` : null, (signal) => read(open, signal), true);
  const others = props.lineages
    .filter((one) => one.id !== open && one.head <= LONGEST)
    .slice(0, LANES);
  const rest = useAsk(
    on ? `${task} ${others.map((one) => one.id).join(" ")}` : null,
    async (signal) => {
      const found = new Map<number, readonly Bucket[]>();
      for (const { id } of others) found.set(id, await read(id, signal));
      return found;
    },
  );
  const all = new Map(rest.value);
  if (own.value) all.set(open, own.value);
  return all;
}

export function useZoom(props: ZoomRequest): Zoom {
  const w = words.value;
  const { most, cursor, open } = props;
  const [kept, keep] = useState(() => (last.task === props.task ? last.range : null));
  const [shade, setShade] = useState<Range | null>(null);
  const start = useRef<{ x: number; offset: number } | null>(null);
  const dragged = useRef(false);
  const zoomed = kept && within(kept, most);
  const range: Range = zoomed ?? [0, most];
  const finer = useFiner(props, zoomed !== null);
  const size = range[1] - range[0];
  const bucketsOf: MapProps["bucketsOf"] = (id) =>
    (zoomed && finer.get(id)) || props.bucketsOf(id);
  const axis = useAxis(props, range, zoomed !== null, bucketsOf);
  const width = finer.get(open)?.[1]?.from ?? 1;
  const least = Math.min(most, LEAST * width);

  const show = (from: number, to: number) => {
    const missing = Math.max(0, least - (to - from)) / 2;
    const next = within([from - missing, to + missing], most);
    last = { task: props.task, range: next };
    keep(next);
  };
  const isInside = cursor >= range[0] && cursor < range[1];
  const scale = (by: number) => {
    const middle = isInside ? cursor : (range[0] + range[1]) / 2;
    const half = (size * by) / 2;
    show(middle - half, middle + half);
  };
  const move = (by: number) => {
    const step = (size * by) / 2;
    show(range[0] + step, range[1] + step);
  };
  // The cursor stays in view when it moves.
  useEffect(() => {
    if (zoomed && !isInside) show(cursor - size / 2, cursor + size / 2);
  }, [cursor]);

  const offsetAt = (event: PointerEvent) =>
    axis.offsetAt(open, props.shareAt(event.clientX));
  const drag: Zoom["drag"] = {
    onPointerDown: (event) => {
      dragged.current = false;
      if (event.button !== 0 || event.pointerType === "touch") return;
      start.current = { x: event.clientX, offset: offsetAt(event) };
    },
    onPointerMove: (event) => {
      const from = start.current;
      if (!from || (!dragged.current && Math.abs(event.clientX - from.x) < DRAG)) return;
      if (!dragged.current) event.currentTarget.setPointerCapture(event.pointerId);
      dragged.current = true;
      const to = offsetAt(event);
      setShade([Math.min(from.offset, to), Math.max(from.offset, to)]);
    },
    onPointerUp: () => {
      if (dragged.current && shade) show(...shade);
      start.current = null;
      setShade(null);
    },
    onPointerCancel: () => {
      start.current = null;
      setShade(null);
    },
  };

  const shown = zoomed ? [w.fromTo(count(range[0]), count(range[1]))] : [];
  const told = [...shown, ...axis.told];
  const controls = (
    <div class="zoom" role="group" aria-label={w.mapPart}>
      {button("+", w.zoomIn, () => scale(1 / FACTOR), size > least)}
      {button("−", w.zoomOut, () => scale(FACTOR), zoomed !== null)}
      {button("‹", w.zoomEarlier, () => move(-1), range[0] > 0)}
      {button("›", w.zoomLater, () => move(1), range[1] < most)}
      {button("↔", w.zoomAll, () => show(0, most), zoomed !== null)}
      {axis.controls}
      <span role="status">{told.join(" · ")}</span>
    </div>
  );
  return {
    share: axis.share,
    offsetAt: axis.offsetAt,
    bucketsOf: (id) => {
      if (!zoomed) return props.bucketsOf(id);
      return part(bucketsOf(id), [axis.offsetAt(id, 0), axis.offsetAt(id, 1)]);
    },
    drag,
    hasDragged: () => dragged.current,
    drawn: (pixel, height) => (
      <>
        {axis.drawn(pixel, height)}
        {shade && (
          <path class="shade" d={area(shade.map((one) => pixel(axis.share(open, one))), height)} />
        )}
      </>
    ),
    controls,
  };
}
