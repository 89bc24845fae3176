// Head of a task: its name, lineage, outcome, control, and the field to find in it.

import { useState } from "preact/hooks";
import { Choice, controlWord, outcomeText, OutcomeSign } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { useDelay } from "../use-delay.ts";
import { words } from "../words/index.ts";
import type { ReaderProps } from "./props.ts";
import { hitsText } from "./search.ts";
import type { Place, Search } from "./search.ts";

interface HeadProps extends ReaderProps {
  search: Search;
  place: Place;
  onLineage: (id: number) => void;
}

function Find({ search, place, head }: { search: Search; place: Place; head: number }) {
  const w = words.value;
  const [text, setText] = useState(search.text);
  const delay = useDelay(200);
  const leave = () => document.querySelector<HTMLElement>(".list")?.focus();
  return (
    <>
      <input
        id="find"
        type="search"
        size={24}
        aria-label={w.findHint}
        placeholder={w.findHint}
        value={text}
        onInput={(event) => {
          const value = event.currentTarget.value;
          setText(value);
          delay.later(() => search.setText(value.trim()));
        }}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === "Enter") {
            delay.forget();
            search.seek(text.trim(), event.shiftKey ? -1 : 1);
            leave();
          } else if (event.key === "Escape") leave();
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <span class="dim status" role="status">
        {hitsText(search, place, head)}
      </span>
    </>
  );
}

export function TaskHead(props: HeadProps) {
  const w = words.value;
  const { summary, lineage } = props;
  const outcome = summary.lineages.find((one) => one.id === lineage.id)?.outcome;
  return (
    <>
      <h1 title={summary.id}>
        <Text text={summary.id} />
      </h1>
      {props.lineages.length > 1 ? (
        <Choice
          label={w.lineage}
          value={String(lineage.id)}
          of={props.lineages.map((one) => {
            const name = one.description ? ` · ${one.description}` : "";
            return [String(one.id), `${w.lineage} ${one.id}${name}`.slice(0, 40)] as const;
          })}
          onChange={(value) => props.onLineage(Number(value))}
        />
      ) : (
        <span class="chip" data-gives={22}>
          {w.lineage} {lineage.id}
        </span>
      )}
      {outcome && (outcome.good != null || outcomeText(outcome) !== null) && (
        <span class="chip" data-gives={21}>
          <OutcomeSign of={outcome} long />
        </span>
      )}
      <span class="chip" data-gives={20}>
        {controlWord(summary.control)}
      </span>
      <Find search={props.search} place={props.place} head={props.model.head.value} />
    </>
  );
}
