// Comparison of two to six histories, turn by turn: the first one with each of the others. Of more
// than six the page has a table, and a share the first six.

import { FilesApart, ManyApart, openFork } from "#acting";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { parsePoint } from "../address.ts";
import type { Route } from "../address.ts";
import type { Turn } from "../api/types.ts";
import { go, isShare, openDialog, say } from "../app-state.ts";
import { GoToDialog } from "../dialogs/GoTo.tsx";
import { whyReadOnly } from "../dialogs/Dialog.tsx";
import { count } from "../format.ts";
import { useActs } from "../keyboard.ts";
import { Layout } from "../list/geometry.ts";
import { List } from "../list/List.tsx";
import type { ListHandle } from "../list/List.tsx";
import { Frame } from "../parts/Frame.tsx";
import { copy, ProblemBox } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import { taskRoute } from "../tasks/Chosen.tsx";
import { AlignedRow, letterOf } from "./AlignedRow.tsx";
import { Counts } from "./Counts.tsx";
import { linesOf } from "./lines.ts";
import type { Line } from "./lines.ts";
import { isSame } from "./merge.ts";
import { Columns } from "./source.ts";
import { StatesApart } from "./StatesApart.tsx";

type CompareRoute = Extract<Route, { screen: "compare" }>;

/** Histories that fit next to each other. */
const MOST = 6;

function useColumns(route: CompareRoute): Columns | null {
  const of = route.of.slice(0, MOST);
  const source = useMemo(
    () => (of.length > 1 ? new Columns(of, route.texts) : null),
    [of.join(" "), route.texts],
  );
  useEffect(() => {
    void source?.more();
    return () => source?.end();
  }, [source]);
  return source;
}

export function Compare({ route }: { route: CompareRoute }) {
  if (ManyApart && route.of.length > MOST) return <ManyApart route={route} />;
  return <Few route={route} />;
}

function Few({ route }: { route: CompareRoute }) {
  const w = words.value;
  const source = useColumns(route);
  if (!source) {
    return (
      <Frame title={w.compare} head={<h1>{w.compare}</h1>} keys={[["leave", null, w.keyLeave]]}>
        <main class="state">
          <h2>{w.compareWhat}</h2>
          <p class="dim">{w.compareHow}</p>
        </main>
      </Frame>
    );
  }
  return <Sides key={source.of.join(" ")} route={route} source={source} />;
}

type Shows = "turns" | "state" | "files";

interface HeadProps {
  source: Columns;
  columns: readonly number[];
  chosen: number;
  choose: (column: number) => void;
}

/** Names of the histories: a click chooses the one that keys act on. */
function ColumnHeads({ source, columns, chosen, choose }: HeadProps) {
  return (
    <div class="row head crow">
      {[0, ...columns].map((column) => (
        <>
          {column > 0 && <span class={column === (chosen || columns[0]) ? "" : "off"} />}
          <button
            type="button"
            class={column === 0 || column === (chosen || columns[0]) ? "" : "off"}
            aria-pressed={column === chosen}
            onClick={() => choose(column)}
          >
            {letterOf(column)} · <Text text={source.of[column]!} />
          </button>
        </>
      ))}
    </div>
  );
}

