// Finding in a lineage: a text, failures and marks, by keys.

import { useEffect, useRef, useState } from "preact/hooks";
import { isAbort } from "../api/problem.ts";
import { say } from "../app-state.ts";
import { count } from "../format.ts";
import { toProblem } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Hits, within } from "./hits.ts";
import type { LineageModel } from "./model.ts";

/** Events that are chosen: from the first to before the next. */
export interface Place {
  first: number;
  next: number;
}

export interface Search {
  text: string;
  /** Searches for a text, and counts its hits. */
  setText: (text: string) => void;
  /** Searches for a text, and goes to its next hit. */
  seek: (text: string, direction: 1 | -1) => void;
  /** Hits of the text, if one is given. */
  hits: Hits | null;
  /** Search that a person waits for. */
  slow: Hits | null;
  find: (direction: 1 | -1) => void;
  failure: (direction: 1 | -1) => void;
  mark: (direction: 1 | -1) => void;
}

function tell(error: unknown): void {
  if (!isAbort(error)) say(toProblem(error).message, true);
}

export function useSearch(
  model: LineageModel,
  place: () => Place,
  goTo: (offset: number) => Promise<void>,
): Search {
  const queue = useRef<Promise<void>>(Promise.resolve());
  const make = (by: Hits["by"]) => new Hits(model.task, model.lineage, model.begin, by);
  const [failures] = useState(() => make({ failed: true }));
  const [marks] = useState(() => make({ kind: "checkpoint_marked" }));
  const [{ text, hits }, setHits] = useState<{ text: string; hits: Hits | null }>({
    text: "",
    hits: null,
  });
  useEffect(() => () => hits?.stop(), [hits]);

  const put = (wanted: string): Hits | null => {
    if (wanted === text) return hits;
    const made = wanted === "" ? null : make({ text: wanted });
    setHits({ text: wanted, hits: made });
    return made;
  };
  // All of them are counted: a number of a part would read as that of the whole.
  const head = model.head.value;
  useEffect(() => {
    if (hits && !hits.running.peek()) void hits.search().catch(tell);
  }, [hits, hits?.complete.value ? head : 0]);

  const jump = async (of: Hits, direction: 1 | -1) => {
    const w = words.value;
    try {
      const { first, next } = place();
      const found = await of.next(direction === 1 ? next - 1 : first, direction);
      if (!found) return say(w.noHits);
      if (found.wrapped) {
        const isHere = found.offset >= first && found.offset < next;
        say(isHere ? w.noOther : direction === 1 ? w.fromBeginning : w.fromEnd);
      }
      await goTo(found.offset);
    } catch (error) {
      tell(error);
    }
  };
  /** Jumps one after the other, so that a key pressed twice moves twice. */
  const then = (of: Hits, direction: 1 | -1) => {
    queue.current = queue.current.then(() => jump(of, direction));
  };
  return {
    text,
    setText: (wanted) => void put(wanted),
    seek: (wanted, direction) => {
      const of = put(wanted);
      if (of) then(of, direction);
    },
    hits,
    slow: [hits, failures, marks].find((one) => one?.slow.value) ?? null,
    find: (direction) => hits && then(hits, direction),
    failure: (direction) => then(failures, direction),
    mark: (direction) => then(marks, direction),
  };
}

/** Says how many hits there are and which of them are chosen, once all are known. */
export function hitsText({ hits }: Search, { first, next }: Place, head: number): string {
  const w = words.value;
  if (!hits) return "";
  const found = hits.found.value;
  const all = count(found.length);
  if (!hits.complete.value) {
    const read = count(hits.read.value);
    return hits.running.value ? w.searching(read, count(head)) : w.hitsBefore(all, read);
  }
  const [at, here] = within(found, first, next);
  if (here === 0) return found.length === 0 ? w.noHits : w.hits(all);
  const from = count(at + 1);
  return w.hitOf(here === 1 ? from : `${from}–${count(at + here)}`, all);
}
