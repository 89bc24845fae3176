// Map of the lineages: a lane each, the offset from left to right.

import { useZoom } from "#acting";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Bucket, Lineage, LineageSummary } from "../api/types.ts";
import { count } from "../format.ts";
import { OutcomeSign } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";

const LANE = 24;

export interface MapProps {
  task: string;
  lineages: readonly Lineage[];
  summaries: readonly LineageSummary[];
  /** Lineage that is open, and its head. */
  open: number;
  head: number;
  bucketsOf: (lineage: number) => readonly Bucket[];
  cursor: number;
  /** Offsets of the open lineage where a text was found. */
  hits: readonly number[];
  onGo: (lineage: number, offset: number) => void;
}

interface LaneProps {
  x: (offset: number) => number;
  y: number;
  /** Pixel of its beginning. */
  start: number;
  from: number;
  head: number;
  own: boolean;
  buckets: readonly Bucket[];
}

/** Least distance of marks on average, in pixels, at which a lane shows them. */
const MARK_GAP = 11;

function Ticks({ x, y, buckets, from, own }: LaneProps) {
  const tone = own ? "tick" : "tick other";
  const mark = own ? "tick-mark" : "tick-mark other";
  const inLane = buckets.filter((bucket) => bucket.from + bucket.events > from);
  const marked = inLane.filter((bucket) => bucket.marks > 0).map((one) => x(one.from));
  const length = (marked.at(-1) ?? 0) - (marked[0] ?? 0);
  const showsMarks = length >= MARK_GAP * (marked.length - 1);
  return (
    <>
      {inLane.map((bucket) => {
        const at = x(bucket.from);
        return (
          <>
            {bucket.calls > 0 && <path class={tone} d={`M${at} ${y - (own ? 7 : 5)}V${y}`} />}
            {bucket.failed > 0 && <path class="tick-bad" d={`M${at} ${y - 8}V${y + 8}`} />}
            {showsMarks && bucket.marks > 0 && (
              <path class={mark} d={`M${at} ${y - 4}l4 4l-4 4l-4-4z`} />
            )}
          </>
        );
      })}
    </>
  );
}

function Lane(props: LaneProps) {
  const { x, y, start, head, own } = props;
  return (
    <>
      <path class={own ? "lane own" : "lane"} d={`M${start} ${y}H${x(head)}`} />
      <Ticks {...props} />
    </>
  );
}

function useWidth() {
  const element = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(900);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.max(100, Math.round(entry.contentRect.width)));
    });
    watch.observe(element.current!);
    return () => watch.disconnect();
  }, []);
  return [element, width] as const;
}

export function LineageMap(props: MapProps) {
  const w = words.value;
  const { lineages } = props;
  const [svg, width] = useWidth();
  const names = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    names.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [props.open, lineages.length]);
  const headOf = (one: Lineage) => (one.id === props.open ? props.head : one.head);
  const most = Math.max(1, ...lineages.map(headOf));
  const shareAt = (clientX: number) => {
    const box = svg.current!.getBoundingClientRect();
    return Math.max(0, Math.min(1, (clientX - box.left - 4) / (box.width - 8)));
  };
  const zoom = useZoom({ ...props, most, shareAt });
  const pixel = (share: number) => Math.round(share * (width - 8) * 10) / 10 + 4;
  const row = new Map(lineages.map((one, i) => [one.id, i]));
  const y = (id: number) => (row.get(id) ?? 0) * LANE + LANE / 2;
  const height = lineages.length * LANE;
  /** One tick for a pixel, however many hits it has. */
  const hitTicks = () => {
    const places = props.hits.map((offset) => Math.round(pixel(zoom.share(props.open, offset))));
    return [...new Set(places)].map((at) => `M${at} ${y(props.open) - 11}v6`).join("");
  };
  const onClick = (event: MouseEvent) => {
    const box = svg.current!.getBoundingClientRect();
    const lane = lineages[Math.floor((event.clientY - box.top) / LANE)];
    if (!lane || zoom.hasDragged()) return;
    const offset = Math.round(zoom.offsetAt(lane.id, shareAt(event.clientX)));
    props.onGo(lane.id, Math.max(0, Math.min(offset, headOf(lane) - 1)));
  };
  return (
    <section class="map" aria-label={w.lineageMap}>
      <div class="names" ref={names}>
        {lineages.map((one) => (
          <a
            href="#"
            aria-current={one.id === props.open ? "true" : undefined}
            onClick={(event) => {
              event.preventDefault();
              props.onGo(one.id, -1);
            }}
          >
            {one.id} <Text text={one.description || (one.parent ? one.type : w.root)} />
            {one.active && lineages.length > 1 ? ` · ${w.active}` : ""}
          </a>
        ))}
      </div>
      <svg
        ref={svg}
        viewBox={`0 0 ${width} ${height}`}
        height={height}
        role="img"
        aria-label={w.lineageMapOf(count(lineages.length))}
        onClick={onClick}
        {...zoom.drag}
      >
        {lineages.map((one) => {
          const fork = one.parent?.offset ?? 0;
          const parent = one.parent && row.has(one.parent.lineage) ? one.parent.lineage : one.id;
          const x = (offset: number) => pixel(zoom.share(one.id, offset));
          // A lineage parts from its parent at the event before its own first one.
          const start = pixel(zoom.share(one.id, fork, 1));
          return (
            <>
              <path class="lane" d={`M${start} ${y(parent)}V${y(one.id)}`} />
              <Lane
                x={x}
                y={y(one.id)}
                start={start}
                from={fork}
                head={headOf(one)}
                own={one.id === props.open}
                buckets={zoom.bucketsOf(one.id)}
              />
            </>
          );
        })}
        {props.hits.length > 0 && <path class="tick-hit" d={hitTicks()} />}
        <path class="cursor" d={`M${pixel(zoom.share(props.open, props.cursor))} 0V${height}`} />
        {zoom.drawn(pixel, height)}
      </svg>
      <div class="ends">
        {lineages.map((one) => {
          const summary = props.summaries.find((s) => s.id === one.id);
          return (
            <span>
              {summary && <OutcomeSign of={summary.outcome} long />} <span>@{headOf(one)}</span>
            </span>
          );
        })}
      </div>
      {zoom.controls}
    </section>
  );
}
