// Choice of a folder of the service's machine: one that was captured, or another one by its path.

import { useEffect, useState } from "preact/hooks";
import { folders } from "../api/calls.ts";
import type { Folder } from "../api/types.ts";
import { me } from "../app-state.ts";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { Field } from "./Dialog.tsx";

interface FolderProps {
  task: string;
  value: string;
  onChange: (folder: string) => void;
}

/** Value of the option for a path that is typed. Folders have absolute paths. */
const OTHER = "other";

/** Folders that were used last, by task: an undo is about the folder of the restore. */
const used = new Map<string, string>();

export const usedFolder = (task: string) => used.get(task) ?? "";

export const noteFolder = (task: string, folder: string) => void used.set(task, folder);

/** Folders that were captured and have a name in UTF-8: others cannot be in a request. */
const named = (of: readonly Folder[]) =>
  of.flatMap(({ folder, ...rest }) => (typeof folder === "string" ? [{ folder, ...rest }] : []));

/** Lists the folders for admins. Where there is no list, the path is typed. */
export function FolderField({ task, value, onChange }: FolderProps) {
  const w = words.value;
  const asked = useAsk(me.value?.admin ? task : null, (signal) => folders(task, signal));
  const [isTyped, setTyped] = useState(false);
  const known = named(asked.value?.items ?? []);
  const isKnown = value === "" || known.some((one) => one.folder === value);
  const there = known.filter((one) => one.exists);
  // The only one that is there needs no choice: its plan names it.
  useEffect(() => {
    if (there.length === 1 && value === "") onChange(there[0]!.folder);
  }, [asked.value]);
  if (me.value?.admin && !asked.value && !asked.problem) return null;
  const path = (name: string) => (
    <Field name={name}>
      <input value={value} onChange={(event) => onChange(event.currentTarget.value)} />
    </Field>
  );
  if (known.length === 0) return path(w.folder);
  return (
    <>
      <Field name={w.folder}>
        <select
          value={isTyped || !isKnown ? OTHER : value}
          onChange={({ currentTarget }) => {
            const isOther = currentTarget.value === OTHER;
            setTyped(isOther);
            onChange(isOther ? "" : currentTarget.value);
          }}
        >
          <option value="">{w.folderChoose}</option>
          {known.map(({ folder, at, exists }) => (
            <option value={folder}>
              {exists ? w.folderAt(folder, at) : w.folderGone(folder, at)}
            </option>
          ))}
          <option value={OTHER}>{w.folderOther}</option>
        </select>
      </Field>
      {asked.value?.more && <p class="dim">{w.folderMore}</p>}
      {(isTyped || !isKnown) && path(w.folderPath)}
    </>
  );
}
