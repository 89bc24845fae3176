// Bars above the list: the task moved, the service is still reading, a search runs.

import { go } from "../app-state.ts";
import { count } from "../format.ts";
import { words } from "../words/index.ts";
import type { Move } from "./live.ts";
import type { LineageModel } from "./model.ts";
import type { Search } from "./search.ts";

export function MovedBar(props: { task: string; move: Move; dismiss: () => void }) {
  const w = words.value;
  const { task, move } = props;
  const to = `${task}/${move.to}@${move.at}`;
  return (
    <div class="bar warn" role="status">
      {w.movedTo(`${task}/${move.from}`, to)}
      <button
        type="button"
        onClick={() => {
          props.dismiss();
          go({ screen: "task", address: task, tab: "step", pointer: "", view: "" });
        }}
      >
        {w.movedGo}
      </button>
      <button type="button" onClick={props.dismiss}>
        {w.dismiss}
      </button>
    </div>
  );
}

export function ProgressBar({ model, search }: { model: LineageModel; search: Search }) {
  const w = words.value;
  const head = model.head.value;
  const read = model.read.value;
  const hits = search.slow;
  if (hits) {
    return (
      <section class="bar dim" aria-label={w.search}>
        {w.searching(count(hits.read.value), count(head))}
        <button type="button" onClick={() => hits.stop()}>
          {w.stop}
        </button>
      </section>
    );
  }
  if (!model.ready.value || read >= head - 200 || model.stopped.value) return null;
  return (
    <section class="bar dim" aria-label={w.loading}>
      <progress aria-label={w.loading} value={read} max={head} />
      {w.readingEvents(count(read), count(head))}
      <button type="button" onClick={() => (model.stopped.value = true)}>
        {w.stop}
      </button>
    </section>
  );
}

/** Says that the address is beyond the end. */
export function BeyondBar({ at, head }: { at: number; head: number }) {
  return (
    <div class="bar warn" role="status">
      {words.value.beyond(count(at), count(head))}
    </div>
  );
}
