// The events that set a value of the state.

import { stringify } from "../api/numbers.ts";
import { blame } from "../api/calls.ts";
import { closeDialog, go } from "../app-state.ts";
import { dateTime } from "../format.ts";
import { Waiting } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Dialog } from "./Dialog.tsx";

function text(value: unknown): string {
  return value === undefined ? "—" : stringify(value).slice(0, 300);
}

export function BlameDialog({ address, pointer }: { address: string; pointer: string }) {
  const w = words.value;
  const asked = useAsk(`${address} ${pointer}`, (signal) => blame(address, pointer, signal));
  const open = (point: string) => {
    closeDialog();
    go({ screen: "task", address: point, tab: "step", pointer: "", view: "" });
  };
  return (
    <Dialog title={w.blameOf(pointer)}>
      {!asked.value ? (
        <Waiting of={asked} what={pointer} />
      ) : (
        <>
          {asked.value.changes.length === 0 && <p class="dim">{w.blameNone}</p>}
          <table class="plain">
            <tbody>
              {asked.value.changes.slice(0, 200).map((change) => {
                const at = `${asked.value!.task}/${change.lineage}@${change.offset}`;
                return (
                  <tr>
                    <td>
                      <button type="button" class="link" onClick={() => open(at)}>
                        @{change.offset}
                      </button>
                    </td>
                    <td class="m">{change.kind}</td>
                    <td class="m">
                      <Text text={`${text(change.before)} → ${text(change.after)}`} />
                    </td>
                    <td class="dim">
                      {dateTime(Date.parse(change.time) * 1000)}{" "}
                      {change.actor && <Text text={change.actor} />}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          {asked.value.before_oldest != null && <p class="warn">{w.blameOlder}</p>}
        </>
      )}
    </Dialog>
  );
}
