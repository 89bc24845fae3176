// Comparison of seven to fifty histories: a table of only what differs.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { parsePoint } from "../address.ts";
import type { Route } from "../address.ts";
import { state as askState, summary as askSummary } from "../api/calls.ts";
import type { Summary } from "../api/types.ts";
import { go, openDialog, say } from "../app-state.ts";
import { GoToDialog } from "../dialogs/GoTo.tsx";
import { count } from "../format.ts";
import { useActs } from "../keyboard.ts";
import { Frame } from "../parts/Frame.tsx";
import { copy, Waiting } from "../parts/ui.tsx";
import { Link, taskRoute } from "../tasks/Chosen.tsx";
import { Text } from "../text/Text.tsx";
import { visible } from "../text/visible.ts";
import { toProblem, useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { differencesOf } from "./differences.ts";
import type { Cell, DiffRow, History } from "./differences.ts";

type CompareRoute = Extract<Route, { screen: "compare" }>;

/** Histories that are compared at most, and of a comparison side by side. */
const MOST = 50;
const BESIDE = 6;
/** Requests at a time, so that other ones of the page are not kept waiting. */
const AT_A_TIME = 3;
/** Cells of a page of the table. */
const CELLS = 1_500;

interface Found {
  histories: History[];
  /** Addresses that have no column, with the reason. */
  missing: { address: string; why: string }[];
}

/** Reads the histories, a few at a time. */
async function readAll(
  of: readonly string[],
  abort: AbortSignal,
  onRead: (n: number) => void,
): Promise<Found> {
  const summaries = new Map<string, Promise<Summary>>();
  const read = async (address: string): Promise<History | string> => {
    try {
      const { point, state } = await askState(address, 0, abort);
      const asked = summaries.get(point.task) ?? askSummary(point.task, abort);
      summaries.set(point.task, asked);
      const lineage = (await asked).lineages.find((one) => one.id === point.lineage);
      return lineage ? { address, lineage, state } : words.value.notFound;
    } catch (error) {
      abort.throwIfAborted();
      const problem = toProblem(error);
      return problem.detail || problem.title || words.value.noAnswer;
    }
  };
  const results: (History | string)[] = [];
  let next = 0;
  let done = 0;
  const work = async () => {
    while (next < of.length) {
      const i = next++;
      results[i] = await read(of[i]!);
      onRead(++done);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return {
    histories: results.filter((one) => typeof one !== "string"),
    missing: results.flatMap((why, i) =>
      typeof why === "string" ? [{ address: of[i]!, why }] : [],
    ),
  };
}

/** Text of a cell. A table has many: what is plain needs no element of its own. */
function Plain({ text }: { text: string }) {
  const pieces = visible(text);
  const isPlain = pieces.length === 1 && pieces[0]!.kind === "text" && !pieces[0]!.style;
  return isPlain ? <>{text}</> : <Text text={text} />;
}

function Value({ of, address }: { of: Cell | null; address: string }) {
  const pointer = of?.pointer ?? "";
  const state: Route = { screen: "task", address, tab: "state", pointer, view: "" };
  if (of === null) {
    return (
      <td class="dim" title={words.value.notRecorded}>
        —
      </td>
    );
  }
  if (of.cut === undefined) {
    return (
      <td class="m" dir="auto">
        <Plain text={of.text} />
      </td>
    );
  }
  return (
    <td class="m" dir="auto">
      <Plain text={of.text} />{" "}
      <button type="button" class="link" onClick={() => go(state)}>
        {words.value.diffWhole(count(of.cut))}
      </button>
    </td>
  );
}

interface TableProps {
  histories: readonly History[];
  rows: readonly DiffRow[];
}

function Table({ histories, rows }: TableProps) {
  const w = words.value;
  return (
    <table class="plain" aria-label={w.diffTitle}>
      <thead>
        <tr>
          <td />
          {histories.map(({ address }) => (
            <th scope="col">
              <Link to={taskRoute(address)}>
                <Text text={address} />
              </Link>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            <th scope="row">
              <Plain text={row.name} />
            </th>
            {row.cells.map((cell, i) => (
              <Value of={cell} address={histories[i]!.address} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Rows in which all histories have the same, with what they have. */
function Equal({ rows }: { rows: readonly DiffRow[] }) {
  const w = words.value;
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>{w.diffEqual(count(rows.length))}</summary>
      {rows.slice(0, CELLS / 5).map(({ name, cells: [cell] }) => (
        <div class="m">
          <Plain text={`${name}: ${cell?.text ?? w.notRecorded}`} />
        </div>
      ))}
      {rows.length > CELLS / 5 && <p>{w.moreItems(count(rows.length - CELLS / 5))}</p>}
    </details>
  );
}

/** Links to the histories at the heads of the columns, among which `h` and `l` move. */
function moveColumn(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("thead a")];
  const next = links[links.indexOf(document.activeElement as HTMLElement) + by];
  if (next) next.focus();
  else say(words.value.noFurther);
}

export function ManyApart({ route }: { route: CompareRoute }) {
  const w = words.value;
  const of = route.of.slice(0, MOST);
  const key = of.join(" ");
  const [read] = useState(() => signal(0));
  const asked = useAsk(key, (abort) => {
    read.value = 0;
    return readAll(of, abort, (n) => (read.value = n));
  });
  const found = asked.value;
  const language = w.diffTitle;
  const { differing, equal } = useMemo(
    () => differencesOf(found?.histories ?? []),
    [found, language],
  );
  const size = Math.max(1, Math.floor(CELLS / of.length));
  const [from, setFrom] = useState(0);
  useEffect(() => setFrom(0), [key]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) box.current?.focus();
  }, [found]);
  const page = (by: 1 | -1) => {
    const to = from + by * size;
    if (to < 0 || to >= differing.length) return say(w.noFurther);
    setFrom(to);
    box.current?.scrollTo({ top: 0 });
  };
  const metrics = () => go({ screen: "metrics", at: of, metric: "", x: "step" });
  const beside = () => go({ ...route, of: route.of.slice(0, BESIDE) });
  useActs({
    down: () => box.current?.scrollBy({ top: 60 }),
    up: () => box.current?.scrollBy({ top: -60 }),
    nextHit: { run: () => page(1), name: w.diffNext },
    previousHit: { run: () => page(-1), name: w.diffPrevious },
    nextPane: { run: () => moveColumn(1), name: w.columnAfter },
    previousPane: { run: () => moveColumn(-1), name: w.columnBefore },
    leave: () => history.back(),
    goTo: () => openDialog(() => <GoToDialog lineage={null} />),
    copyLink: () => void copy(location.href),
  });
  const histories = found?.histories ?? [];
  const to = Math.min(from + size, differing.length);
  const isInside = histories.some(({ address, lineage }) => {
    const { offset } = parsePoint(address);
    return offset !== null && offset < lineage.head;
  });
  return (
    <Frame
      head={
        <>
          <h1>{w.compare}</h1>
          <span class="chip" data-gives={20}>{w.diffOf(count(of.length))}</span>
        </>
      }
      title={`${route.of[0] ?? ""} · ${w.compare}`}
      controls={[
        {
          draw: () => (
            <button type="button" onClick={metrics}>
              {w.metrics}
            </button>
          ),
        },
        {
          draw: () => (
            <button type="button" onClick={beside}>
              {w.diffBeside(count(BESIDE))}
            </button>
          ),
        },
      ]}
      foot={<span>{found && w.diffRows(count(differing.length))}</span>}
      keys={[
        ["previousPane", "nextPane", w.hintColumn],
        ["open", null, w.hintOpen],
        ["actions", null, w.actions],
      ]}
    >
      <main class="pane rest" aria-label={w.diffTitle}>
        {route.of.length > MOST && (
          <div class="bar warn">{w.diffFirst(count(MOST), count(route.of.length))}</div>
        )}
        <div class="doc" ref={box} tabIndex={0} role="region" aria-label={w.diffTitle}>
          {!found && (
            <Waiting of={asked} what={w.diffReading(count(read.value), count(of.length))} />
          )}
          {found?.missing.map(({ address, why }) => (
            <p class="warn">
              <Text text={`${address}: ${why}`} />
            </p>
          ))}
          {isInside && <p class="dim">{w.diffInside}</p>}
          {differing.length > 0 ? (
            <Table histories={histories} rows={differing.slice(from, to)} />
          ) : (
            found && <p>{w.diffNone}</p>
          )}
          {differing.length > size && (
            <p>
              {w.diffPart(count(from + 1), count(to), count(differing.length))}{" "}
              <button type="button" aria-disabled={from === 0} onClick={() => page(-1)}>
                {w.diffPrevious}
              </button>{" "}
              <button type="button" aria-disabled={to === differing.length} onClick={() => page(1)}>
                {w.diffNext}
              </button>
            </p>
          )}
          <Equal rows={equal} />
        </div>
      </main>
    </Frame>
  );
}
