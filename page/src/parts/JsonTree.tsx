// Tree of a JSON value: objects and lists open on a click, long lists in parts.

import { useState } from "preact/hooks";
import { isExact, stringify } from "../api/numbers.ts";
import type { Json } from "../api/types.ts";
import { count } from "../format.ts";
import { pointerTo } from "../pointer.ts";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";

const PART = 50;
const LONG = 400;

interface TreeProps {
  value: Json;
  pointer: string;
  chosen: string;
  choose: (pointer: string) => void;
  /** Depth to which nodes are open at first. */
  open?: number;
}

type Entries = [name: string, value: Json][];

function entriesOf(value: Json): Entries | null {
  if (Array.isArray(value)) return value.map((item, i) => [String(i), item]);
  if (typeof value === "object" && value !== null && !isExact(value)) return Object.entries(value);
  return null;
}

function Leaf({ value }: { value: Json }) {
  const [whole, setWhole] = useState(false);
  const text = typeof value === "string" ? value : stringify(value);
  if (text === "") return <span class="value dim">{words.value.emptyText}</span>;
  const long = text.length > LONG;
  return (
    <span class={`value ${typeof value === "string" ? "" : "ok"}`}>
      <Text text={long && !whole ? text.slice(0, LONG) : text} />
      {long && (
        <button type="button" class="link" onClick={() => setWhole(!whole)}>
          {whole ? words.value.fold : words.value.moreItems(count(text.length - LONG))}
        </button>
      )}
    </span>
  );
}

function Node(props: TreeProps & { name: string }) {
  const w = words.value;
  const { value, pointer, chosen } = props;
  const entries = entriesOf(value);
  const inside = chosen.startsWith(`${pointer}/`);
  const [open, setOpen] = useState((props.open ?? 0) > 0 || inside);
  const empty = entries?.length === 0;
  const [before, behind] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const line = (
    <div class={`line ${chosen === pointer ? "chosen" : ""}`}>
      {entries && !empty ? (
        <button
          type="button"
          aria-expanded={open}
          aria-label={props.name}
          onClick={() => setOpen(!open)}
        >
          {open ? "▾" : "▸"}
        </button>
      ) : (
        <span class="twig" />
      )}
      <button type="button" class="name" onClick={() => props.choose(pointer)}>
        <Text text={props.name} />
      </button>
      {entries ? (
        <span class="dim">
          {before}
          {!empty && ` ${w.items(count(entries.length))} `}
          {behind}
        </span>
      ) : (
        <Leaf value={value} />
      )}
    </div>
  );
  return (
    <li>
      {line}
      {entries && open && <Branch {...props} entries={entries} />}
    </li>
  );
}

function Branch(props: Omit<TreeProps, "value"> & { entries: Entries }) {
  const [end, setEnd] = useState(PART);
  const rest = props.entries.length - end;
  return (
    <ul class="tree">
      {props.entries.slice(0, end).map(([name, value]) => (
        <Node
          key={name}
          name={name}
          value={value}
          pointer={pointerTo(props.pointer, name)}
          chosen={props.chosen}
          choose={props.choose}
          open={(props.open ?? 0) - 1}
        />
      ))}
      {rest > 0 && (
        <li>
          <button type="button" class="link" onClick={() => setEnd(end + 10 * PART)}>
            {words.value.moreItems(count(rest))}
          </button>
        </li>
      )}
    </ul>
  );
}

export function JsonTree(props: TreeProps) {
  const entries = entriesOf(props.value);
  if (!entries) return <Leaf value={props.value} />;
  return <Branch {...props} entries={entries} />;
}
