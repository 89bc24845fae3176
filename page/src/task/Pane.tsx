// Reading pane: tabs over the chosen step or event.

import { FilesTab } from "#acting";
import { TABS } from "../address.ts";
import type { Tab } from "../address.ts";
import type { Turn } from "../api/types.ts";
import { go, reading } from "../app-state.ts";
import { Key } from "../parts/ui.tsx";
import type { Act } from "../keys.ts";
import { words } from "../words/index.ts";
import { ChangesTab } from "./ChangesTab.tsx";
import { RawTab } from "./RawTab.tsx";
import type { Selection } from "./selection.ts";
import { StateTab } from "./StateTab.tsx";
import { StepTab } from "./StepTab.tsx";
import { focusOn } from "./props.ts";
import type { TabProps, TaskRoute } from "./props.ts";

export interface PaneProps {
  route: TaskRoute;
  selection: Selection;
  turn: Turn | null;
  /** Whether the list knows what is chosen. */
  ready: boolean;
}

const VIEWS: Record<Tab, (props: TabProps) => preact.ComponentChild> = {
  step: (props) => <StepTab {...props} />,
  state: (props) => <StateTab {...props} />,
  changes: (props) => <ChangesTab {...props} />,
  files: (props) => <FilesTab {...props} />,
  raw: (props) => <RawTab {...props} />,
};

export function Pane({ route, selection, turn, ready }: PaneProps) {
  const w = words.value;
  const choose = (tab: Tab) => go({ ...route, tab }, true);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(route.tab) + step + TABS.length) % TABS.length]!;
    choose(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="pane rest">
      <button
        type="button"
        class="narrow-only"
        onClick={() => {
          reading.value = false;
          focusOn("steps");
        }}
      >
        ← {w.backToList}
      </button>
      <div class="tabs" role="tablist" aria-label={w.readingPane} onKeyDown={onKeyDown}>
        {TABS.map((tab, i) => (
          <button
            type="button"
            role="tab"
            id={`tab-${tab}`}
            aria-selected={route.tab === tab}
            aria-controls="pane"
            tabIndex={route.tab === tab ? 0 : -1}
            onClick={() => choose(tab)}
          >
            {w[tab]} <Key act={`tab${i + 1}` as Act} />
          </button>
        ))}
      </div>
      <div
        class={route.tab === "files" ? "pane rest" : "doc"}
        id="pane"
        role="tabpanel"
        tabIndex={0}
        aria-labelledby={`tab-${route.tab}`}
      >
        {ready &&
          VIEWS[route.tab]({
            selection,
            turn,
            pointer: route.pointer,
            choosePointer: (pointer) => go({ ...route, pointer }, true),
          })}
      </div>
    </div>
  );
}
