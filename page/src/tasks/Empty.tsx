// What is shown in place of an empty table: what to do next.

import type { Route } from "../address.ts";
import { go } from "../app-state.ts";
import { Copy } from "../parts/ui.tsx";
import { words } from "../words/index.ts";

const COMMAND = "milepost record --task NAME run.jsonl";

export function Empty({ route }: { route: Extract<Route, { screen: "tasks" }> }) {
  const w = words.value;
  if (route.q !== "") {
    return (
      <div class="state">
        <h2>{w.nothingFound}</h2>
        <p class="dim">{w.nothingFoundHow}</p>
        <button type="button" onClick={() => go({ ...route, q: "" }, true)}>
          {w.clearSearch}
        </button>
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
