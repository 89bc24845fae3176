// Head of the table of tasks: columns that sort.

import type { Route } from "../address.ts";
import { go } from "../app-state.ts";
import { words } from "../words/index.ts";
import type { Shown } from "./cells.tsx";

type TasksRoute = Extract<Route, { screen: "tasks" }>;

interface HeadProps {
  route: TasksRoute;
  shown: Shown;
  setShown: (shown: Shown) => void;
  metric: string;
}

/** Columns in which a first click sorts upwards, since names are read from A. */
const UPWARDS = new Set(["id"]);

export function nextSort(sort: string, column: string): string {
  if (sort === column) return `-${column}`;
  if (sort === `-${column}`) return UPWARDS.has(column) ? "" : column;
  return UPWARDS.has(column) ? column : `-${column}`;
}

export function TableHead({ route, shown, setShown, metric }: HeadProps) {
  const w = words.value;
  const sort = route.sort || "-changed";
  const Column = (props: { of: string; name: string; num?: boolean }) => {
    const up = sort === props.of;
    const down = sort === `-${props.of}`;
    return (
      <span
        role="columnheader"
        class={props.num ? "num" : ""}
        aria-sort={up ? "ascending" : down ? "descending" : "none"}
      >
        <button
          type="button"
          title={w.sortBy(props.name)}
          onClick={() => go({ ...route, sort: nextSort(sort, props.of) }, true)}
        >
          {props.name}
          <span aria-hidden="true">{up ? " ↑" : down ? " ↓" : ""}</span>
        </button>
      </span>
    );
  };
  const next: Record<Shown, Shown> = { last: "min", min: "max", max: "last" };
  return (
    <div role="grid" aria-label={w.tasks} aria-rowcount={1}>
      <div class="row head" role="row">
        <span role="columnheader">
          <span class="hidden">{w.columnChoose}</span>
        </span>
        <Column of="id" name={w.columnTask} />
        <span role="columnheader">{w.columnState}</span>
        <Column of="steps" name={w.columnSteps} num />
        <Column of="calls" name={w.columnCalls} num />
        <Column of="failed" name={w.columnFailed} num />
        <Column of="events" name={w.columnEvents} num />
        <Column of="outcome" name={w.columnLineages} />
        <Column of="tokens" name={w.columnTokens} num />
        <Column of="cost" name={w.columnCost} num />
        <span role="columnheader" class="num">
          <button type="button" title={w.metricShown} onClick={() => setShown(next[shown])}>
            {metric || w.columnMetric} {w[shown]}
          </button>
        </span>
        <Column of="changed" name={w.columnChanged} num />
      </div>
    </div>
  );
}
