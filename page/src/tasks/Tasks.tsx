// The table of tasks.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Route } from "../address.ts";
import {
  chosen,
  go,
  me,
  openDialog,
  route as shown,
  say,
  tellPolitely,
  toggleChosen,
} from "../app-state.ts";
import { revived } from "../api/link.ts";
import { GoToDialog } from "../dialogs/GoTo.tsx";
import { ShareTaskDialog } from "../dialogs/ShareTask.tsx";
import { count } from "../format.ts";
import { useActs } from "../keyboard.ts";
import { useDelay } from "../use-delay.ts";
import { Layout } from "../list/geometry.ts";
import { List } from "../list/List.tsx";
import type { ListHandle } from "../list/List.tsx";
import type { Control } from "../parts/fit.ts";
import { Frame, noteFromTasks } from "../parts/Frame.tsx";
import { ActButton, Choice, copy, ProblemBox } from "../parts/ui.tsx";
import { words } from "../words/index.ts";
import { Cells } from "./cells.tsx";
import type { Shown } from "./cells.tsx";
import { Chosen, lineagesToCompare, taskRoute } from "./Chosen.tsx";
import { Empty } from "./Empty.tsx";
import { TableHead } from "./TableHead.tsx";
import { TasksSource } from "./source.ts";

type TasksRoute = Extract<Route, { screen: "tasks" }>;

/** Replaces a condition in the words of a search, or removes it. */
export function withCondition(q: string, name: string, value: string): string {
  const others = q.split(/\s+/).filter((word) => word && !word.startsWith(`${name}:`));
  return [...others, ...(value ? [`${name}:${value}`] : [])].join(" ");
}

function conditionOf(q: string, name: string): string {
  const found = q.split(/\s+/).find((word) => word.startsWith(`${name}:`));
  return found?.slice(name.length + 1) ?? "";
}

function useSource(route: TasksRoute): TasksSource {
  const source = useMemo(
    () => new TasksSource({ q: route.q, sort: route.sort || "-changed", columns: route.columns }),
    [route.q, route.sort, route.columns],
  );
  useEffect(() => {
    source.start();
    return () => source.end();
  }, [source]);
  const life = revived.value;
  useEffect(() => {
    if (life > 0) void source.reload();
  }, [life]);
  return source;
}

function SearchBar({ route }: { route: TasksRoute }) {
  const w = words.value;
  const [text, setText] = useState(route.q);
  const delay = useDelay(120);
  // What the field itself asked for leaves its text alone: the person may type on.
  const own = useRef(route.q);
  useEffect(() => {
    if (route.q !== own.current) setText(route.q);
    own.current = route.q;
  }, [route.q]);
  const search = (q: string) => {
    delay.forget();
    const now = shown.peek();
    if (now.screen !== "tasks") return;
    own.current = q.trim();
    go({ ...now, q: own.current }, true);
  };
  const onInput = (q: string) => {
    setText(q);
    delay.later(() => search(q));
  };
  return (
    <>
      <input
        id="search"
        type="search"
        size={46}
        aria-label={w.search}
        placeholder={w.searchHint}
        value={text}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
          event.preventDefault();
          event.stopPropagation();
          search(event.currentTarget.value);
          // Rows that are not there yet take the focus when they come.
          event.currentTarget.blur();
          document.querySelector<HTMLElement>("#tasks-list, .list")?.focus();
        }}
      />
    </>
  );
}

/** Values of a condition, with their names. */
type Values = (readonly [value: string, name: string])[];

/** Choice among values of a condition of the search. */
function Filter(props: { route: TasksRoute; of: string; label: string; values: Values }) {
  const { route, of } = props;
  return (
    <Choice
      label={props.label}
      value={conditionOf(route.q, of)}
      of={props.values}
      onChange={(value) => go({ ...route, q: withCondition(route.q, of, value) }, true)}
    />
  );
}

/** Controls of the head: filters, and ways to other screens. */
function controlsOf(route: TasksRoute): Control[] {
  const w = words.value;
  const has: Values = [
    ["", w.hasAny],
    ["failure", w.hasFailure],
  ];
  const states: Values = [
    ["", w.stateAny],
    ["running", w.controlRunning],
    ["paused", w.controlPaused],
    ["stopped", w.controlStopped],
    ["idle", w.controlIdle],
  ];
  const outcomes: Values = [
    ["", w.outcomeAny],
    ["bad", w.outcomeBad],
    ["good", w.outcomeGood],
  ];
  const filter = (of: string, label: string, values: Values): Control => ({
    draw: () => <Filter route={route} of={of} label={label} values={values} />,
  });
  const filters = [
    filter("has", w.filterHas, has),
    filter("state", w.filterState, states),
    filter("outcome", w.outcome, outcomes),
  ];
  const store: Control = {
    draw: () => (
      <button type="button" onClick={() => go({ screen: "store" })}>
        {w.store}
      </button>
    ),
  };
  const compare = () => <ActButton act="compare">{w.compare}</ActButton>;
  return [...filters, ...(me.value?.admin ? [store] : []), { act: "compare", draw: compare }];
}

let lastCursor = "";

