// Plan of a restore or an undo, as both dialogs show it: changes of the state, files, and conflicts
// with a choice each.

import { useState } from "preact/hooks";
import type { ChoicesRequest } from "../api/calls.ts";
import type { PathName, PlannedPath, RestorePlan } from "../api/types.ts";
import { bytes, count } from "../format.ts";
import { ChangeList } from "../parts/Changes.tsx";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import { Radios } from "./Dialog.tsx";

type Choice = "theirs" | "keep_mine";

/** Decisions about the conflicts of a plan, by path. */
interface Decisions {
  paths: ReadonlyMap<string, Choice>;
  /** Whether the folder is the captured one, although it was elsewhere then. */
  moved: boolean;
}

const UNDECIDED: Decisions = { paths: new Map(), moved: false };

const CHOICES: readonly Choice[] = ["keep_mine", "theirs"];

/** Files of a list that the dialog shows. */
const SHOWN = 1_000;

export interface Decided {
  decisions: Decisions;
  decide: (to: Decisions) => void;
  /** Reason why the plan cannot be carried out yet. It is empty while there is no plan. */
  why: string | undefined;
  /** Number of files that change. */
  files: number;
  /** Choices as a request has them; undefined if there is no conflict. */
  choices: ChoicesRequest | undefined;
}

function pathOf(path: PathName): string {
  return typeof path === "string" ? path : `base64:${path.base64}`;
}

/** Keeps what a person decides about the conflicts of a plan. Each `key` begins with nothing. */
export function useDecisions(key: string, plan: RestorePlan | null): Decided {
  const [made, setMade] = useState({ key, of: UNDECIDED });
  const decisions = made.key === key ? made.of : UNDECIDED;
  const conflicts = plan?.files?.conflicts ?? [];
  const chosen = (choice: Choice) =>
    conflicts.flatMap(({ path }) =>
      path !== null && decisions.paths.get(pathOf(path)) === choice ? [path] : [],
    );
  const [theirs, keep_mine] = [chosen("theirs"), chosen("keep_mine")];
  const hasMoved = conflicts.some((one) => one.why === "other_folder");
  const withPath = conflicts.filter((one) => one.path !== null).length;
  const isStopped = conflicts.some((one) => one.path === null && one.why !== "other_folder");
  const isDecided =
    theirs.length + keep_mine.length === withPath && (!hasMoved || decisions.moved);
  const w = words.value;
  const why = !plan ? "" : isStopped ? w.planStopped : isDecided ? undefined : w.chooseEach;
  const { creates = [], changes = [], deletes = [] } = plan?.files ?? {};
  const moved = hasMoved && decisions.moved ? { moved: true } : {};
  return {
    decisions,
    decide: (of) => setMade({ key, of }),
    why,
    files: creates.length + changes.length + deletes.length + theirs.length,
    choices: conflicts.length > 0 ? { theirs, keep_mine, ...moved } : undefined,
  };
}

function Paths({ title, of }: { title: string; of: readonly PlannedPath[] }) {
  if (of.length === 0) return null;
  return (
    <details open={of.length <= 12}>
      <summary>{title}</summary>
      {of.slice(0, SHOWN).map((one) => (
        <div class="m">
          <Text text={pathOf(one.path)} />{" "}
          <span class="dim">{one.text ?? (one.bytes !== undefined && bytes(one.bytes))}</span>
        </div>
      ))}
      {of.length > SHOWN && <p class="warn">{words.value.moreItems(count(of.length - SHOWN))}</p>}
    </details>
  );
}

function Conflicts({ plan, of }: { plan: RestorePlan; of: Decided }) {
  const w = words.value;
  const { decisions, decide } = of;
  return (
    <>
      {plan.files?.conflicts.map(({ path, why, text, ways }) => {
        if (path !== null) {
          const name = pathOf(path);
          return (
            <Radios<Choice | "">
              name={<Text text={`${name} ${text}`} />}
              value={decisions.paths.get(name) ?? ""}
              of={CHOICES.filter((choice) => ways?.includes(choice) ?? true).map((choice) => [
                choice,
                choice === "theirs" ? w.theirs : w.keepMine,
              ])}
              onChange={(choice) =>
                choice &&
                decide({ ...decisions, paths: new Map(decisions.paths).set(name, choice) })
              }
            />
          );
        }
        const said = <Text text={text} />;
        if (why !== "other_folder") return <p class="bad">{said}</p>;
        return (
          <div class="field">
            <span>{said}</span>
            <label>
              <input
                type="checkbox"
                checked={decisions.moved}
                onChange={(event) => decide({ ...decisions, moved: event.currentTarget.checked })}
              />
              {w.folderMoved}
            </label>
          </div>
        );
      })}
    </>
  );
}

interface PlanProps {
  plan: RestorePlan;
  of: Decided;
  /** Whether the changes of the state are folded. */
  short?: boolean;
}

export function Plan({ plan, of, short = false }: PlanProps) {
  const w = words.value;
  const { files } = plan;
  const { left = [], left_out = [], not_covered = [] } = files ?? {};
  const stays = [...left, ...left_out, ...not_covered];
  const place = (of: RestorePlan["from"]) => `${plan.task}/${of.lineage}@${of.offset}`;
  return (
    <>
      <p>{w.planFrom(place(plan.from), place(plan.to))}</p>
      {plan.changes.length > 0 && (
        <details open={!short}>
          <summary>{w.planChanges}</summary>
          <ChangeList items={plan.changes} more={plan.more} />
        </details>
      )}
      {files && (
        <>
          <Paths title={w.planCreates(count(files.creates.length))} of={files.creates} />
          <Paths title={w.planOverwrites(count(files.changes.length))} of={files.changes} />
          <Paths title={w.planDeletes(count(files.deletes.length))} of={files.deletes} />
          <Paths title={w.planModes(count(files.modes.length))} of={files.modes} />
          <Paths title={w.planNotes(count(files.notes.length))} of={files.notes} />
          <Paths title={w.planStays(count(stays.length))} of={stays} />
          {stays.length > 0 && files.summary && <p><Text text={files.summary} /></p>}
          {files.conflicts.length > 0 && <h3>{w.planConflicts(count(files.conflicts.length))}</h3>}
          <Conflicts plan={plan} of={of} />
        </>
      )}
      {plan.changes.length === 0 && !files && <p class="dim">{w.planNothing}</p>}
    </>
  );
}
