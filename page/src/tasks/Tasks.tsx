// The table of tasks.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Route } from "../address.ts";
import { chosen, go, me, openDialog, say, tellPolitely, toggleChosen } from "../app-state.ts";
import { revived } from "../api/link.ts";
import { GoToDialog } from "../dialogs/GoTo.tsx";
import { ShareTaskDialog } from "../dialogs/ShareTask.tsx";
import { count } from "../format.ts";
import { useActs } from "../keyboard.ts";
import { Layout } from "../list/geometry.ts";
import { List } from "../list/List.tsx";
import type { ListHandle } from "../list/List.tsx";
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
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // What the field itself asked for leaves its text alone: the person may type on.
  const own = useRef(route.q);
  useEffect(() => {
    if (route.q !== own.current) setText(route.q);
    own.current = route.q;
  }, [route.q]);
  const search = (q: string) => go({ ...route, q }, true);
  const onInput = (q: string) => {
    setText(q);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      own.current = q.trim();
      search(own.current);
    }, 120);
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
          // Rows that are not there yet take the focus when they come.
          event.currentTarget.blur();
          document.querySelector<HTMLElement>("#tasks-list, .list")?.focus();
        }}
      />
      <Choice
        label={w.filterState}
        value={conditionOf(route.q, "state")}
        of={[
          ["", w.stateAny],
          ["running", w.controlRunning],
          ["paused", w.controlPaused],
          ["stopped", w.controlStopped],
          ["idle", w.controlIdle],
        ]}
        onChange={(value) => search(withCondition(route.q, "state", value))}
      />
      <Choice
        label={w.filterHas}
        value={conditionOf(route.q, "has")}
        of={[
          ["", w.hasAny],
          ["failure", w.hasFailure],
        ]}
        onChange={(value) => search(withCondition(route.q, "has", value))}
      />
    </>
  );
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

export function Tasks({ route }: { route: TasksRoute }) {
  const w = words.value;
  const source = useSource(route);
  const items = source.items.value;
  const total = source.total.value;
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
  useEffect(() => tellPolitely(w.countTasks(count(total ?? items.length))), [total, items.length]);

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
  const there = source.state.value === "there";
  return (
    <Frame
      top
      head={<SearchBar route={route} />}
      buttons={
        <span class="acts">
          {me.value?.admin && (
            <button type="button" onClick={() => go({ screen: "store" })}>
              {w.store}
            </button>
          )}{" "}
          <ActButton act="compare">{w.compare}</ActButton>
        </span>
      }
      foot={
        <span>
          {total !== null && total > items.length
            ? w.countTasksOf(count(items.length), count(total))
            : w.countTasks(count(items.length))}
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
      end={
        <span class={source.live.value === "stream" ? "ok" : "dim"}>
          <span aria-hidden="true">● </span>
          {source.live.value === "stream" ? w.live : w.polling}
        </span>
      }
    >
      <main class="cols" aria-label={w.tasks}>
        <div class="grid-tasks">
          {source.problem.value && items.length > 0 && (
            <div class="bar warn">{source.problem.value.message}</div>
          )}
          {source.problem.value && items.length === 0 ? (
            <ProblemBox problem={source.problem.value} reload={() => void source.reload()} />
          ) : there && items.length === 0 ? (
            <Empty route={route} />
          ) : (
            <>
              <TableHead route={route} shown={shown} setShown={setShown} metric={metric} />
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
