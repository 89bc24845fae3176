// The checkpoints of a task, newest first: each opens its place, or goes back there.

import { useEffect, useState } from "preact/hooks";
import { formatPoint } from "../address.ts";
import { checkpoints } from "../api/calls.ts";
import type { Checkpoint } from "../api/types.ts";
import { closeDialog, go, openDialog } from "../app-state.ts";
import { dateTime } from "../format.ts";
import { ProblemBox } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { toProblem } from "../use-ask.ts";
import type { Problem } from "../api/problem.ts";
import { words } from "../words/index.ts";
import { Dialog, whyReadOnly } from "./Dialog.tsx";
import { RollBackDialog } from "./RollBack.tsx";

interface Listed {
  items: Checkpoint[];
  /** The cursor of the next page; null at the end, undefined before the first page. */
  next: string | null | undefined;
  problem: Problem | null;
}

function Row({ of }: { of: Checkpoint }) {
  const w = words.value;
  const { at } = of;
  const address = formatPoint(of.task, of.lineage, at);
  const open = () => {
    closeDialog();
    go({ screen: "task", address, tab: "step", pointer: "", view: "" });
  };
  const back = () => {
    const { task, lineage } = of;
    const selection = { task, lineage, offset: at, first: at, next: at, turn: null };
    openDialog(() => <RollBackDialog selection={selection} at={address} />);
  };
  const place = [of.phase, of.iteration].filter((one) => one != null).join(" ");
  const why = whyReadOnly();
  return (
    <tr>
      <td>
        <button type="button" class="link" onClick={open}>
          <Text text={of.label ?? of.aliases[0] ?? of.id.slice(0, 12)} />
        </button>
      </td>
      <td class="m dim">{address}</td>
      <td class={of.status === "failure" ? "bad" : "dim"}>{of.status}</td>
      <td class="dim">
        {of.cause}
        {place && " "}
        <Text text={place} />
      </td>
      <td class="m dim">{dateTime(of.time_us)}</td>
      <td>
        <button type="button" disabled={why !== undefined} title={why} onClick={back}>
          {w.keyRollBack}
        </button>
      </td>
    </tr>
  );
}

export function CheckpointsDialog({ task }: { task: string }) {
  const w = words.value;
  const [listed, setListed] = useState<Listed>({ items: [], next: undefined, problem: null });
  const more = async () => {
    try {
      const page = await checkpoints(task, null, listed.next ?? null);
      setListed((old) => ({
        items: [...old.items, ...page.items],
        next: page.next ?? null,
        problem: null,
      }));
    } catch (error) {
      setListed((old) => ({ ...old, problem: toProblem(error) }));
    }
  };
  useEffect(() => void more(), []);
  const { items, next, problem } = listed;
  return (
    <Dialog title={w.checkpointsOf(task)}>
      {problem && <ProblemBox problem={problem} reload={() => void more()} />}
      {next === undefined && !problem && <p class="dim">…</p>}
      {next === null && items.length === 0 && <p class="dim">{w.noCheckpoints}</p>}
      {items.length > 0 && (
        <table class="plain">
          <tbody>
            {items.map((one) => (
              <Row of={one} />
            ))}
          </tbody>
        </table>
      )}
      {next && (
        <button type="button" onClick={() => void more()}>
          {w.olderCheckpoints}
        </button>
      )}
    </Dialog>
  );
}
