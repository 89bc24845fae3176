// Screen of a task: head, map, list, reading pane.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLive } from "#acting";
import { formatPoint } from "../address.ts";
import type { View } from "../address.ts";
import { go, reading, route as shown, say, tellPolitely } from "../app-state.ts";
import { count } from "../format.ts";
import { Layout } from "../list/geometry.ts";
import { List } from "../list/List.tsx";
import type { ListHandle } from "../list/List.tsx";
import { Frame } from "../parts/Frame.tsx";
import { ActButton, controlWord, ProblemBox } from "../parts/ui.tsx";
import { Splitter } from "../parts/Splitter.tsx";
import { settings } from "../settings.ts";
import { toProblem } from "../use-ask.ts";
import { useDelay } from "../use-delay.ts";
import { words } from "../words/index.ts";
import { useTaskActs } from "./acts.tsx";
import { ListHead } from "./ListHead.tsx";
import { LineageMap } from "./Map.tsx";
import type { LineageModel } from "./model.ts";
import { BeyondBar, MovedBar, ProgressBar } from "./bars.tsx";
import { Pane } from "./Pane.tsx";
import { openLineage, readPane } from "./props.ts";
import type { ReaderProps } from "./props.ts";
import type { Selection } from "./selection.ts";
import { EventCells, hasFailed, TurnRow } from "./StepsList.tsx";
import { TaskHead } from "./TaskHead.tsx";
import { useHighlight } from "./highlight.ts";
import { within } from "./hits.ts";
import { useSearch } from "./search.ts";
import type { Place } from "./search.ts";

/** Place in the list of a view: the flat row, and the offset that it stands for. */
interface Cursor {
  view: View;
  flat: number;
  offset: number;
}

/** Layout of the turns, with events below those that are open, and without folded ones. */
function layoutOf(model: LineageModel): Layout {
  const folds = [...model.open.value].map(([item, rows]) => ({ item, rows: rows.length }));
  const hidden = [...model.folded.value].map(([item, { rows }]) => ({ item, rows }));
  return new Layout(model.total.peek(), 46, folds, 28, hidden);
}

function selectionOf(model: LineageModel, view: View, layout: Layout, cursor: Cursor): Selection {
  const base = { task: model.task, lineage: model.lineage };
  const single = (offset: number): Selection => {
    return { ...base, offset, first: offset, next: offset + 1, turn: null };
  };
  if (view === "events") return single(model.begin + cursor.flat);
  const { item, sub } = layout.place(cursor.flat);
  if (sub >= 0) {
    const row = model.open.value.get(item)?.[sub];
    return single(row?.offset ?? cursor.offset);
  }
  const turn = model.turns.get(item);
  if (!turn) return single(cursor.offset);
  const { first, next } = turn;
  return { ...base, offset: first, first, next, turn: item };
}

/** Name of the window: the task, its lineage unless it is the active one, and the place. */
function nameOfPlace({ summary, lineage }: ReaderProps, offset: number): string {
  return `${summary.id}${lineage.active ? "" : `/${lineage.id}`} @${offset}`;
}

