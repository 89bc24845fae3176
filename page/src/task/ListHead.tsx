// Line above the list of a task: counts, and the switch between steps and events.

import type { View } from "../address.ts";
import type { Summary } from "../api/types.ts";
import { go } from "../app-state.ts";
import { count } from "../format.ts";
import { Key } from "../parts/ui.tsx";
import { words } from "../words/index.ts";
import { readPane } from "./Pane.tsx";
import type { LineageModel } from "./model.ts";
import type { TaskRoute } from "./Task.tsx";

interface HeadProps {
  model: LineageModel;
  view: View;
  summary: Summary;
  route: TaskRoute;
}

export function ListHead({ model, view, route }: HeadProps) {
  const w = words.value;
  const button = (of: View, name: string) => (
    <button
      type="button"
      class="link"
      aria-pressed={view === of}
      onClick={() => go({ ...route, view: of }, true)}
    >
      {view === of ? <b>{name}</b> : name}
    </button>
  );
  return (
    <div class="list-head">
      <span>
        {w.countTurns(count(model.total.value))} · {w.countEvents(count(model.head.value))}
        {model.ready.value && model.total.value === 0 && model.head.value > 0 && (
          <span class="dim"> · {w.noSteps}</span>
        )}
      </span>
      <span class="gap" />
      <button type="button" class="link narrow-only" onClick={readPane}>
        {w.read} →
      </button>
      {button("steps", w.steps)}
      {button("events", w.events)} <Key act="view" />
    </div>
  );
}