/** Cursor that stays on its task when rows come and go. */
function useCursor(ids: readonly string[]): [number, (flat: number) => void] {
  const [id, setId] = useState(lastCursor);
  const [place, setPlace] = useState(0);
  const found = id === "" ? -1 : ids.indexOf(id);
  const cursor = found >= 0 ? found : Math.min(place, Math.max(0, ids.length - 1));
  return [
    cursor,
    (flat) => {
      lastCursor = ids[flat] ?? "";
      setId(lastCursor);
      setPlace(flat);
    },
  ];
}

/** What stands for rows before the first answer; after a while it says what is waited for. */
function Skeleton({ long }: { long: boolean }) {
  return (
    <div class="skeleton" role="status">
      {long && words.value.stillReading(words.value.tasks)}
      {[70, 55, 62, 48].map((width) => (
        <span class="wait" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

export function Tasks({ route }: { route: TasksRoute }) {
  const w = words.value;
  const source = useSource(route);
  const there = source.state.value === "there";
  const problem = source.problem.value;
  // While a condition is typed, it is refused until it is whole: the rows before it stay.
  const before = useRef(source);
  if (there && !problem) before.current = source;
  const isRefused = problem?.status === 400 && before.current !== source;
  const rows = isRefused ? before.current : source;
  const items = rows.items.value;
  const total = rows.total.value;
  const [cursor, setCursor] = useCursor(items.map((item) => item.id));
  const [shown, setShown] = useState<Shown>("last");
  const list = useRef<ListHandle>(null);
  const layout = useMemo(() => new Layout(items.length, 28), [items.length]);
  const task = items[cursor];
  const metric = route.sort.replace(/^-/, "").startsWith("metric:")
    ? route.sort.replace(/^-?metric:/, "")
    : "";

  useEffect(() => noteFromTasks(true), []);
  useEffect(() => {
    // Rows that come while a person types do not take the focus away.
    if ((document.activeElement ?? document.body) === document.body) list.current?.focus();
  }, [items.length > 0]);
  useEffect(() => {
    if (there) tellPolitely(w.countTasks(count(total ?? items.length)));
  }, [there, total, items.length]);

  const move = (flat: number) => {
    const to = Math.max(0, Math.min(items.length - 1, flat));
    setCursor(to);
    list.current?.show(to);
  };
  const open = (flat = cursor) => {
    const at = items[flat];
    if (at) go(taskRoute(at.id));
  };
  const compare = () => {
    const of = chosen.value.length > 1 ? chosen.value : task ? lineagesToCompare(task) : [];
    if (of.length < 2) say(w.chooseFirst);
    else go({ screen: "compare", of: [...of], only: false, texts: false });
  };
  useActs({
    down: () => move(cursor + 1),
    up: () => move(cursor - 1),
    first: () => move(0),
    last: () => move(items.length - 1),
    open: () => open(),
    find: () => document.getElementById("search")?.focus(),
    leave: () => list.current?.focus(),
    goTo: () => openDialog(() => <GoToDialog lineage={null} />),
    choose: task && { run: () => toggleChosen(task.id), name: w.choose(task.id) },
    compare,
    share: task && (() => openDialog(() => <ShareTaskDialog task={task.id} />)),
    copyAddress: task && (() => void copy(task.id)),
    copyLink: () => void copy(location.href),
  });

  const onWindow = useMemo(
    () => (_first: number, end: number) => {
      if (end > source.items.peek().length - 50) void source.more();
    },
    [source],
  );
  return (
    <Frame
      top
      head={<SearchBar route={route} />}
      title={route.q === "" ? w.tasks : `${route.q} · ${w.tasks}`}
      controls={controlsOf(route)}
      foot={
        <span>
          {there &&
            (total !== null && total > items.length
              ? w.countTasksOf(count(items.length), count(total))
              : w.countTasks(count(items.length)))}
          {chosen.value.length > 0 && ` · ${w.chosenCount(count(chosen.value.length))}`}
        </span>
      }
      keys={[
        ["down", "up", w.hintMove],
        ["open", null, w.hintOpen],
        ["choose", null, w.columnChoose],
        ["find", null, w.search],
        ["actions", null, w.actions],
      ]}
      followed={!there ? "" : ({ stream: "live", polling: "polling", none: "" } as const)[source.live.value]}
    >
      <main class="cols" aria-label={w.tasks}>
        <div class="grid-tasks">
          {problem && (items.length > 0 || isRefused) && (
            <div class={isRefused ? "bar bad" : "bar warn"} role="alert">
              {problem.message}
            </div>
          )}
          {problem && items.length === 0 && !isRefused ? (
            <ProblemBox problem={problem} reload={() => void source.reload()} />
          ) : there && items.length === 0 && !isRefused ? (
            <Empty route={route} />
          ) : (
            <>
              <TableHead route={route} shown={shown} setShown={setShown} metric={metric} />
              {!there && !problem && items.length === 0 && <Skeleton long={source.long.value} />}
              <List
                id="tasks-list"
                role="grid"
                label={w.tasks}
                layout={layout}
                cursor={cursor}
                memory={`tasks ${route.q} ${route.sort}`}
                handle={list}
                onCursor={setCursor}
                onOpen={open}
                onWindow={onWindow}
                draw={(flat) => {
                  const at = items[flat];
                  return at && <Cells task={at} shown={shown} metric={metric} />;
                }}
              />
            </>
          )}
        </div>
        {task && <Chosen task={task} />}
      </main>
    </Frame>
  );
}
