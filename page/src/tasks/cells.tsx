// Cells of a row in the table of tasks.

import type { Metric, Summary } from "../api/types.ts";
import { chosen, toggleChosen } from "../app-state.ts";
import { costOf, count, measure, shortTime, tokensOf } from "../format.ts";
import { controlWord, OutcomeSign } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";

export type Shown = "last" | "min" | "max";

/** Returns the first metric by name, which the column shows unless the sort names one. */
export function metricOf(task: Summary, name: string): [name: string, metric: Metric] | null {
  const found = name && task.metrics[name];
  if (found) return [name, found];
  const first = name ? undefined : Object.keys(task.metrics).sort()[0];
  return first === undefined ? null : [first, task.metrics[first]!];
}

function Dash() {
  return (
    <span class="dim" title={words.value.notRecorded}>
      —<span class="hidden">{words.value.notRecorded}</span>
    </span>
  );
}

interface CellsProps {
  task: Summary;
  shown: Shown;
  metric: string;
}

export function Cells({ task, shown, metric }: CellsProps) {
  const w = words.value;
  const tokens = tokensOf(task.usage);
  const cost = costOf(task.usage);
  const value = metricOf(task, metric);
  const picked = chosen.value.includes(task.id);
  return (
    <>
      <span role="gridcell">
        <label class="pick" onClick={(event) => event.stopPropagation()}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={w.choose(task.id)}
            checked={picked}
            onChange={() => toggleChosen(task.id)}
          />
        </label>
      </span>
      <span role="gridcell" title={task.title ? `${task.id}\n${task.title}` : task.id}>
        <Text text={task.id} />
        {task.title && (
          <span class="dim">
            {"  "}
            <Text text={task.title} />
          </span>
        )}
      </span>
      <span role="gridcell" class={task.control === "running" ? "ok" : "dim"}>
        {controlWord(task.control)}
      </span>
      <span role="gridcell" class="num">
        {count(task.steps)}
      </span>
      <span role="gridcell" class="num">
        {count(task.calls)}
      </span>
      <span role="gridcell" class={task.failed === "0" ? "num dim" : "num bad"}>
        {count(task.failed)}
      </span>
      <span role="gridcell" class="num">
        {count(task.events)}
      </span>
      <span role="gridcell" class="m">
        {task.older_lineages > 0 && <span class="dim">+{task.older_lineages} </span>}
        {task.lineages.slice(-9).map((lineage) => (
          <>
            <OutcomeSign of={lineage.outcome} />{" "}
          </>
        ))}
      </span>
      <span role="gridcell" class="num">
        {tokens === null ? <Dash /> : count(tokens)}
      </span>
      <span role="gridcell" class="num">
        {cost ?? <Dash />}
      </span>
      <span role="gridcell" class="num" title={value ? value[0] : undefined}>
        {value ? measure(value[1][shown]) : <Dash />}
      </span>
      <span role="gridcell" class="dim num">
        {shortTime(task.changed_us)}
      </span>
    </>
  );
}
