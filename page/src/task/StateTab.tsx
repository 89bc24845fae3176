// State after the chosen step, as a tree.

import { openFirstWhere } from "#acting";
import { state as askState } from "../api/calls.ts";
import type { Json } from "../api/types.ts";
import { go, openDialog } from "../app-state.ts";
import { BlameDialog } from "../dialogs/Blame.tsx";
import { count } from "../format.ts";
import { JsonTree } from "../parts/JsonTree.tsx";
import { Copy, Key, Stale, Waiting } from "../parts/ui.tsx";
import { valueAt } from "../pointer.ts";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import type { TabProps } from "./props.ts";
import { after } from "./selection.ts";

const MESSAGES = 20;

function Chosen({ pointer, value, at }: { pointer: string; value: Json | undefined; at: string }) {
  const w = words.value;
  const [task] = at.split("@");
  const metric = /^\/metrics\/([^/]+)$/.exec(pointer)?.[1];
  return (
    <div class="buttons">
      <code class="m">
        <Text text={pointer} />
      </code>
      <Copy text={pointer} />
      {value !== undefined && (
        <button
          type="button"
          onClick={() => openDialog(() => <BlameDialog address={at} pointer={pointer} />)}
        >
          {w.whoSet} <Key act="blame" />
        </button>
      )}
      {value !== undefined && openFirstWhere && (
        <button type="button" onClick={() => openFirstWhere?.(at, pointer, value)}>
          {w.buttonFirstWhere} <Key act="firstWhere" />
        </button>
      )}
      {metric && typeof value === "number" && (
        <button
          type="button"
          onClick={() => go({ screen: "metrics", at: [task!], metric, x: "step" })}
        >
          {w.plot}
        </button>
      )}
    </div>
  );
}

export function StateTab({ selection, pointer, choosePointer }: TabProps) {
  const w = words.value;
  const at = after(selection);
  const asked = useAsk(`state ${at}`, (signal) => askState(at, MESSAGES, signal), true);
  const found = asked.value;
  if (!found) return <Waiting of={asked} what={w.state} />;
  const total = Number(found.state["message_count"] ?? 0);
  const messages = found.state["messages"];
  const listed = Array.isArray(messages) ? messages.length : 0;
  return (
    <>
      <Stale of={asked} />
      <h2>{w.stateAt(found.point.address)}</h2>
      <div class="dim">
        {w.stateIsBefore(String(found.point.offset))}
        {found.point.hash && ` · ${w.hash} `}
        <code>{found.point.hash.slice(0, 12)}</code>
        {listed < total && ` · ${w.messagesShown(count(listed), count(total))}`}
      </div>
      {pointer && <Chosen pointer={pointer} value={valueAt(found.state, pointer)} at={at} />}
      <JsonTree value={found.state} pointer="" chosen={pointer} choose={choosePointer} open={2} />
    </>
  );
}
