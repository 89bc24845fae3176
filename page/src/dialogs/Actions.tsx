// All actions of the screen, searchable, with their keys and the reasons of those not possible.

import { useState } from "preact/hooks";
import { TABS } from "../address.ts";
import { closeDialog, say } from "../app-state.ts";
import { screenAction } from "../keyboard.ts";
import type { Action } from "../keyboard.ts";
import { KEYS, shown } from "../keys.ts";
import type { Act } from "../keys.ts";
import { words } from "../words/index.ts";
import { hiddenControls } from "../parts/fit.ts";
import { Dialog } from "./Dialog.tsx";

interface Line {
  act: Act;
  key: string;
  name: string;
  action: Action;
}

/** What can be done comes before ways to move. */
const ORDER = { act: 0, find: 1, move: 2 } as const;

/** Says which of two directions an action has, if it has one. */
function directionOf(act: Act): string {
  const w = words.value;
  if (/^(next|down|last)/.test(act)) return act === "last" ? w.last : w.next;
  if (/^(previous|up)/.test(act)) return w.previous;
  return "";
}

function tabName(act: Act): string | undefined {
  const tab = /^tab(\d)$/.exec(act)?.[1];
  return tab === undefined ? undefined : words.value[TABS[Number(tab) - 1]!];
}

function lines(): Line[] {
  const w = words.value;
  const found: Line[] = [];
  for (const row of KEYS.toSorted((a, b) => ORDER[a.group] - ORDER[b.group])) {
    row.acts.forEach((act, i) => {
      const action = screenAction(act);
      if (!action || act === "actions") return;
      const pair: Partial<Record<Act, string>> = {
        copyAddress: w.copyAddress,
        copyLink: w.copyLink,
      };
      const name = action.name ?? pair[act] ?? tabName(act) ?? w[row.word];
      found.push({ act, key: shown(row.keys[i] ?? ""), name, action });
    });
  }
  return found;
}

export function ActionsDialog() {
  const w = words.value;
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const wanted = text.trim().toLowerCase();
  const all = lines().filter((line) => line.name.toLowerCase().includes(wanted));
  const run = (line: Line | undefined) => {
    if (!line) return;
    if (line.action.why) return say(line.action.why);
    closeDialog();
    setTimeout(line.action.run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt(Math.max(0, Math.min(all.length - 1, at + step)));
    else if (event.key === "Enter") run(all[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={w.actionsTitle}>
      <input
        data-focus
        type="search"
        aria-label={w.searchActions}
        placeholder={w.searchActions}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      {hiddenControls.value.length > 0 && (
        <div class="buttons" role="group" aria-label={w.settings}>
          {hiddenControls.value.map((one) => one.draw())}
        </div>
      )}
      {all.length === 0 && <p class="dim">{w.noAction}</p>}
      <ul class="pick-list">
        {all.map((line, i) => (
          <li>
            <button
              type="button"
              class={i === at ? "on" : ""}
              aria-disabled={line.action.why !== undefined}
              onClick={() => run(line)}
            >
              <kbd>{line.key}</kbd>
              <span>{line.name}</span>
              <span class="dim">{line.action.why ?? directionOf(line.act)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
