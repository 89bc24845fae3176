// One event as a part of the document.

import { useState } from "preact/hooks";
import { isExact, parse, stringify } from "../api/numbers.ts";
import type { Event, Json } from "../api/types.ts";
import { dateTime } from "../format.ts";
import { JsonTree } from "../parts/JsonTree.tsx";
import { isCut, LongText } from "../parts/LongText.tsx";
import { Text, Prose } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import { kindWord } from "./StepsList.tsx";

interface PartProps {
  event: Event;
  pathOf: (pointer: string) => string;
  /** Whether nothing else is shown, so that no event is left out. */
  alone?: boolean;
  /** Whether the step has no result of this call. */
  open?: boolean;
}

/** Text of a message: of a list of parts, the texts; null if there is other content. */
export function contentText(content: Json | undefined): string | null {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  const texts = content.map((part) => {
    if (typeof part === "string") return part;
    if (typeof part !== "object" || part === null || Array.isArray(part)) return null;
    return typeof part["text"] === "string" && part["type"] !== "image" ? part["text"] : null;
  });
  return texts.every((text) => text !== null) && texts.length > 0 ? texts.join("\n") : null;
}

/** Arguments as an object: many programs store them as a text of JSON. */
export function argumentsOf(value: Json | undefined): { [name: string]: Json } | null {
  let found: Json | undefined = value;
  for (let i = 0; i < 2 && typeof found === "string"; i++) {
    try {
      found = parse(found) as Json;
    } catch {
      return null;
    }
  }
  if (typeof found !== "object" || found === null || isExact(found)) return null;
  if (Array.isArray(found) || isCut(found)) {
    return null;
  }
  return found;
}

function Message({ event, pathOf }: PartProps) {
  const body = event.body!;
  const role = String(body["role"] ?? "message");
  const text = contentText(body["content"]);
  const rest = Object.entries(body).filter(([name]) => !["kind", "role", "content"].includes(name));
  return (
    <>
      {text !== null ? (
        <>
          <h3>
            <Text text={role} />
          </h3>
          <div class={role === "assistant" ? "say now" : "say"}>
            <Prose text={text} />
          </div>
        </>
      ) : (
        <LongText name={<Text text={role} />} value={body["content"] ?? null} pathOf={pathOf} />
      )}
      {rest.length > 0 && <Rest fields={Object.fromEntries(rest)} />}
    </>
  );
}

/** Further fields of a body, folded. */
function Rest({ fields }: { fields: { [name: string]: Json } }) {
  const [chosen, choose] = useState("");
  return (
    <details>
      <summary class="dim">{Object.keys(fields).join(", ")}</summary>
      <JsonTree value={fields} pointer="" chosen={chosen} choose={choose} open={1} />
    </details>
  );
}

function Called({ event, pathOf, open }: PartProps) {
  const w = words.value;
  const body = event.body!;
  const tool = String(body["tool"] ?? "");
  const given = argumentsOf(body["arguments"]);
  const short = given && Object.values(given).every((value) => asShort(value) !== null);
  const name = (
    <span class="m">
      {w.call} <Text text={tool} />
    </span>
  );
  if (!short || Object.keys(given).length === 0) {
    return (
      <>
        <LongText name={name} value={body["arguments"] ?? ""} pathOf={pathOf} />
        {open && <p class="warn">{w.noResult}</p>}
      </>
    );
  }
  return (
    <>
      <h3>{name}</h3>
      <dl class="m">
        {Object.entries(given).map(([field, value]) => (
          <>
            <dt>
              <Text text={field} />
            </dt>
            <dd>
              <Text text={asShort(value) ?? ""} />
            </dd>
          </>
        ))}
      </dl>
      {open && <p class="warn">{w.noResult}</p>}
    </>
  );
}

function asShort(value: Json): string | null {
  const text = typeof value === "string" ? value : stringify(value);
  return text.length <= 4_000 ? text : null;
}

function Returned({ event, pathOf }: PartProps) {
  const w = words.value;
  const body = event.body!;
  const failed = body["ok"] === false;
  return (
    <LongText
      name={
        <span class={failed ? "m bad" : "m ok"}>
          {failed ? `✗ ${w.resultFailed}` : `✓ ${w.result}`}
        </span>
      }
      value={body["output"] ?? ""}
      pathOf={pathOf}
    />
  );
}

function Other({ event }: { event: Event }) {
  const [chosen, choose] = useState("");
  const { kind: _, ...fields } = event.body!;
  const brief = briefOf(event);
  const empty = Object.keys(fields).length === 0 || brief !== null;
  return (
    <>
      <h3>
        <span class="m">{kindWord(event)}</span>
        {brief && <Text text={brief} />}
        <span class="gap" />
        <span class="m">@{event.offset}</span>
      </h3>
      {event.kind === "unknown" && <p class="warn">{words.value.unknownKind}</p>}
      {!empty && <JsonTree value={fields} pointer="" chosen={chosen} choose={choose} open={2} />}
    </>
  );
}

/** Returns a mark or control in one line, or null for an event that is shown as a tree. */
function briefOf(event: Event): string | null {
  const body = event.body!;
  const fields = {
    checkpoint_marked: ["label", "cause", "status"],
    control_changed: ["from", "to", "reason"],
    lineage_opened: ["lineage_type", "description"],
  }[event.kind];
  if (!fields) return null;
  const parts = fields.map((name) => body[name]).filter((value) => typeof value === "string");
  return parts.join(" · ");
}

/** Whether an event says nothing that the title of the step does not. */
function isQuiet(event: Event): boolean {
  if (event.kind === "step_started") return true;
  const result = event.body?.["result"];
  return event.kind === "step_finished" && (result === undefined || result === null);
}

/** Says that no hash covers what is shown of an event of a share. */
export function Withheld({ event }: { event: Event }) {
  const w = words.value;
  if (event.withheld === undefined) return null;
  const text = event.withheld === "trusted" ? w.onTrust : w.withheld;
  return <p class="warn">{event.body === null ? w.withheldAll : text}</p>;
}

export function EventPart(props: PartProps) {
  if (props.event.body !== null && isQuiet(props.event) && !props.alone) return null;
  return (
    <>
      <Part {...props} />
      <Withheld event={props.event} />
    </>
  );
}

function Part(props: PartProps) {
  const { event } = props;
  if (event.body === null) {
    return (
      <>
        <h3>
          <span class="m">
            {event.kind} @{event.offset}
          </span>
        </h3>
        {event.withheld === undefined && <p class="dim">{words.value.erased}</p>}
      </>
    );
  }
  switch (event.kind) {
    case "message":
      return <Message {...props} />;
    case "tool_called":
      return <Called {...props} />;
    case "tool_returned":
      return <Returned {...props} />;
    case "step_failed":
      return (
        <LongText
          name={<span class="m bad">✗ {dateTime(event.time_us)}</span>}
          value={event.body["error"] ?? ""}
          pathOf={props.pathOf}
        />
      );
    default:
      return <Other event={event} />;
  }
}
