// Right pane of the table: the task at the cursor.

import { formatRoute } from "../address.ts";
import type { Route } from "../address.ts";
import { stringify } from "../api/numbers.ts";
import type { LineageSummary, Summary } from "../api/types.ts";
import { go } from "../app-state.ts";
import { costOf, count, dateTime, measure } from "../format.ts";
import { controlWord, Fact, Key, OutcomeSign } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";

export function Link({ to, children }: { to: Route; children: preact.ComponentChildren }) {
  return (
    <a
      href={formatRoute(to)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}

export const taskRoute = (address: string): Route => ({
  screen: "task",
  address,
  tab: "step",
  pointer: "",
  view: "",
});

/** Comparison of a task's lineages: the first of another outcome, or the first other one. */
export function lineagesToCompare(task: Summary): string[] {
  const active = task.lineages.find((one) => one.id === task.active) ?? task.lineages[0];
  const others = task.lineages.filter((one) => one !== active);
  const different = others.find((one) => one.outcome.good !== active?.outcome.good);
  const other = different ?? others[0];
  if (!active || !other) return [];
  const [a, b] = other.id < active.id ? [other, active] : [active, other];
  return [`${task.id}/${a.id}`, `${task.id}/${b.id}`];
}

function LineageLine({ task, one }: { task: Summary; one: LineageSummary }) {
  const w = words.value;
  const other = task.active === one.id ? task.lineages.find((l) => l !== one) : undefined;
  const against = other ? other.id : task.active;
  const from = one.parent == null ? w.root : w.forkAt(String(one.parent), String(one.fork ?? "?"));
  return (
    <li class="small">
      <span class="m">{one.id}</span>
      <Link to={taskRoute(`${task.id}/${one.id}`)}>
        {from}
        {task.active === one.id ? ` · ${w.active}` : ""}
      </Link>
      <span class="m">
        <OutcomeSign of={one.outcome} long />
      </span>
      {task.lineages.length > 1 ? (
        <Link
          to={{
            screen: "compare",
            of: [`${task.id}/${against}`, `${task.id}/${one.id}`],
            only: false,
            texts: false,
          }}
        >
          {w.compare}
        </Link>
      ) : (
        <span />
      )}
    </li>
  );
}

export function Facts({ task }: { task: Summary }) {
  const w = words.value;
  const { usage } = task;
  const tokens =
    usage && (usage.input != null || usage.output != null)
      ? w.usageTokens(count(usage.input ?? 0), count(usage.output ?? 0))
      : null;
  return (
    <dl>
      <Fact name={w.title}>{task.title && <Text text={task.title} />}</Fact>
      <Fact name={w.control}>{controlWord(task.control)}</Fact>
      {task.phase && (
        <Fact name={w.phase}>
          <Text text={task.phase} />
        </Fact>
      )}
      <Fact name={w.columnSteps}>{count(task.steps)}</Fact>
      <Fact name={w.columnCalls}>
        {count(task.calls)} ({w.countFailed(count(task.failed))})
      </Fact>
      <Fact name={w.tokens}>{tokens}</Fact>
      <Fact name={w.cost}>{costOf(usage)}</Fact>
      <Fact name={w.model}>{usage?.model && <Text text={usage.model} />}</Fact>
      <Fact name={w.columnChanged}>{dateTime(task.changed_us)}</Fact>
      {Object.entries(task.metrics).map(([name, metric]) => (
        <Fact name={name}>
          {measure(metric.last)}{" "}
          <span class="dim">
            {w.min} {measure(metric.min)}, {w.max} {measure(metric.max)}
          </span>
        </Fact>
      ))}
      {Object.entries(task.columns ?? {}).map(([pointer, value]) => (
        <Fact name={pointer}>{stringify(value)}</Fact>
      ))}
    </dl>
  );
}

export function Chosen({ task }: { task: Summary }) {
  const w = words.value;
  const pair = lineagesToCompare(task);
  return (
    <aside class="pane side" aria-label={w.task}>
      <div class="doc" tabIndex={0} role="region" aria-label={task.id}>
        <h2>
          <Text text={task.id} />
        </h2>
        <div class="dim">
          {w.user} <Text text={task.user} /> · {w.countLineages(count(task.lineages.length))} ·{" "}
          {w.head} @{task.head}
        </div>
        <div class="buttons">
          <button class="main" type="button" onClick={() => go(taskRoute(task.id))}>
            {w.open} <Key act="open" />
          </button>
          {pair.length === 2 && (
            <button
              type="button"
              onClick={() => go({ screen: "compare", of: pair, only: false, texts: false })}
            >
              {w.compare} <Key act="compare" />
            </button>
          )}
          {Object.keys(task.metrics).length > 0 && (
            <button
              type="button"
              onClick={() =>
                go({
                  screen: "metrics",
                  at: task.lineages.map((one) => `${task.id}/${one.id}`).slice(0, 50),
                  metric: "",
                  x: "step",
                })
              }
            >
              {w.metrics}
            </button>
          )}
        </div>
        {task.unreadable && (
          <p class="bad">
            {w.unreadable} {task.unreadable}
          </p>
        )}
        <h3>{w.lineages}</h3>
        <ul class="bare">
          {task.lineages.map((one) => (
            <LineageLine task={task} one={one} />
          ))}
        </ul>
        {task.older_lineages > 0 && <div class="dim">{w.older(count(task.older_lineages))}</div>}
        {task.last_error && (
          <>
            <h3>{w.lastError}</h3>
            <div class="say bad">
              <Text text={task.last_error} />
            </div>
          </>
        )}
        <h3>{w.lastState}</h3>
        <Facts task={task} />
      </div>
    </aside>
  );
}
