// Changes of a state, with the words that differ within texts.

import { diffArrays } from "diff";
import { stringify } from "../api/numbers.ts";
import type { Change, Json } from "../api/types.ts";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";

const DIFF_LIMIT = 20_000;
const SIGN = { add: "+", remove: "−", replace: "~" } as const;

function asText(value: Json | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : stringify(value, 1);
}

/** Returns words, white space, and single characters of scripts without spaces between words. */
export function wordsOf(text: string): string[] {
  return text.match(/[\w\u00c0-\u052f]+|\s+|./gsu) ?? [];
}

function Words({ before, after, side }: { before: string; after: string; side: "was" | "is" }) {
  const parts = diffArrays(wordsOf(before), wordsOf(after));
  return (
    <div class={side}>
      {parts.map((part) => {
        if (part.added) {
          return side === "is" ? (
            <ins>
              <Text text={part.value.join("")} />
            </ins>
          ) : null;
        }
        if (part.removed) {
          return side === "was" ? (
            <del>
              <Text text={part.value.join("")} />
            </del>
          ) : null;
        }
        return <Text text={part.value.join("")} />;
      })}
    </div>
  );
}

export function ChangeLine({ change }: { change: Change }) {
  const before = asText(change.before);
  const after = asText(change.after);
  const texts = typeof change.before === "string" && typeof change.after === "string";
  const fine = texts && before.length + after.length < DIFF_LIMIT && before.length > 40;
  const short = before.length + after.length < 60 && !/\n/.test(before + after);
  return (
    <div class="change">
      <span>{SIGN[change.kind]}</span>
      <span>
        <Text text={change.path} />
        {short && change.kind === "replace" && (
          <>
            {": "}
            <Text text={before} /> → <Text text={after} />
          </>
        )}
        {short && change.kind !== "replace" && (
          <>
            {": "}
            <Text text={before || after} />
          </>
        )}
      </span>
      {!short && fine && (
        <>
          <Words before={before} after={after} side="was" />
          <Words before={before} after={after} side="is" />
        </>
      )}
      {!short && !fine && change.before !== undefined && (
        <div class="was">
          <Text text={before} />
        </div>
      )}
      {!short && !fine && change.after !== undefined && (
        <div class="is">
          <Text text={after} />
        </div>
      )}
    </div>
  );
}

export function ChangeList({ items, more }: { items: readonly Change[]; more: boolean }) {
  const w = words.value;
  if (items.length === 0) return <p class="dim">{w.noChanges}</p>;
  return (
    <>
      {items.slice(0, 500).map((change) => (
        <ChangeLine change={change} />
      ))}
      {(more || items.length > 500) && <p class="warn">{w.moreChanges}</p>}
    </>
  );
}
