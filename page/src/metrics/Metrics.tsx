// Metrics of many lineages and tasks, as small charts over one axis.

import { useTicks } from "#acting";
import { useMemo, useState } from "preact/hooks";
import { parsePoint, TASKS } from "../address.ts";
import type { Axis, Route } from "../address.ts";
import { metrics, series, summary } from "../api/calls.ts";
import { readWhole } from "../api/read-on.ts";
import type { MetricCount, Series } from "../api/types.ts";
import { go, isShare, openDialog } from "../app-state.ts";
import { GoToDialog } from "../dialogs/GoTo.tsx";
import { useActs } from "../keyboard.ts";
import type { Control } from "../parts/fit.ts";
import { Frame } from "../parts/Frame.tsx";
import { Choice, copy, Stale, Waiting } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Chart } from "./Chart.tsx";
import type { Pointed } from "./Chart.tsx";
import { linesOf } from "./lines.ts";
import type { Line } from "./lines.ts";
import type { Drawing } from "./ticks.tsx";
import { NumbersTable } from "./NumbersTable.tsx";
import { Values } from "./Values.tsx";

type MetricsRoute = Extract<Route, { screen: "metrics" }>;

const CHARTS = 6;

/** Reads the names of the metrics of a few of the histories. */
async function namesOf(at: readonly string[], signal: AbortSignal): Promise<string[]> {
  const names = new Map<string, MetricCount>();
  for (const address of at.slice(0, 3)) {
    const { task, lineage } = parsePoint(address);
    const id = lineage ?? (await summary(task, signal)).active;
    const found = await readWhole(() => metrics(task, id, signal), (all) => [all]);
    for (const one of found.items) names.set(one.name, one);
  }
  return [...names.keys()];
}

/** Reads the values of a metric. */
function readSeries(route: MetricsRoute, metric: string, signal: AbortSignal): Promise<Series> {
  const asked = { at: route.at.slice(0, 50), metric, points: 500, x: route.x };
  return readWhole(
    () => series(asked, signal),
    (found) => found.items,
  );
}

interface ShownProps {
  route: MetricsRoute;
  name: string;
  log: boolean;
  height: number;
  chosen: number;
  table: boolean;
  ticks: Drawing | null;
  onCursor: (at: Pointed | null) => void;
  onOpen: (line: Line, offset: number) => void;
}

function Shown(props: ShownProps) {
  const { route, name } = props;
  const key = `${name} ${route.x} ${route.at.join(" ")}`;
  const asked = useAsk(key, (signal) => readSeries(route, name, signal), true);
  const lines = useMemo(() => (asked.value ? linesOf(asked.value) : []), [asked.value]);
  return (
    <figure>
      <h2>
        <Text text={name} />
      </h2>
      <Stale of={asked} />
      {!asked.value ? (
        <Waiting of={asked} what={name} />
      ) : props.table ? (
        <NumbersTable name={name} lines={lines} axis={route.x} />
      ) : (
        <Chart
          name={name}
          lines={lines}
          axis={route.x}
          log={props.log}
          height={props.height}
          chosen={props.chosen}
          ticks={props.ticks}
          onCursor={props.onCursor}
          onOpen={props.onOpen}
        />
      )}
    </figure>
  );
}

export function Metrics({ route }: { route: MetricsRoute }) {
  const w = words.value;
  const [log, setLog] = useState(false);
  const [table, setTable] = useState(false);
  const [chosen, setChosen] = useState(0);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const names = useAsk(
    route.metric === "" && route.at.length > 0 ? route.at.slice(0, 3).join(" ") : null,
    (signal) => namesOf(route.at, signal),
  );
  const shown = route.metric !== "" ? [route.metric] : (names.value?.slice(0, CHARTS) ?? []);
  const step = (by: number) => {
    setChosen((chosen + by + route.at.length) % Math.max(1, route.at.length));
  };
  useActs({
    leave: () => (history.length > 1 ? history.back() : go(TASKS)),
    nextLineage: () => step(1),
    previousLineage: () => step(-1),
    view: { run: () => setTable(!table), name: table ? w.asChart : w.asTable },
    goTo: () => openDialog(() => <GoToDialog lineage={null} />),
    share: { run: () => {}, why: isShare() ? w.shareWhy : w.notYet },
    copyLink: () => void copy(location.href),
  });
  const open = (of: string, offset: number) => {
    const { task, lineage } = parsePoint(of);
    const address = `${lineage === null ? task : `${task}/${lineage}`}@${offset}`;
    go({ screen: "task", address, tab: "step", pointer: "", view: "" });
  };
  const ticks = useTicks(shown.length > 0 ? route.at[chosen] : undefined, route.x, open);
  const scale = () => (
    <Choice
      plain
      label={w.scale}
      value={log ? "log" : "linear"}
      of={[
        ["linear", w.linearScale],
        ["log", w.logScale],
      ]}
      onChange={(value) => setLog(value === "log")}
    />
  );
  const axis = () => (
    <Choice<Axis>
      plain
      label={w.axis}
      value={route.x}
      of={[
        ["step", w.axisStep],
        ["time", w.axisTime],
        ["offset", w.axisOffset],
      ]}
      onChange={(to) => go({ ...route, x: to }, true)}
    />
  );
  const metric = () => (
    <Choice
      label={w.columnMetric}
      value={route.metric}
      of={[["", w.metrics], ...(names.value ?? []).map((name) => [name, name] as const)]}
      onChange={(to) => go({ ...route, metric: to }, true)}
    />
  );
  const shape = () => (
    <button type="button" aria-pressed={table} onClick={() => setTable(!table)}>
      {table ? w.asChart : w.asTable} <kbd aria-hidden="true">v</kbd>
    </button>
  );
  const controls: Control[] = [
    { draw: scale },
    { draw: axis },
    ...(names.value && names.value.length > CHARTS ? [{ draw: metric }] : []),
    { act: "view", draw: shape },
  ];
  return (
    <Frame
      head={
        <>
          <h1>{w.metrics}</h1>
          <span class="chip" data-gives={20}>{w.countLineages(String(route.at.length))}</span>
        </>
      }
      title={`${w.metrics} · ${route.at[0] ?? ""}`}
      controls={controls}
      keys={[
        ["previousLineage", "nextLineage", w.lineage],
        ["view", null, w.asTable],
        ["leave", null, w.keyLeave],
      ]}
      end={<span>{w.band}</span>}
    >
      <main class="cols" aria-label={w.metrics}>
        <div class="charts" tabIndex={0} role="region" aria-label={w.metrics}>
          {names.problem && <Waiting of={names} what={w.metrics} />}
          {route.metric === "" && !names.value && <Waiting of={names} what={w.metrics} />}
          {names.value?.length === 0 && (
            <div class="state">
              <h2>{w.noMetrics}</h2>
              <p class="dim">{w.noMetricsHow}</p>
            </div>
          )}
          {shown.map((name) => (
            <Shown
              key={name}
              route={route}
              name={name}
              log={log}
              height={[420, 420, 320][shown.length] ?? 240}
              chosen={chosen}
              table={table}
              ticks={ticks?.drawn ?? null}
              onCursor={setPointed}
              onOpen={(line, offset) => open(line.address, offset)}
            />
          ))}
          {ticks?.list}
        </div>
        <Values route={route} names={shown} pointed={pointed} chosen={chosen} choose={setChosen} onOpen={open} />
      </main>
    </Frame>
  );
}
