// Comparison of two histories, turn by turn.

import { openFork } from "#acting";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { parsePoint } from "../address.ts";
import type { Route } from "../address.ts";
import { go, isShare, openDialog, say } from "../app-state.ts";
import { GoToDialog } from "../dialogs/GoTo.tsx";
import { whyReadOnly } from "../dialogs/Dialog.tsx";
import { count } from "../format.ts";
import { useActs } from "../keyboard.ts";
import { Layout } from "../list/geometry.ts";
import { List } from "../list/List.tsx";
import type { ListHandle } from "../list/List.tsx";
import { Frame } from "../parts/Frame.tsx";
import { Choice, copy, ProblemBox } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import { taskRoute } from "../tasks/Chosen.tsx";
import { AlignedRow } from "./AlignedRow.tsx";
import { Counts } from "./Counts.tsx";
import { linesOf } from "./lines.ts";
import type { Line } from "./lines.ts";
import { AlignSource } from "./source.ts";
import { StatesApart } from "./StatesApart.tsx";

type CompareRoute = Extract<Route, { screen: "compare" }>;

function useAlign(route: CompareRoute): AlignSource | null {
  const [a, b] = route.of;
  const source = useMemo(
    () => (a && b ? new AlignSource(a, b, route.texts) : null),
    [a, b, route.texts],
  );
  useEffect(() => {
    void source?.more();
    return () => source?.end();
  }, [source]);
  return source;
}

export function Compare({ route }: { route: CompareRoute }) {
  const w = words.value;
  const source = useAlign(route);
  if (!source) {
    return (
      <Frame head={<h1>{w.compare}</h1>} keys={[["leave", null, w.keyLeave]]}>
        <main class="state">
          <h2>{w.compareWhat}</h2>
          <p class="dim">{w.compareHow}</p>
        </main>
      </Frame>
    );
  }
  return <Pair key={`${source.a} ${source.b}`} route={route} source={source} />;
}

function pairNames(of: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  of.forEach((a, i) => {
    of.forEach((b, j) => {
      if (i !== j) pairs.push([`${i}-${j}`, `${a} · ${b}`]);
    });
  });
  return pairs;
}