export function Reader(props: ReaderProps) {
  const w = words.value;
  const { model, lineage, route } = props;
  const head = model.head.value;
  const total = model.total.value;
  void model.turns.version.value;
  void model.rows.version.value;
  const hasSteps = total > 0 || !model.ready.value;
  const view: View = route.view || (hasSteps ? "steps" : "events");
  const list = useRef<ListHandle>(null);
  const following = useRef(props.offset === null);
  const [kept, setCursor] = useState<Cursor>({ view, flat: 0, offset: props.offset ?? head - 1 });
  // Another view has other rows: its row of the same offset, as far as it is known.
  const sameView = kept.view === view;
  const moved = view === "events" ? kept.offset - model.begin : 0;
  const cursor: Cursor = sameView ? kept : { view, flat: moved, offset: kept.offset };
  /** Head up to which events were shown or are not news. */
  const [seen, setSeen] = useState(head);
  /** Offset of an address beyond the head. */
  const [beyond, setBeyond] = useState<number | null>(null);
  const [target, setTarget] = useState<number | null>(null);
  const [opened, setOpened] = useState(false);
  const place = useRef<Place>({ first: 0, next: 1 });

  const events = Math.max(0, head - model.begin);
  const layout = useMemo(
    () => (view === "events" ? new Layout(events, 28) : layoutOf(model)),
    [view, events, total, model.open.value, model.folded.value],
  );

  /** Puts the cursor on an offset, and asks for the turn that has it. */
  const goTo = async (offset: number, replace = true) => {
    following.current = false;
    if (view === "events") return moveTo(Math.max(0, offset - model.begin), replace);
    try {
      const number = await model.near(offset);
      await model.reveal(number);
      moveTo(flatNow().flatOf(number), replace);
    } catch (error) {
      say(toProblem(error).message, true);
    }
  };
  const flatNow = () => layoutOf(model);

  const moveTo = (to: number, replace = true) => {
    const now = view === "events" ? layout : flatNow();
    const flat = Math.max(0, Math.min(now.rows - 1, to));
    const chosen = selectionOf(model, view, now, { view, flat, offset: 0 });
    following.current = false;
    setBeyond(null);
    place.current = chosen;
    setCursor({ view, flat, offset: chosen.offset });
    list.current?.show(flat, true);
    keepAddress(formatPoint(model.task, model.lineage, chosen.offset), replace);
  };
  const delay = useDelay(120);
  /** Address that followed the cursor and is not yet drawn. */
  const own = useRef<string | null>(null);
  const keepAddress = (address: string, replace: boolean) => {
    delay.forget();
    if (!replace) return go({ ...route, address, view: route.view }, false);
    const from = shown.peek();
    delay.later(() => {
      // Another address that came in between stays. Effects, which end after a paint, are too late.
      const now = shown.peek();
      const isHere = now.screen === "task" && from.screen === "task";
      if (!isHere || now.address !== from.address) return;
      own.current = address;
      go({ ...now, address }, true);
    });
  };

  // Opens at the offset of the address, or at the head.
  useEffect(() => {
    let gone = false;
    const isBeyond = props.offset !== null && props.offset > head;
    const at = isBeyond ? head - 1 : (props.offset ?? head - 1);
    setBeyond(isBeyond ? props.offset : null);
    void model.start(at).then((number) => {
      if (gone) return;
      const flat = view === "events" ? at - model.begin : number;
      const offset = model.turns.get(number)?.first ?? at;
      setCursor({ view, flat, offset: view === "events" ? flat + model.begin : offset });
      setTarget(flat);
      void model.askOverview();
      const near = props.lineages.filter((one) => one.id !== model.lineage).slice(0, 8);
      void model.askOthers(near.filter((one) => one.head <= 20_000).map((one) => one.id));
    });
    return () => {
      gone = true;
    };
  }, [model]);

  // Scrolls there once the list has its rows; only then items are asked for.
  useLayoutEffect(() => {
    if (target === null) return;
    list.current?.show(target, true);
    list.current?.focus();
    setOpened(true);
  }, [target]);

  useEffect(() => {
    if (sameView || !opened) return;
    setSeen(head);
    if (document.activeElement === document.body) list.current?.focus();
    if (!following.current) return void goTo(kept.offset);
    setCursor({ view, flat: layout.rows - 1, offset: head - 1 });
    list.current?.toEnd();
  }, [view]);

  // The address was changed by the person or by the history of the browser. One that followed the
  // cursor moves nothing: a key may have moved the cursor since.
  useEffect(() => {
    const followed = own.current === route.address;
    own.current = null;
    if (followed) return;
    if (props.offset === null || !model.ready.value || props.offset === cursor.offset) return;
    const at = selection;
    if (props.offset >= at.first && props.offset < at.next) return;
    const asked = props.offset;
    void goTo(asked).then(() => setBeyond(asked > model.head.peek() ? asked : null));
  }, [props.offset]);

  // New events: who is at the end stays there, others are told how many there are.
  const size = view === "events" ? events : total;
  const before = useRef({ view, size });
  useEffect(() => {
    const grown = before.current.view === view ? size - before.current.size : 0;
    before.current = { view, size };
    if (grown <= 0 || !opened) return;
    if (following.current) {
      setCursor({ view, flat: layout.rows - 1, offset: head - 1 });
      list.current?.toEnd();
    }
  }, [size, view]);
  const live = useLive(model, lineage.active, props.reload);
  // Only what the stream told of is new: a lineage that is still read grows, too.
  const fresh = following.current ? 0 : Math.max(0, live.told - seen);
  useEffect(() => {
    if (following.current) setSeen(Math.max(head, live.told));
    else if (fresh > 0) tellPolitely(w.liveNew(count(fresh)));
  }, [live.told]);
  const selection = selectionOf(model, view, layout, cursor);
  place.current = selection;
  const search = useSearch(model, () => place.current, goTo);
  useHighlight(search.text);
  const hits = search.hits?.found.value ?? [];
  const hasHit = (first: number, next: number) => within(hits, first, next)[1] > 0;
  const toEnd = () => {
    setSeen(head);
    setBeyond(null);
    following.current = lineage.active;
    const flat = layout.rows - 1;
    setCursor({ view, flat, offset: head - 1 });
    list.current?.toEnd();
    const address = lineage.active ? model.task : `${model.task}/${model.lineage}@${head}`;
    keepAddress(address, true);
  };
  const toggle = async (flat: number) => {
    const { item, sub } = layout.place(flat);
    if (view === "events" || sub >= 0) return readPane();
    if (model.folded.value.has(item)) return model.unfoldStep(item);
    if (model.isOpen(item)) return readPane();
    await model.unfold(item).catch((error: unknown) => say(toProblem(error).message, true));
  };
  /** Folds the step of a turn, or unfolds it, with the cursor on its first turn. */
  const toggleStep = async (item: number) => {
    try {
      const folded = model.folded.value.has(item);
      if (folded) model.unfoldStep(item);
      moveTo(flatNow().flatOf(folded ? item : await model.foldStep(item)));
    } catch (error) {
      say(toProblem(error).message, true);
    }
  };
  useTaskActs({
    ...props,
    view,
    layout,
    cursor: cursor.flat,
    selection,
    search,
    moveTo,
    goTo,
    toEnd,
    toggle,
    toggleStep,
  });

  const onWindow = useMemo(() => {
    if (!opened) return () => {};
    if (view === "events") return (first: number, end: number) => model.rows.want([first, end]);
    // The reading pane shows the turn at the cursor, wherever the list is.
    const { flat } = cursor;
    return (first: number, end: number) =>
      model.turns.want(...layout.ranges(first, end), ...layout.ranges(flat, flat + 1));
  }, [view, model, layout, opened, cursor.flat]);
  const onScrolled = (first: number, end: number) => {
    onWindow(first, end);
    if (fresh > 0 && list.current?.atEnd()) setSeen(Math.max(head, live.told));
  };

  const draw = (flat: number) => {
    if (view === "events") {
      const row = model.rows.get(flat);
      return row ? <EventCells row={row} /> : <span class="wait" />;
    }
    const { item, sub } = layout.place(flat);
    if (sub >= 0) {
      const row = model.open.value.get(item)?.[sub];
      return row && <EventCells row={row} />;
    }
    const turn = model.turns.get(item);
    if (!turn) return <span class="wait" />;
    const step = model.isHeading(item)
      ? {
          turns: (model.folded.value.get(item)?.rows ?? -1) + 1,
          toggle: () => void toggleStep(item),
        }
      : null;
    return <TurnRow turn={turn} open={model.isOpen(item)} step={step} />;
  };
  const rowProps = (flat: number) => {
    const hitOf = (first: number, next = first + 1) => (hasHit(first, next) ? "hit" : "");
    if (view === "events") return { class: `erow ${hitOf(model.begin + flat)}` };
    const { item, sub } = layout.place(flat);
    const turn = model.turns.get(item);
    const isWithin = turn && turn.step != null && turn.turn !== 0;
    const level = isWithin ? 2 : 1;
    if (sub >= 0) {
      const row = model.open.value.get(item)?.[sub];
      return { class: `erow sub ${row ? hitOf(row.offset) : ""}`, "aria-level": level + 1 };
    }
    const failed = turn && hasFailed(turn) ? "failed" : "";
    const isHeading = model.isHeading(item);
    return {
      class: `srow ${failed} ${isWithin ? "within" : ""} ${turn ? hitOf(turn.first, turn.next) : ""}`,
      "aria-level": level,
      "aria-expanded": isHeading ? !model.folded.value.has(item) : model.isOpen(item),
    };
  };

  const problem = model.problem.value ?? model.turns.problem.value ?? model.rows.problem.value;
  const empty = model.ready.value && head === 0;
  // Of a run that is at rest nothing comes, unless events show that something does.
  const { control } = props.summary;
  const isAtRest = !["running", "paused"].includes(control) && live.told === 0;
  return (
    <Frame
      title={nameOfPlace(props, selection.offset)}
      head={
        <TaskHead
          {...props}
          search={search}
          place={selection}
          onLineage={(id) => openLineage(props, id)}
        />
      }
      controls={[
        { act: "firstWhere", draw: () => <ActButton act="firstWhere">{w.buttonFirstWhere}</ActButton> },
        { act: "compare", draw: () => <ActButton act="compare">{w.compare}</ActButton> },
        { act: "share", draw: () => <ActButton act="share">{w.buttonShare}</ActButton> },
        {
          act: "fork",
          draw: () => (
            <ActButton act="fork" main>
              {w.doFork}
            </ActButton>
          ),
        },
      ]}
      foot={<code class="m">{formatPoint(model.task, model.lineage, selection.offset)}</code>}
      keys={[
        ["down", "up", w.hintStep],
        ["nextFailure", null, w.hintFailure],
        ["nextMark", null, w.hintMark],
        ["previousLineage", "nextLineage", w.lineage],
        ["copyAddress", null, w.copyAddress],
        ["actions", null, w.actions],
      ]}
      followed={!live.on ? "" : isAtRest ? { rests: controlWord(control) } : "live"}
    >
      {beyond !== null && beyond > head && <BeyondBar at={beyond} head={head} />}
      {live.move && <MovedBar task={model.task} move={live.move} dismiss={live.dismiss} />}
      <ProgressBar model={model} search={search} />
      <LineageMap
        task={model.task}
        lineages={props.lineages}
        summaries={props.summary.lineages}
        open={model.lineage}
        head={head}
        bucketsOf={(id) => {
          const of = id === model.lineage ? model.overview : null;
          return (of?.value ?? model.others.value.get(id))?.buckets ?? [];
        }}
        cursor={selection.offset}
        hits={hits}
        onGo={(id, offset) => {
          if (id === model.lineage && offset >= 0) void goTo(offset);
          else openLineage(props, id, offset);
        }}
      />
      <main class={`cols list-read ${reading.value ? "reading" : ""}`} aria-label={model.task}>
        <div class="pane first" style={{ width: `${settings.value.split}%` }}>
          <ListHead model={model} view={view} summary={props.summary} route={route} />
          {problem && (layout.rows === 0 || !model.ready.value) ? (
            <ProblemBox problem={problem} reload={() => void model.start(selection.offset)} />
          ) : empty ? (
            <div class="state">
              <h2>{w.emptyTask}</h2>
              <p class="dim">{w.emptyTaskHow}</p>
            </div>
          ) : (
            <List
              key={view}
              id="steps"
              role={view === "events" ? "listbox" : "tree"}
              label={view === "events" ? w.events : w.steps}
              layout={layout}
              cursor={cursor.flat}
              handle={list}
              memory={`${model.task}/${model.lineage} ${view}`}
              onCursor={(flat) => {
                if (flat === cursor.flat && view === "steps") void toggle(flat);
                else moveTo(flat);
              }}
              onOpen={(flat) => void toggle(flat)}
              onWindow={onScrolled}
              draw={draw}
              rowProps={rowProps}
            />
          )}
          {fresh > 0 && (
            <button type="button" class="new-below main" onClick={toEnd}>
              ↓ {w.liveNew(count(fresh))}
            </button>
          )}
        </div>
        <Splitter />
        <Pane
          route={route}
          selection={selection}
          ready={opened && head > 0}
          turn={selection.turn === null ? null : (model.turns.get(selection.turn) ?? null)}
        />
      </main>
    </Frame>
  );
}
