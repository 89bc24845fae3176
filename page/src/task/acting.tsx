// Actions on a task, its stream, and files of its captured folders. A share has `share/acting.tsx`
// in place of this module: package.json chooses.

import type { Route } from "../address.ts";
import type { Json } from "../api/types.ts";
import { ManyApart as TableApart } from "../compare/Many.tsx";
import { openDialog } from "../app-state.ts";
import { CheckpointsDialog } from "../dialogs/Checkpoints.tsx";
import { whyReadOnly } from "../dialogs/Dialog.tsx";
import { FirstWhereDialog, whenOf } from "../dialogs/FirstWhere.tsx";
import { ForkDialog } from "../dialogs/Fork.tsx";
import { GuideDialog } from "../dialogs/Guide.tsx";
import { MarkDialog, PinDialog } from "../dialogs/Mark.tsx";
import { PauseDialog } from "../dialogs/Pause.tsx";
import { RollBackDialog } from "../dialogs/RollBack.tsx";
import { ShareTaskDialog } from "../dialogs/ShareTask.tsx";
import { UndoDialog, whyNoUndo } from "../dialogs/Undo.tsx";
import type { Action, Acts } from "../keyboard.ts";
import { words } from "../words/index.ts";
import type { ReaderProps } from "./props.ts";
import { after } from "./selection.ts";
import type { Selection } from "./selection.ts";

export { FilesApart } from "../compare/FilesApart.tsx";
export { useTicks } from "../metrics/ticks.tsx";
export { FilesTab } from "./FilesTab.tsx";
export { useLive } from "./live.ts";
export { useZoom } from "./zoom.tsx";

/** Comparison of more than six histories; null where there is none. */
export const ManyApart:
  | ((props: { route: Extract<Route, { screen: "compare" }> }) => preact.ComponentChildren)
  | null = TableApart;

export function openFork(selection: Selection): void {
  openDialog(() => <ForkDialog selection={selection} />);
}

/** Opens the search for the first event where a value is what it is; null where there is none. */
export const openFirstWhere: ((at: string, pointer: string, value?: Json) => void) | null = (
  at,
  pointer,
  value,
) => openDialog(() => <FirstWhereDialog at={at} when={whenOf(pointer, value)} />);

/** Keys that change a task or need the service, and what they do. */
export function actingOn(props: ReaderProps & { selection: Selection }): Acts {
  const w = words.value;
  const { selection, route, summary, lineage, model } = props;
  const why = whyReadOnly();
  const onlyActive = why ?? (lineage.active ? undefined : w.onlyActive);
  const dialog = (draw: () => preact.ComponentChildren, not?: string): Action => {
    return { run: () => openDialog(draw), why: not };
  };
  return {
    checkpoints: dialog(() => <CheckpointsDialog task={model.task} />),
    firstWhere: dialog(() => (
      <FirstWhereDialog at={after(selection)} when={whenOf(route.pointer)} />
    )),
    fork: dialog(() => <ForkDialog selection={selection} />, why),
    rollBack: dialog(() => <RollBackDialog selection={selection} />, why),
    undo: dialog(
      () => <UndoDialog task={model.task} lineages={props.lineages} />,
      why ?? whyNoUndo(props.lineages),
    ),
    pause: dialog(
      () => <PauseDialog task={model.task} control={summary.control} done={props.reload} />,
      why ?? (["running", "paused"].includes(summary.control) ? undefined : w.notRunning),
    ),
    guide: dialog(() => <GuideDialog task={model.task} />, onlyActive),
    mark: dialog(() => <MarkDialog selection={selection} />, why),
    pin: dialog(() => <PinDialog selection={selection} />, why),
    share: dialog(() => <ShareTaskDialog task={model.task} />),
  };
}
