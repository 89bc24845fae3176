// Changes of the state in the chosen step, or since another address.

import { useState } from "preact/hooks";
import { diff } from "../api/calls.ts";
import { ChangeList } from "../parts/Changes.tsx";
import { Stale, Waiting } from "../parts/ui.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import type { TabProps } from "./props.ts";
import { after, before } from "./selection.ts";

export function ChangesTab({ selection }: TabProps) {
  const w = words.value;
  const [other, setOther] = useState("");
  const [text, setText] = useState("");
  const from = other || before(selection);
  const to = after(selection);
  const asked = useAsk(`diff ${from} ${to}`, (signal) => diff(from, to, signal), true);
  return (
    <>
      <h2>{w.changesFrom(from, to)}</h2>
      <form
        class="buttons"
        onSubmit={(event) => {
          event.preventDefault();
          setOther(text.trim());
        }}
      >
        <input
          aria-label={`${w.compareWith}: ${w.address}`}
          placeholder={before(selection)}
          value={text}
          size={28}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button>{w.compareWith}</button>
      </form>
      <Stale of={asked} />
      {asked.value ? (
        <ChangeList items={asked.value.items} more={asked.value.more} />
      ) : (
        <Waiting of={asked} what={w.changes} />
      )}
    </>
  );
}
