// Properties that parts of the screen of a task share, and ways between its panes and lineages.

import type { Route } from "../address.ts";
import type { Lineage, Summary, Turn } from "../api/types.ts";
import { go, reading } from "../app-state.ts";
import type { LineageModel } from "./model.ts";
import type { Selection } from "./selection.ts";

export type TaskRoute = Extract<Route, { screen: "task" }>;

export interface ReaderProps {
  route: TaskRoute;
  summary: Summary;
  lineages: readonly Lineage[];
  lineage: Lineage;
  model: LineageModel;
  /** Offset of the address, or null to follow the head. */
  offset: number | null;
  reload: () => void;
}

export interface TabProps {
  selection: Selection;
  turn: Turn | null;
  pointer: string;
  choosePointer: (pointer: string) => void;
}

/** Gives the focus to a part of the screen: at once if it is shown, as keys can follow. */
export function focusOn(id: string): void {
  const focus = () => document.getElementById(id)?.focus({ preventScroll: true });
  focus();
  if (document.activeElement?.id !== id) setTimeout(focus);
}

/** Gives the focus to the reading pane, and shows it where only one pane fits. */
export function readPane(): void {
  reading.value = true;
  focusOn("pane");
}

/** Opens another lineage, at the same offset where it has one. */
export function openLineage(props: ReaderProps, id: number, offset = -1): void {
  const { model, route } = props;
  const base = `${model.task}/${id}`;
  go({ ...route, address: offset >= 0 ? `${base}@${offset}` : base });
}
