// Files of the folder that was captured last before the end of the step, and what changed in it.

import { useState } from "preact/hooks";
import { fileChanges, files } from "../api/calls.ts";
import type { CapturedFile, FileChange } from "../api/types.ts";
import { bytes, count } from "../format.ts";
import { Waiting } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import { FileContent, nameOf } from "./FileContent.tsx";
import type { TabProps } from "./props.ts";
import { after, before } from "./selection.ts";

export const LISTED = 2000;

interface LineProps {
  file: CapturedFile;
  chosen: string;
  choose: (name: string) => void;
  note?: string;
}

export function FileLine({ file, chosen, choose, note }: LineProps) {
  const w = words.value;
  const name = nameOf(file);
  const size = file.kind === "link" ? w.linkTo(file.target ?? "") : bytes(file.size ?? 0);
  return (
    <li>
      <button
        type="button"
        aria-pressed={name !== null && name === chosen}
        disabled={name === null || file.kind === "link"}
        onClick={() => choose(name ?? "")}
      >
        <Text text={name ?? w.notUtf8} />
        <span class="dim">{note ?? size}</span>
      </button>
    </li>
  );
}

export function changeWord(change: FileChange["change"]): string {
  const w = words.value;
  return {
    added: w.fileAdded,
    removed: w.fileRemoved,
    changed: w.fileChanged,
    mode: w.fileMode,
    renamed: w.fileRenamed,
    left_out: w.fileLeftOut,
    taken_in: w.fileTakenIn,
  }[change];
}

export function FilesTab({ selection }: TabProps) {
  const w = words.value;
  const [from, to] = [before(selection), after(selection)];
  const asked = useAsk(`files ${to}`, (signal) => files(to, signal));
  const changed = useAsk(`changes ${from} ${to}`, (signal) => fileChanges(from, to, signal));
  const [chosen, choose] = useState("");
  if (asked.problem?.status === 404) return <div class="state dim">{w.noCapture}</div>;
  if (!asked.value) return <Waiting of={asked} what={w.files} />;

  const isFile = (file: CapturedFile | null) => file !== null && file.kind !== "directory";
  const items = asked.value.items.filter(isFile);
  const changes = changed.value?.items.filter((one) => isFile(one.after ?? one.before)) ?? [];
  const change = changes.find((one) => nameOf((one.after ?? one.before)!) === chosen);
  const file = items.find((one) => nameOf(one) === chosen) ?? change?.before;
  const versions = change && { from, to, before: change.before, after: change.after };
  return (
    <div class="two">
      <div class="pane">
        <div class="file-list" tabIndex={0} role="region" aria-label={w.files}>
          {changes.length > 0 && (
            <>
              <h2 class="sub">{w.changedFiles}</h2>
              <ul class="bare">
                {changes.slice(0, LISTED).map((one) => (
                  <FileLine
                    file={(one.after ?? one.before)!}
                    chosen={chosen}
                    choose={choose}
                    note={changeWord(one.change)}
                  />
                ))}
              </ul>
              <h2 class="sub">{w.allFiles}</h2>
            </>
          )}
          <ul class="bare">
            {items.slice(0, LISTED).map((one) => (
              <FileLine file={one} chosen={chosen} choose={choose} />
            ))}
          </ul>
          {items.length > LISTED && <p>{w.moreItems(count(items.length - LISTED))}</p>}
        </div>
      </div>
      <div class="pane rest">
        {file ? (
          <FileContent
            key={`${to} ${chosen}`}
            at={change?.after === null ? from : to}
            file={file}
            versions={versions ?? null}
          />
        ) : (
          <div class="state dim">{w.pickFile}</div>
        )}
      </div>
    </div>
  );
}
