// Chart of a metric: a line for each history, with the band from least to greatest value.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Axis } from "../address.ts";
import { count, measure, shortTime } from "../format.ts";
import { settings } from "../settings.ts";
import { language, words } from "../words/index.ts";
import { aligned, known, lookOf, nearest } from "./lines.ts";
import type { Line } from "./lines.ts";
import type { Drawing } from "./ticks.tsx";

interface ChartProps {
  name: string;
  lines: readonly Line[];
  axis: Axis;
  log: boolean;
  height: number;
  /** Line that is drawn on top, in the accent's colour. */
  chosen: number;
  /** Events of the chosen line on the x axis. */
  ticks: Drawing | null;
  /** The place of the pointer: on the x axis, and its height in this chart. */
  onCursor: (at: Pointed | null) => void;
  onOpen: (line: Line, offset: number) => void;
}

export interface Pointed {
  x: number;
  /** Name of the metric. */
  name: string;
  /** Value on the y axis. */
  height: number;
}

/** Opacity of the band between least and greatest values, as two hexadecimal digits. */
const BAND = "59";
/** Part of the y axis from which on a bucket shows its least and greatest value as a line. */
const SPIKE = 0.05;

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Numbers of the lines in the order of drawing: the chosen one last, so that it is on top. */
function orderOf(props: ChartProps): number[] {
  const all = props.lines.map((_, i) => i);
  return [...all.filter((i) => i !== props.chosen), ...all.filter((i) => i === props.chosen)];
}

/** Series of uPlot: for each line its greatest, its least and its last value. */
function seriesOf(props: ChartProps): { series: uPlot.Series[]; bands: uPlot.Band[] } {
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const i of orderOf(props)) {
    const line = props.lines[i]!;
    const look = lookOf(i, props.chosen);
    const stroke = colour(look.colour);
    const edge = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
    const at = series.length;
    series.push(edge, { ...edge });
    bands.push({ series: [at, at + 1], fill: `${stroke}${BAND}` });
    series.push({
      label: line.address,
      stroke,
      width: look.width,
      dash: look.dash,
      spanGaps: true,
      points: { show: line.places.length < 2 },
    });
  }
  return { series, bands };
}

function drawTicks(plot: uPlot, { ticks, lines, chosen }: ChartProps): void {
  const line = lines[chosen];
  if (line) ticks?.draw(plot, line, { mark: colour("--dim"), guidance: colour("--warn") });
}

/** Draws the least to the greatest value of each bucket in which they are far from each other. */
function drawSpikes(plot: uPlot, props: ChartProps): void {
  const { ctx, bbox } = plot;
  const { min = 0, max = 0 } = plot.scales["y"] ?? {};
  const least = Math.abs((plot.valToPos(min ?? 0, "y", true) - plot.valToPos(max ?? 0, "y", true)) * SPIKE);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const i of orderOf(props)) {
    ctx.strokeStyle = colour(lookOf(i, props.chosen).colour);
    ctx.beginPath();
    for (const place of props.lines[i]!.places) {
      const [low, high] = [place.min, place.max].map((value) => plot.valToPos(value, "y", true));
      if (!(Math.abs(low! - high!) > least)) continue;
      const x = plot.valToPos(place.x, "x", true);
      ctx.moveTo(x, low!);
      ctx.lineTo(x, high!);
    }
    ctx.stroke();
  }
  ctx.restore();
}

function optionsOf(props: ChartProps, width: number, latest: () => ChartProps): uPlot.Options {
  const [line, ink] = [colour("--line"), colour("--dim")];
  const x = (values: number[]) =>
    values.map((value) => (props.axis === "time" ? shortTime(value) : count(value)));
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  return {
    width,
    height: props.height,
    ...seriesOf(props),
    scales: { x: { time: false }, y: props.log ? { distr: 3 } : {} },
    axes: [
      { ...axis, values: (_, values) => x(values) },
      {
        ...axis,
        size: 64,
        values: (_, values) => values.map((v) => (v === null ? "" : measure(v))),
      },
    ],
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false }, sync: { key: "metrics" } },
    hooks: {
      draw: [(plot) => drawSpikes(plot, latest()), (plot) => drawTicks(plot, latest())],
      setCursor: [
        (plot) => {
          const { idx: i, top = 0 } = plot.cursor;
          const x = i == null ? undefined : plot.data[0][i];
          const { name } = props;
          props.onCursor(x === undefined ? null : { x, name, height: plot.posToVal(top, "y") });
        },
      ],
    },
  };
}

function dataOf(props: ChartProps): uPlot.AlignedData {
  const { xs, values } = aligned(props.lines);
  const positive = (of: (number | null)[]) =>
    props.log ? of.map((v) => (v !== null && v > 0 ? v : null)) : of;
  const columns = orderOf(props).flatMap((i) => {
    const one = values[i]!;
    return [one.max, one.min, one.last].map(positive);
  });
  return [xs, ...columns] as uPlot.AlignedData;
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { theme } = settings.value;
  const text = language.value;

  useEffect(() => {
    known.value = new Map(known.peek()).set(props.name, props.lines);
  }, [props.lines]);

  useEffect(() => {
    const element = box.current!;
    const made = new uPlot(
      optionsOf(props, element.clientWidth || 800, () => latest.current),
      dataOf(props),
      element,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => {
      if (element.clientWidth > 0)
        made.setSize({ width: element.clientWidth, height: props.height });
    });
    watch.observe(element);
    const tickAt = ({ offsetX, offsetY }: MouseEvent) => {
      const { ticks, lines, chosen } = latest.current;
      const line = lines[chosen];
      return (line && ticks?.at(made, line, offsetX, offsetY)) ?? null;
    };
    made.over.addEventListener("click", (event) => {
      const i = made.cursor.idx;
      const now = latest.current;
      const line = now.lines[now.chosen];
      const x = i == null ? undefined : made.data[0][i];
      const places = line?.places ?? [];
      const place =
        x === undefined ? undefined : (places.findLast((one) => one.x <= x) ?? places[0]);
      const near = place && nearest(place, made.posToVal(made.cursor.top ?? 0, "y"));
      const offset = tickAt(event)?.offset ?? near?.at;
      if (line && offset !== undefined) now.onOpen(line, offset);
    });
    made.over.addEventListener("mousemove", (event) => {
      const tick = tickAt(event);
      made.over.title = tick ? `@${tick.offset} ${tick.mark?.label ?? tick.text}` : "";
    });
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, [props.lines, props.log, props.chosen, props.axis, props.height, theme, text]);

  useEffect(() => plot.current?.redraw(false), [props.ticks]);

  const label = words.value.chartOf(props.name, String(props.lines.length));
  return <div class="chart" ref={box} role="img" aria-label={label} />;
}
