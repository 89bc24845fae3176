// A step as a document: what was said, calls with their arguments, results whole.

import { useState } from "preact/hooks";
import { event as askEvent, events as askEvents, valuePath } from "../api/calls.ts";
import type { Event, Turn } from "../api/types.ts";
import { formatPoint } from "../address.ts";
import { costOf, count, dateTime, duration, measure } from "../format.ts";
import { Waiting } from "../parts/ui.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { EventPart } from "./EventPart.tsx";
import type { TabProps } from "./props.ts";
import type { Selection } from "./selection.ts";
import { nameOfTurn } from "./StepsList.tsx";

const FIRST = 60;

/**
 * Reads the events of a step. A page of the service ends early if its events are large; the others
 * are asked for one by one, with their long texts cut.
 */
async function load(of: Selection, end: number, signal: AbortSignal): Promise<Event[]> {
  const one = (offset: number) => askEvent(formatPoint(of.task, of.lineage, offset), signal);
  if (end - of.first <= 1) return [await one(of.first)];
  const limit = end - of.first;
  const asked = { lineage: of.lineage, from: of.first, to: end, limit };
  const found = (await askEvents(of.task, asked, signal)).items;
  for (let offset = of.first + found.length; offset < end; offset++) found.push(await one(offset));
  return found;
}

function usageText(turn: Turn): string {
  const w = words.value;
  const { usage } = turn;
  if (!usage || (usage.input == null && usage.output == null)) return w.tokensNotRecorded;
  const text = w.usageTokens(count(usage.input ?? 0), count(usage.output ?? 0));
  return usage.cache_read != null ? `${text}, ${w.usageCache(count(usage.cache_read))}` : text;
}

function Facts({ turn }: { turn: Turn }) {
  const w = words.value;
  const calls = turn.calls.length + (turn.more_calls ?? 0);
  const parts = [
    w.fromTo(String(turn.first), String(turn.next - 1)),
    w.countCalls(count(calls)),
    turn.took_us === undefined ? w.timeNotRecorded : duration(turn.took_us),
    usageText(turn),
    costOf(turn.usage) ?? w.costNotRecorded,
  ];
  if (turn.usage?.model) parts.push(turn.usage.model);
  const metrics = Object.entries(turn.metrics ?? {});
  return (
    <div class="dim">
      {parts.join(" · ")}
      {turn.time_us !== undefined && ` · ${dateTime(turn.time_us)}`}
      {metrics.map(([name, value]) => (
        <span>
          {" · "}
          {name} {typeof value === "number" ? measure(value) : value}
        </span>
      ))}
    </div>
  );
}

function Title({ turn, selection }: { turn: Turn | null; selection: Selection }) {
  const w = words.value;
  if (!turn) return <h2>@{selection.first}</h2>;
  const name = turn.name ? ` · ${turn.name}` : "";
  return (
    <>
      <h2>
        {turn.step == null ? w.turnN(nameOfTurn(turn)) : w.stepN(nameOfTurn(turn))}
        {name}
      </h2>
      <Facts turn={turn} />
    </>
  );
}

export function StepTab({ selection, turn }: TabProps) {
  const w = words.value;
  const [most, setMost] = useState(FIRST);
  const end = Math.min(selection.next, selection.first + most);
  const { task, lineage, first } = selection;
  const asked = useAsk(
    `${task}/${lineage}@${first}-${end}`,
    (signal) => load(selection, end, signal),
    true,
  );
  const items = asked.value?.filter(({ offset }) => offset >= first && offset < selection.next);
  const results = items?.filter((one) => one.kind === "tool_returned") ?? [];
  const returned = new Set(results.map((one) => one.body?.["call"]));
  if (asked.problem?.status === 404 && selection.next - first === 1) {
    return <p class="dim">{w.noEvent}</p>;
  }
  return (
    <>
      <Title turn={turn} selection={selection} />
      {items && items.length > 0 ? (
        items.map((one) => (
          <EventPart
            key={one.offset}
            event={one}
            alone={items.length === 1}
            open={items.length > 1 && !returned.has(one.body?.["call"])}
            pathOf={(pointer) => valuePath(formatPoint(task, lineage, one.offset), pointer)}
          />
        ))
      ) : (
        <Waiting of={asked} what={`@${first}`} />
      )}
      {end < selection.next && (
        <button type="button" onClick={() => setMost(most + 200)}>
          {w.moreEvents(count(selection.next - end))}
        </button>
      )}
    </>
  );
}
