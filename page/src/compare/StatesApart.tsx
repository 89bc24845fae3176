// Differences of the states at the ends of two histories.

import { diff } from "../api/calls.ts";
import { ChangeList } from "../parts/Changes.tsx";
import { Stale, Waiting } from "../parts/ui.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";

export function StatesApart({ a, b }: { a: string; b: string }) {
  const w = words.value;
  const asked = useAsk(`${a} ${b}`, (signal) => diff(a, b, signal));
  return (
    <div class="doc" tabIndex={0} role="region" aria-label={w.state}>
      <h2>{w.changesFrom(a, b)}</h2>
      <Stale of={asked} />
      {asked.value ? (
        <ChangeList items={asked.value.items} more={asked.value.more} />
      ) : (
        <Waiting of={asked} what={w.state} />
      )}
    </div>
  );
}
