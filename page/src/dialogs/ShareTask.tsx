// Share of a task: what it withholds, and the file, which the browser saves.

import { useEffect, useState } from "preact/hooks";
import { sharePath, sharePlan } from "../api/calls.ts";
import type { ShareRequest } from "../api/calls.ts";
import type { SharePlan } from "../api/types.ts";
import { formatRoute } from "../address.ts";
import { closeDialog, say } from "../app-state.ts";
import { bytes, count } from "../format.ts";
import { save } from "../parts/LongText.tsx";
import { Waiting } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Dialog, Field } from "./Dialog.tsx";

const MIB = 1024 * 1024;
const MOST = 64;
/** Wait after the last letter until the plan is asked for, in milliseconds. */
const PAUSE = 400;

interface Given {
  redact: boolean;
  /** Regular expressions, one a line. */
  withhold: string;
  /** Number of MiB. */
  max: string;
}

/** Returns what is asked for, or null where the size is none. */
export function askedOf(given: Given): ShareRequest | null {
  const max = Math.floor(Number(given.max) * MIB);
  if (given.max.trim() === "" || !(max >= 1 && max <= MOST * MIB)) return null;
  const withhold = given.withhold.split(/\r?\n/).filter((line) => line.trim() !== "");
  return { redact: given.redact, withhold, max };
}

/** Returns the name of the file of a task, which every system accepts. */
export function fileOf(task: string): string {
  const name = task.replace(/[\p{C}\s/\\:*?"<>|%~]+/gu, "-").replace(/^[.-]+|[.-]+$/g, "");
  return `${[...name].slice(0, 80).join("") || "task"}.html`;
}

/** Returns a text that is the one given when it has not changed for a moment. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}

/** An event, by its address; one of the control log has none. */
function Place({ of }: { of: string }) {
  if (!/@\d+$/.test(of)) return <Text text={of} />;
  const route = { screen: "task", address: of, tab: "step", pointer: "", view: "events" } as const;
  return (
    <a
      class="m"
      href={formatRoute(route)}
      onClick={(event) => {
        if (!event.ctrlKey && !event.metaKey && !event.shiftKey) closeDialog();
      }}
    >
      <Text text={of} />
    </a>
  );
}

function Places({ of }: { of: readonly string[] }) {
  return (
    <>
      {of.map((place) => (
        <>
          <Place of={place} />{" "}
        </>
      ))}
    </>
  );
}

function Plan({ plan }: { plan: SharePlan }) {
  const w = words.value;
  const { withheld, trusted } = plan;
  return (
    <>
      <p>
        <b>{w.giveSize(bytes(plan.bytes), count(plan.events))}</b>
      </p>
      {withheld > 0 && <p>{w.withheldHow(count(withheld))}</p>}
      {trusted > 0 && <p class="warn">{w.trustedHow(count(trusted))}</p>}
      {withheld === 0 && trusted === 0 && <p class="dim">{w.giveAll}</p>}
      {plan.longest !== undefined && (
        <p class="warn">{w.giveLong(count(plan.long), bytes(plan.longest))}</p>
      )}
      {plan.captures > 0 && <p>{w.giveCaptures(count(plan.captures))}</p>}
      {plan.copy_only && <p>{w.giveCopy}</p>}
      {plan.finds.length > 0 && (
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{w.giveFound}</th>
              <th scope="col" class="num">
                {w.giveCount}
              </th>
              <th scope="col">{w.giveFirst}</th>
            </tr>
          </thead>
          <tbody>
            {plan.finds.map((find) => (
              <tr>
                <th scope="row" class="m">
                  <Text text={find.name} />
                </th>
                <td class="num">{count(find.count)}</td>
                <td>
                  <Places of={find.places} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

interface Saving {
  /** Whether the file is being made. */
  busy: boolean;
  run: () => Promise<void>;
}

/** Saves the file and closes the dialog; a dialog that is closed before saves none. */
function useSaving(task: string, asked: ShareRequest | null): Saving {
  const [busy, setBusy] = useState(false);
  const [control] = useState(() => new AbortController());
  useEffect(() => () => control.abort(), []);
  const run = async () => {
    if (!asked) return;
    const name = fileOf(task);
    setBusy(true);
    try {
      await save(sharePath(task, asked), name, control.signal);
    } finally {
      setBusy(false);
    }
    closeDialog();
    say(words.value.giveSaved(name));
  };
  return { busy, run };
}

function Busy({ of }: { of: Saving }) {
  return (
    <p class="dim" role="status">
      {of.busy && words.value.giveRuns}
    </p>
  );
}

/** Asks once more before a file with secrets. */
function Sure({ task, asked }: { task: string; asked: ShareRequest }) {
  const w = words.value;
  const saving = useSaving(task, asked);
  return (
    <Dialog title={w.giveTitle(task)} act={{ name: w.doGiveAll, run: saving.run }}>
      <p class="warn">{asked.withhold.length > 0 ? w.giveSecretsBut : w.giveSecrets}</p>
      <Busy of={saving} />
    </Dialog>
  );
}

export function ShareTaskDialog({ task }: { task: string }) {
  const w = words.value;
  const [given, setGiven] = useState<Given>({ redact: true, withhold: "", max: "32" });
  const [sure, setSure] = useState(false);
  const asked = askedOf(given);
  const key = asked && JSON.stringify(asked);
  const paused = usePaused(key ?? "");
  // A file is saved only as its plan is shown.
  const known = key !== null && key === paused;
  const planned = useAsk(known ? key : null, (signal) => sharePlan(task, asked!, signal));
  const plan = known ? planned.value : null;
  const saving = useSaving(task, asked);
  if (sure && asked) return <Sure task={task} asked={asked} />;
  const run = given.redact ? saving.run : () => Promise.resolve(setSure(true));
  const why = asked === null ? w.giveMaxWrong : plan ? undefined : "";
  return (
    <Dialog title={w.giveTitle(task)} act={{ name: w.doGive, run, why }}>
      <p>{w.giveHow}</p>
      <div class="field">
        <label>
          <input
            type="checkbox"
            checked={given.redact}
            onChange={(event) => setGiven({ ...given, redact: event.currentTarget.checked })}
          />
          {w.giveRedact}
        </label>
      </div>
      <Field name={w.giveWithhold}>
        <textarea
          class="m"
          rows={2}
          spellcheck={false}
          value={given.withhold}
          onInput={(event) => setGiven({ ...given, withhold: event.currentTarget.value })}
        />
      </Field>
      <Field name={w.giveMax}>
        <input
          class="m"
          inputMode="decimal"
          value={given.max}
          onInput={(event) => setGiven({ ...given, max: event.currentTarget.value })}
        />
      </Field>
      <h3>{w.givePlan}</h3>
      {plan ? <Plan plan={plan} /> : key !== null && <Waiting of={planned} what={task} />}
      <Busy of={saving} />
    </Dialog>
  );
}
