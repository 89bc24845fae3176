// Task at an address: finds the lineage and the place, and opens them.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { parsePoint } from "../address.ts";
import { at, lineages, summary } from "../api/calls.ts";
import { changed, go } from "../app-state.ts";
import { Frame, noteFromTasks } from "../parts/Frame.tsx";
import { ProblemBox, Waiting } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { LineageModel } from "./model.ts";
import type { TaskRoute } from "./props.ts";
import { Reader } from "./Reader.tsx";

/** Resolves an address that only the service can: of a label, a checkpoint, an alias. */
function useResolved(address: string) {
  const parts = parsePoint(address);
  const asks = parts.selector !== null;
  const asked = useAsk(asks ? address : null, (signal) => at(address, signal));
  const found = asked.value ? parsePoint(asked.value.address) : null;
  return { parts: asks ? found : parts, asked };
}

/**
 * Asks again after each action, and once for a lineage that is not known: it may be new. Returns
 * whether it was asked for since.
 */
function useReloads(unknown: number | null, asOf: number, reload: () => void): boolean {
  const since = useRef(0);
  const actions = changed.value;
  useEffect(() => {
    if (actions > 0) reload();
  }, [actions]);
  useEffect(() => {
    if (unknown === null) return;
    since.current = Date.now();
    reload();
  }, [unknown]);
  return since.current > 0 && asOf > since.current;
}

function Head({ task }: { task: string }) {
  return (
    <h1>
      <Text text={task} />
    </h1>
  );
}

function Trimmed({ begin }: { begin: string }) {
  const w = words.value;
  return (
    <div class="state">
      <h2>{w.trimmed}</h2>
      <p>{w.beginsAt(begin)}</p>
      <button
        type="button"
        onClick={() => go({ screen: "task", address: begin, tab: "step", pointer: "", view: "" })}
      >
        {w.toBegin}
      </button>
    </div>
  );
}

export function Task({ route }: { route: TaskRoute }) {
  const w = words.value;
  const { parts, asked } = useResolved(route.address);
  const task = parts?.task ?? null;
  const info = useAsk(task && `summary ${task}`, (signal) => summary(task!, signal));
  const list = useAsk(task && `lineages ${task}`, (signal) => lineages(task!, signal));
  useEffect(() => () => noteFromTasks(false), []);

  const mine = info.value?.id === task ? info.value : null;
  const items = mine && list.value ? list.value.items : null;
  const id = parts?.lineage ?? mine?.active ?? null;
  const lineage = items?.find((one) => one.id === id) ?? null;
  const model = useMemo(() => {
    if (!lineage || !task) return null;
    return new LineageModel(task, lineage.id, lineage.begin, lineage.head);
  }, [task, lineage?.id, lineage?.begin]);
  useEffect(() => () => model?.end(), [model]);

  const missing = mine !== null && items !== null && lineage === null;
  const reload = () => {
    info.reload();
    list.reload();
  };
  const looked = useReloads(missing ? id : null, list.asOf, reload);

  const failed = asked.problem ?? (mine ? null : info.problem) ?? (items ? null : list.problem);
  if (!parts || !mine || !items || !lineage || !model) {
    return (
      <Frame
        title={task ?? route.address}
        head={<Head task={task ?? route.address} />}
        keys={[["leave", null, w.keyLeave]]}
      >
        <main>
          {failed ? (
            <ProblemBox problem={failed} reload={info.reload} />
          ) : missing && looked ? (
            <div class="state">
              <h2>{w.notFound}</h2>
              <p class="dim">{w.notFoundHow}</p>
            </div>
          ) : (
            <Waiting of={task ? info : asked} what={route.address} />
          )}
        </main>
      </Frame>
    );
  }
  const { begin } = lineage;
  if (parts.offset !== null && parts.offset < begin) {
    return (
      <Frame title={mine.id} head={<Head task={mine.id} />} keys={[["leave", null, w.keyLeave]]}>
        <main>
          <Trimmed begin={`${mine.id}/${lineage.id}@${begin}`} />
        </main>
      </Frame>
    );
  }
  return (
    <Reader
      key={`${mine.id}/${lineage.id}/${begin}`}
      route={route}
      summary={mine}
      lineages={items}
      lineage={lineage}
      model={model}
      offset={parts.offset}
      reload={reload}
    />
  );
}