function Sides({ route, source }: { route: CompareRoute; source: Columns }) {
  const w = words.value;
  const rows = source.rows.value;
  const there = source.there.value;
  const lines = useMemo(() => linesOf(rows, route.only), [rows, route.only]);
  const layout = useMemo(() => new Layout(lines.length, 66), [lines.length]);
  const list = useRef<ListHandle>(null);
  const [cursor, setCursor] = useState(0);
  const [wanted, setWanted] = useState(1);
  const jumped = useRef(false);
  const [shows, setShows] = useState<Shows>("turns");
  const line = lines[Math.min(cursor, lines.length - 1)];
  const row = line && "row" in line ? line.row : null;
  const columns = shows === "turns" ? there : source.pairs.map((_, i) => i + 1);
  const chosen = wanted === 0 || columns.includes(wanted) ? wanted : (columns[0] ?? 1);
  const against = chosen || (columns[0] ?? 1);

  const choose = (column: number) => setWanted(column);
  const beside = (by: 1 | -1) => {
    const all = [0, ...columns];
    const next = all[all.indexOf(chosen) + by];
    if (next === undefined) return say(w.noFurther);
    choose(next);
    say(`${letterOf(next)} · ${source.of[next]}`);
  };
  const move = (to: number) => {
    const flat = Math.max(0, Math.min(lines.length - 1, to));
    setCursor(flat);
    list.current?.show(flat, true);
  };
  const isDifferent = (one: Line) => "row" in one && !isSame(one.row);
  const toDifference = async (direction: 1 | -1) => {
    for (;;) {
      const now = linesOf(source.rows.peek(), route.only);
      const after = now.findIndex((one, i) => i > cursor && isDifferent(one));
      const found =
        direction === 1 ? after : now.findLastIndex((one, i) => i < cursor && isDifferent(one));
      if (found >= 0) return move(found);
      if (direction === -1 || !source.hasMore) return say(w.noFurther);
      await source.more();
    }
  };

  // Begins at the first difference.
  useEffect(() => {
    if (jumped.current || rows.length === 0) return;
    jumped.current = true;
    list.current?.focus();
    const first = lines.findIndex(isDifferent);
    if (first > 0) {
      setCursor(first);
      list.current?.show(first, true);
    }
  }, [rows.length]);

  /** The turn of the chosen history, or of the first that has one in this row. */
  const turn = (): [number, Turn] | null => {
    for (const column of [chosen, 0, ...there]) {
      const found = column === 0 ? row?.a : row?.others[column - 1]?.b;
      if (found) return [column, found];
    }
    return null;
  };
  const at = turn();
  const open = () => {
    if (!at) return say(w.noFurther);
    const { task, lineage } = parsePoint(source.of[at[0]]!);
    go(taskRoute(lineage === null ? task : `${task}/${lineage}@${at[1].first}`));
  };
  const forkHere = () => {
    const { task, lineage } = parsePoint(at ? source.of[at[0]]! : "");
    if (!at || lineage === null) return say(w.noFurther);
    const { first, next } = at[1];
    openFork({ task, lineage, offset: first, first, next, turn: null });
  };
  const swap = () => {
    const of = [...route.of];
    [of[0], of[against]] = [of[against]!, of[0]!];
    go({ ...route, of }, true);
  };
  const toggle = (what: Shows) => setShows(shows === what ? "turns" : what);
  useActs({
    down: () => move(cursor + 1),
    up: () => move(cursor - 1),
    first: () => move(0),
    last: () => move(lines.length - 1),
    nextHit: () => void toDifference(1),
    previousHit: () => void toDifference(-1),
    open: { run: open, name: w.openColumn(letterOf(at?.[0] ?? chosen)) },
    previousPane: { run: () => beside(-1), name: w.columnBefore },
    nextPane: { run: () => beside(1), name: w.columnAfter },
    view: {
      run: () => go({ ...route, only: !route.only }, true),
      name: w.onlyDifferences,
    },
    tab1: { run: () => setShows("turns"), name: w.steps },
    tab2: { run: () => setShows("state"), name: w.state },
    tab3: { run: () => setShows("files"), name: w.files },
    leave: () => history.back(),
    goTo: () => openDialog(() => <GoToDialog lineage={null} />),
    fork: { run: forkHere, why: whyReadOnly() },
    share: { run: () => {}, why: isShare() ? w.shareWhy : w.notYet },
    copyLink: () => void copy(location.href),
  });

  const onWindow = useMemo(
    () => (_: number, end: number) => {
      if (source.hasMore && end > linesOf(source.rows.peek(), route.only).length - 50) {
        void source.more();
      }
    },
    [source, route.only],
  );
  const button = (name: string, run: () => void, pressed?: boolean, key?: string) => (
    <button type="button" aria-pressed={pressed} onClick={run}>
      {name} {key && <kbd aria-hidden="true">{key}</kbd>}
    </button>
  );
  const [a, b] = [source.of[0]!, source.of[against]!];
  const problem = source.pairs[0]!.problem.value;
  const props = { source, columns, chosen, choose };
  return (
    <Frame
      head={
        <>
          <h1>{w.compare}</h1>
          <span class="chip m" data-gives={20}>
            A <Text text={a} />
          </span>
        </>
      }
      title={`${a} · ${b} · ${w.compare}`}
      controls={[
        { draw: () => button(w.swap, swap) },
        {
          draw: () =>
            button(w.metrics, () =>
              go({ screen: "metrics", at: route.of.slice(0, 50), metric: "", x: "step" }),
            ),
        },
        {
          draw: () =>
            button(w.textsCount, () => go({ ...route, texts: !route.texts }, true), route.texts),
        },
        { act: "tab3", draw: () => button(w.files, () => toggle("files"), shows === "files", "3") },
        { act: "tab2", draw: () => button(w.state, () => toggle("state"), shows === "state", "2") },
        {
          act: "view",
          draw: () =>
            button(
              w.onlyDifferences,
              () => go({ ...route, only: !route.only }, true),
              route.only,
              "v",
            ),
        },
      ]}
      foot={<span>{w.countTurns(count(rows.length))}</span>}
      keys={[
        ["nextHit", "previousHit", w.hintHit],
        ["down", "up", w.hintTurn],
        ["previousPane", "nextPane", w.hintColumn],
        ["open", null, w.hintOpen],
        ["fork", null, w.doFork],
        ["actions", null, w.actions],
      ]}
      end={<span>{route.texts ? w.alignedByTexts : w.alignedBy}</span>}
    >
      <main class="pane rest" aria-label={w.compare} style={{ "--others": columns.length }}>
        {route.of.length > MOST && (
          <div class="bar warn">{w.firstSix(count(MOST), count(route.of.length))}</div>
        )}
        <div class="sides" tabIndex={0} role="region" aria-label={w.firstDifference}>
          <Counts source={source} />
        </div>
        {shows === "turns" && problem && there.length === 0 ? (
          <ProblemBox problem={problem} reload={() => void source.more()} />
        ) : (
          <ColumnHeads {...props} />
        )}
        {shows === "state" ? (
          <StatesApart a={a} b={b} />
        ) : shows === "files" ? (
          <FilesApart key={`${a} ${b}`} a={a} b={b} />
        ) : there.length === 0 ? null : !source.hasMore && rows.length === 0 ? (
          <div class="state">{w.noDifference}</div>
        ) : (
          <List
            id="aligned"
            label={w.compare}
            layout={layout}
            cursor={cursor}
            handle={list}
            onCursor={setCursor}
            onOpen={open}
            onWindow={onWindow}
            rowProps={() => ({ class: "crow" })}
            draw={(flat) => <AlignedRow line={lines[flat]} {...props} />}
          />
        )}
      </main>
    </Frame>
  );
}