function Pair({ route, source }: { route: CompareRoute; source: AlignSource }) {
  const w = words.value;
  const items = source.items.value;
  const problem = source.problem.value;
  const lines = useMemo(() => linesOf(items, route.only), [items, route.only]);
  const layout = useMemo(() => new Layout(lines.length, 66), [lines.length]);
  const list = useRef<ListHandle>(null);
  const [cursor, setCursor] = useState(0);
  const jumped = useRef(false);
  const [shows, setShows] = useState<"turns" | "state">("turns");
  const line = lines[Math.min(cursor, lines.length - 1)];
  const item = line && "item" in line ? line.item : null;

  const move = (to: number) => {
    const flat = Math.max(0, Math.min(lines.length - 1, to));
    setCursor(flat);
    list.current?.show(flat, true);
  };
  const isDifferent = (one: Line) => "item" in one && one.item.op !== "same";
  const toDifference = async (direction: 1 | -1) => {
    for (;;) {
      const now = linesOf(source.items.peek(), route.only);
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
    if (jumped.current || items.length === 0) return;
    jumped.current = true;
    list.current?.focus();
    const first = lines.findIndex(isDifferent);
    if (first > 0) {
      setCursor(first);
      list.current?.show(first, true);
    }
  }, [items.length]);

  const open = (side: "a" | "b") => {
    const turn = item?.[side] ?? null;
    if (!turn) return say(w.noFurther);
    const { task, lineage } = parsePoint(side === "a" ? source.a : source.b);
    const base = lineage === null ? task : `${task}/${lineage}`;
    go(taskRoute(lineage === null ? base : `${base}@${turn.first}`));
  };
  const forkHere = () => {
    const side = item?.a ? "a" : "b";
    const turn = item?.[side];
    const { task, lineage } = parsePoint(side === "a" ? source.a : source.b);
    if (!turn || lineage === null) return say(w.noFurther);
    const [first, next] = [Number(turn.first), Number(turn.next)];
    const selection = { task, lineage, offset: first, first, next, turn: null };
    openFork(selection);
  };
  const swap = () => {
    const [a, b, ...rest] = route.of;
    go({ ...route, of: [b!, a!, ...rest] }, true);
  };
  useActs({
    down: () => move(cursor + 1),
    up: () => move(cursor - 1),
    first: () => move(0),
    last: () => move(lines.length - 1),
    nextHit: () => void toDifference(1),
    previousHit: () => void toDifference(-1),
    open: { run: () => open(item?.b ? "b" : "a"), name: item?.b ? w.openB : w.openA },
    previousPane: { run: () => open("a"), name: w.openA },
    nextPane: { run: () => open("b"), name: w.openB },
    view: {
      run: () => go({ ...route, only: !route.only }, true),
      name: w.onlyDifferences,
    },
    tab1: { run: () => setShows("turns"), name: w.steps },
    tab2: { run: () => setShows("state"), name: w.state },
    leave: () => history.back(),
    goTo: () => openDialog(() => <GoToDialog lineage={null} />),
    fork: { run: forkHere, why: whyReadOnly() },
    share: { run: () => {}, why: isShare() ? w.shareWhy : w.notYet },
    copyLink: () => void copy(location.href),
  });

  const onWindow = useMemo(
    () => (_: number, end: number) => {
      if (source.hasMore && end > linesOf(source.items.peek(), route.only).length - 50) {
        void source.more();
      }
    },
    [source, route.only],
  );
  const side = (letter: string, address: string) => (
    <span class="chip m">
      {letter} <Text text={address} />
    </span>
  );
  return (
    <Frame
      head={
        <>
          <h1>{w.compare}</h1>
          {side("A", source.a)}
          {side("B", source.b)}
        </>
      }
      buttons={
        <>
          {route.of.length > 2 && (
            <Choice
              label={w.comparePair}
              value="0-1"
              of={pairNames(route.of)}
              onChange={(value) => {
                const [i, j] = value.split("-").map(Number);
                const pair = [route.of[i!]!, route.of[j!]!];
                const rest = route.of.filter((one) => !pair.includes(one));
                go({ ...route, of: [...pair, ...rest] }, true);
              }}
            />
          )}
          <button
            type="button"
            aria-pressed={shows === "state"}
            onClick={() => setShows(shows === "state" ? "turns" : "state")}
          >
            {w.state} <kbd aria-hidden="true">2</kbd>
          </button>
          <button
            type="button"
            aria-pressed={route.only}
            onClick={() => go({ ...route, only: !route.only }, true)}
          >
            {w.onlyDifferences} <kbd aria-hidden="true">v</kbd>
          </button>
          <button
            type="button"
            aria-pressed={route.texts}
            onClick={() => go({ ...route, texts: !route.texts }, true)}
          >
            {w.textsCount}
          </button>
          <button
            type="button"
            onClick={() =>
              go({ screen: "metrics", at: route.of.slice(0, 6), metric: "", x: "step" })
            }
          >
            {w.metrics}
          </button>
          <button type="button" onClick={swap}>
            {w.swap}
          </button>
        </>
      }
      foot={<span>{w.countTurns(count(items.length))}</span>}
      keys={[
        ["nextHit", "previousHit", w.hintHit],
        ["down", "up", w.hintTurn],
        ["open", null, w.hintOpen],
        ["fork", null, w.doFork],
        ["actions", null, w.actions],
      ]}
      end={<span>{route.texts ? w.alignedByTexts : w.alignedBy}</span>}
    >
      <main class="pane rest" aria-label={w.compare}>
        {source.counts.value && <Counts source={source} />}
        {shows === "state" ? (
          <StatesApart a={source.a} b={source.b} />
        ) : problem && items.length === 0 ? (
          <ProblemBox problem={problem} reload={() => void source.more()} />
        ) : source.done.value && items.length === 0 ? (
          <div class="state">{w.noDifference}</div>
        ) : (
          <>
            <div class="row head crow">
              <span>A · {source.a}</span>
              <span />
              <span>B · {source.b}</span>
            </div>
            <List
              id="aligned"
              label={w.compare}
              layout={layout}
              cursor={cursor}
              handle={list}
              onCursor={setCursor}
              onOpen={() => open(item?.b ? "b" : "a")}
              onWindow={onWindow}
              rowProps={() => ({ class: "crow" })}
              draw={(flat) => <AlignedRow line={lines[flat]} items={items} />}
            />
          </>
        )}
      </main>
    </Frame>
  );
}
