// The event as the service has it: header, hash, body.

import { event as askEvent, valuePath } from "../api/calls.ts";
import { dateTime } from "../format.ts";
import { isCut, LongText } from "../parts/LongText.tsx";
import type { Json } from "../api/types.ts";
import { Copy, Fact, Stale, Waiting } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Withheld } from "./EventPart.tsx";
import type { TabProps } from "./props.ts";
import { addressOf } from "./selection.ts";

/** Finds the texts of a body that were cut. */
export function cutsIn(value: Json, found: Json[] = []): Json[] {
  if (isCut(value)) found.push(value);
  else if (Array.isArray(value)) value.forEach((item) => cutsIn(item, found));
  else if (typeof value === "object" && value !== null) {
    Object.values(value).forEach((item) => cutsIn(item, found));
  }
  return found;
}

export function RawTab({ selection }: TabProps) {
  const w = words.value;
  const at = addressOf(selection);
  const asked = useAsk(`event ${at}`, (signal) => askEvent(at, signal), true);
  const one = asked.value;
  if (asked.problem?.status === 404) return <p class="dim">{w.noEvent}</p>;
  if (!one) return <Waiting of={asked} what={at} />;
  const pathOf = (pointer: string) => valuePath(at, pointer);
  return (
    <>
      <Stale of={asked} />
      <h2>{at}</h2>
      <dl>
        <Fact name={w.kind}>{one.kind}</Fact>
        <Fact name={w.time}>
          {dateTime(one.time_us)} <span class="dim">{one.time}</span>
        </Fact>
        <Fact name={w.user}>{one.user && <Text text={one.user} />}</Fact>
        <Fact name={w.actor}>{one.actor && <Text text={one.actor} />}</Fact>
        <Fact name={w.hash}>
          {one.hash && (
            <>
              <code>{one.hash}</code> <Copy text={one.hash} />
            </>
          )}
        </Fact>
        {one.checkpoint && (
          <Fact name={w.checkpoint}>
            <code>{one.checkpoint}</code>
          </Fact>
        )}
      </dl>
      <Withheld event={one} />
      {one.body === null ? (
        one.withheld === undefined && <p class="dim">{w.erased}</p>
      ) : (
        <>
          <LongText name={w.eventBody} value={one.body} pathOf={pathOf} />
          {cutsIn(one.body).map((value) => (
            <LongText
              name={<code>{isCut(value) ? value.pointer : ""}</code>}
              value={value}
              pathOf={pathOf}
            />
          ))}
        </>
      )}
    </>
  );
}
