// Cells of a row in the table of tasks.

import type { Metric, Summary } from "../api/types.ts";
import { chosen, toggleChosen } from "../app-state.ts";
import { costOf, count, measure, shortCount, shortMeasure, shortTime, tokensOf } from "../format.ts";
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

/** Count in a narrow column; a short form has the whole as its title. */
function Num({ of, tone = "" }: { of: number; tone?: string }) {
  const [short, whole] = [shortCount(of), count(of)];
  return (
    <span role="gridcell" class={`num ${tone}`} title={short === whole ? undefined : whole}>
      {short}
    </span>
  );
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
      <Num of={task.steps} />
      <Num of={task.calls} />
      <Num of={task.failed} tone={task.failed === 0 ? "dim" : "bad"} />
      <Num of={task.events} />
      <span role="gridcell" class="m">
        {task.older_lineages > 0 && <span class="dim">+{task.older_lineages} </span>}
        {task.lineages.slice(-9).map((lineage) => (
          <>
            <OutcomeSign of={lineage.outcome} />{" "}
          </>
        ))}
      </span>
      {tokens === null ? (
        <span role="gridcell" class="num">
          <Dash />
        </span>
      ) : (
        <Num of={tokens} />
      )}
      <span role="gridcell" class="num" title={cost ?? undefined}>
        {cost ?? <Dash />}
      </span>
      <span
        role="gridcell"
        class="num"
        title={value ? `${value[0]} ${measure(value[1][shown])}` : undefined}
      >
        {value ? shortMeasure(value[1][shown]) : <Dash />}
      </span>
      <span role="gridcell" class="dim num">
        {shortTime(task.changed_us)}
      </span>
    </>
  );
}
