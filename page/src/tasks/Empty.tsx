// What is shown in place of an empty table: what to do next.

import type { Route } from "../address.ts";
import { go, openDialog } from "../app-state.ts";
import { SearchEventsDialog } from "../dialogs/SearchEvents.tsx";
import { Copy } from "../parts/ui.tsx";
import { words } from "../words/index.ts";

const COMMAND = "milepost record --task NAME run.jsonl";

export function Empty({ route }: { route: Extract<Route, { screen: "tasks" }> }) {
  const w = words.value;
  // Conditions are of tasks; only words are searched in events.
  const text = route.q
    .split(/\s+/)
    .filter((word) => !/^\w+:/.test(word))
    .join(" ");
  if (route.q !== "") {
    return (
      <div class="state">
        <h2>{w.nothingFound}</h2>
        <p class="dim">{w.nothingFoundHow}</p>
        <div class="buttons">
          {text !== "" && (
            <button
              type="button"
              onClick={() => openDialog(() => <SearchEventsDialog text={text} />)}
            >
              {w.searchEvents}
            </button>
          )}
          <button type="button" onClick={() => go({ ...route, q: "" }, true)}>
            {w.clearSearch}
          </button>
        </div>
      </div>
    );
  }
  return (
    <div class="state">
      <h2>{w.emptyStore}</h2>
      <p class="dim">{w.emptyStoreHow}</p>
      <pre tabIndex={0}>{COMMAND}</pre>
      <Copy text={COMMAND} />
    </div>
  );
}
