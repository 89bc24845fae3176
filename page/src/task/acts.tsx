// Keys of the screen of a task, and the dialogs that they open.

import { actingOn } from "#acting";
import type { View } from "../address.ts";
import { formatRoute, TABS, TASKS } from "../address.ts";
import { chosen, go, isShare, openDialog, reading, say, toggleChosen } from "../app-state.ts";
import { BlameDialog } from "../dialogs/Blame.tsx";
import { GoToDialog } from "../dialogs/GoTo.tsx";
import { useActs } from "../keyboard.ts";
import type { Action } from "../keyboard.ts";
import type { Layout } from "../list/geometry.ts";
import { copy } from "../parts/ui.tsx";
import { lineagesToCompare } from "../tasks/Chosen.tsx";
import { words } from "../words/index.ts";
import { focusOn, openLineage, readPane } from "./props.ts";
import type { ReaderProps } from "./props.ts";
import type { Search } from "./search.ts";
import { addressOf, after } from "./selection.ts";
import type { Selection } from "./selection.ts";

export interface ActsProps extends ReaderProps {
  view: View;
  layout: Layout;
  cursor: number;
  selection: Selection;
  search: Search;
  moveTo: (flat: number) => void;
  goTo: (offset: number) => Promise<void>;
  toEnd: () => void;
  toggle: (flat: number) => Promise<void>;
  toggleStep: (item: number) => Promise<void>;
}

/** Moves to the next item that is a turn, or to the next event. */
function turnBeside(props: ActsProps, direction: 1 | -1): number {
  const { layout, cursor, view } = props;
  if (view === "events") return cursor + direction;
  const { item, sub } = layout.place(cursor);
  if (direction === -1 && sub >= 0) return layout.flatOf(item);
  return layout.flatOf(layout.beside(item, direction));
}

function lineageBeside(props: ActsProps, direction: 1 | -1): void {
  const i = props.lineages.findIndex((one) => one.id === props.lineage.id);
  const next = props.lineages[i + direction];
  if (next) openLineage(props, next.id);
  else say(words.value.noFurther);
}

function inPane(): boolean {
  return (
    document.activeElement?.closest("#pane, .tabs") !== null && document.activeElement !== null
  );
}

/** Gives the focus to the list, and shows it where only one pane fits. */
function readList(): void {
  reading.value = false;
  focusOn("steps");
}

function leave(props: ActsProps): void {
  const { layout, cursor, view, model } = props;
  if (inPane()) return readList();
  if (view === "steps") {
    const { item, sub } = layout.place(cursor);
    if (sub >= 0) return props.moveTo(layout.flatOf(item));
    if (model.isOpen(item)) return model.fold(item);
    const turn = model.turns.get(item);
    const within = turn && turn.step != null && turn.turn !== 0;
    if (within || (model.isHeading(item) && !model.folded.value.has(item))) {
      return void props.toggleStep(item);
    }
  }
  if (isShare()) say(words.value.noFurther);
  else go(TASKS);
}

function compare(props: ActsProps): void {
  const own = `${props.model.task}/${props.model.lineage}`;
  const others = chosen.value.filter((address) => address !== own);
  // A share has the comparisons with the active lineage only.
  const active = `${props.summary.id}/${props.summary.active}`;
  const pair = isShare() && own !== active ? [active, own] : lineagesToCompare(props.summary);
  const of = others.length > 0 ? [...others, own] : pair.includes(own) ? pair : [pair[0], own];
  if (isShare() && others.length > 0) of.unshift(active);
  const sides = [...new Set(of)].filter((address) => address !== undefined);
  if (sides.length < 2) say(words.value.chooseFirst);
  else go({ screen: "compare", of: sides, only: false, texts: false });
}

export function useTaskActs(props: ActsProps): void {
  const w = words.value;
  const { selection, route, model, search } = props;
  const dialog = (draw: () => preact.ComponentChildren, not?: string): Action => {
    return { run: () => openDialog(draw), why: not };
  };
  const tab = (i: number) => () => go({ ...route, tab: TABS[i]! }, true);
  const scroll = (by: number) => document.getElementById("pane")?.scrollBy({ top: by });
  const scrollTo = (end: boolean) => {
    const pane = document.getElementById("pane");
    pane?.scrollTo({ top: end ? pane.scrollHeight : 0 });
  };
  const own = `${model.task}/${model.lineage}`;
  const { pointer } = route;
  useActs({
    down: () => (inPane() ? scroll(60) : props.moveTo(props.cursor + 1)),
    up: () => (inPane() ? scroll(-60) : props.moveTo(props.cursor - 1)),
    nextTurn: () => props.moveTo(turnBeside(props, 1)),
    previousTurn: () => props.moveTo(turnBeside(props, -1)),
    first: () => (inPane() ? scrollTo(false) : props.moveTo(0)),
    last: () => (inPane() ? scrollTo(true) : props.toEnd()),
    open: () => void props.toggle(props.cursor),
    leave: () => leave(props),
    nextLineage: () => lineageBeside(props, 1),
    previousLineage: () => lineageBeside(props, -1),
    nextPane: readPane,
    previousPane: () => readList(),
    tab1: tab(0),
    tab2: tab(1),
    tab3: tab(2),
    tab4: tab(3),
    tab5: tab(4),
    view: () => go({ ...route, view: props.view === "events" ? "steps" : "events" }, true),
    find: () => document.getElementById("find")?.focus(),
    nextHit: { run: () => search.find(1), why: search.hits ? undefined : w.findHint },
    previousHit: { run: () => search.find(-1), why: search.hits ? undefined : w.findHint },
    nextFailure: () => search.failure(1),
    previousFailure: () => search.failure(-1),
    nextMark: () => search.mark(1),
    previousMark: () => search.mark(-1),
    goTo: dialog(() => (
      <GoToDialog lineage={{ task: model.task, id: model.lineage }} view={route.view} />
    )),
    blame: dialog(
      () => <BlameDialog address={after(selection)} pointer={pointer} />,
      pointer ? undefined : w.noPointer,
    ),
    ...actingOn(props),
    choose: { run: () => toggleChosen(own), name: w.choose(own) },
    compare: () => compare(props),
    copyAddress: () => void copy(addressOf(selection)),
    copyLink: () => {
      const base = location.href.split("#")[0];
      void copy(`${base}${formatRoute({ ...route, address: addressOf(selection) })}`);
    },
  });
}
