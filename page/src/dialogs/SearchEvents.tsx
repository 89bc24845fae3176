// Search for a text in the events of all tasks. Hits come as they are found.

import { useEffect, useState } from "preact/hooks";
import { searchEvents } from "../api/calls.ts";
import { isAbort } from "../api/problem.ts";
import type { SearchHit } from "../api/types.ts";
import { closeDialog, go } from "../app-state.ts";
import { count } from "../format.ts";
import { kindWord } from "../task/StepsList.tsx";
import { Text } from "../text/Text.tsx";
import { toProblem } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Dialog } from "./Dialog.tsx";

/** Most hits that are listed. */
const LISTED = 200;

interface Found {
  hits: SearchHit[];
  /** Number of events that were read. */
  read: number;
  state: "running" | "done" | "stopped";
  problem: string;
}

const BEGIN: Found = { hits: [], read: 0, state: "running", problem: "" };

/** Reads page after page until there are enough hits, or no further events. */
async function search(
  text: string,
  signal: AbortSignal,
  tell: (change: (old: Found) => Found) => void,
): Promise<void> {
  let cursor: string | null = null;
  let found = 0;
  do {
    const page: Awaited<ReturnType<typeof searchEvents>> = await searchEvents(text, cursor, signal);
    cursor = page.next ?? null;
    found += page.items.length;
    const { items, events } = page;
    tell((old) => ({ ...old, hits: [...old.hits, ...items], read: old.read + events }));
  } while (cursor !== null && found < LISTED);
  tell((old) => ({ ...old, state: "done" }));
}

export function SearchEventsDialog({ text }: { text: string }) {
  const w = words.value;
  const [found, setFound] = useState<Found>(BEGIN);
  const [control] = useState(() => new AbortController());
  useEffect(() => {
    search(text, control.signal, setFound).catch((error: unknown) => {
      const problem = isAbort(error) ? "" : toProblem(error).message;
      setFound((old) => ({ ...old, state: "stopped", problem }));
    });
    return () => control.abort();
  }, []);
  const open = (address: string) => {
    closeDialog();
    go({ screen: "task", address, tab: "step", pointer: "", view: "events" });
  };
  return (
    <Dialog title={w.eventsWith(text)}>
      <p class="dim" role="status">
        {w.hits(count(found.hits.length))} · {w.eventsRead(count(found.read))}{" "}
        {found.state === "running" && (
          <button type="button" onClick={() => control.abort()}>
            {w.stop}
          </button>
        )}
      </p>
      {found.problem && <p class="bad">{found.problem}</p>}
      {found.hits.length > 0 && (
        <table class="plain">
          <tbody>
            {found.hits.slice(0, LISTED).map((hit) => (
              <tr>
                <td>
                  <button type="button" class="link" onClick={() => open(hit.address)}>
                    <Text text={hit.address} />
                  </button>
                </td>
                <td class="m dim">{kindWord(hit.row)}</td>
                <td>
                  <Text text={hit.row.text} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Dialog>
  );
}
