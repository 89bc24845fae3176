// Finding in a lineage: a text, failures and marks, by keys.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isAbort } from "../api/problem.ts";
import { say } from "../app-state.ts";
import { count } from "../format.ts";
import { toProblem } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Hits } from "./hits.ts";
import type { LineageModel } from "./model.ts";

/** Events that are chosen: from the first to before the next. */
export interface Place {
  first: number;
  next: number;
}

export interface Search {
  text: string;
  setText: (text: string) => void;
  /** Hits of the text, if one is given. */
  hits: Hits | null;
  find: (direction: 1 | -1) => void;
  failure: (direction: 1 | -1) => void;
  mark: (direction: 1 | -1) => void;
}

export function useSearch(
  model: LineageModel,
  place: () => Place,
  goTo: (offset: number) => Promise<void>,
): Search {
  const queue = useRef<Promise<void>>(Promise.resolve());
  const [text, setText] = useState("");
  const make = (by: Hits["by"]) => new Hits(model.task, model.lineage, model.begin, by);
  const hits = useMemo(() => (text === "" ? null : make({ text })), [model, text]);
  const failures = useMemo(() => make({ failed: true }), [model]);
  const marks = useMemo(() => make({ kind: "checkpoint_marked" }), [model]);
  useEffect(() => () => hits?.stop(), [hits]);

  const jump = async (of: Hits, direction: 1 | -1) => {
    try {
      const from = direction === 1 ? place().next - 1 : place().first;
      const offset = await of.next(from, direction);
      if (offset !== null) return await goTo(offset);
      say(of.found.value.length === 0 ? words.value.noHits : words.value.noFurther);
    } catch (error) {
      if (!isAbort(error)) say(toProblem(error).message, true);
    }
  };
  /** Jumps one after the other, so that a key pressed twice moves twice. */
  const then = (of: Hits, direction: 1 | -1) => {
    queue.current = queue.current.then(() => jump(of, direction));
  };
  return {
    text,
    setText,
    hits,
    find: (direction) => hits && then(hits, direction),
    failure: (direction) => then(failures, direction),
    mark: (direction) => then(marks, direction),
  };
}

/** Says how many hits there are, as far as was searched. */
export function hitsText(search: Search): string {
  const found = search.hits?.found.value.length ?? 0;
  return search.hits && search.hits.read.value > 0 ? words.value.hits(count(found)) : "";
}
