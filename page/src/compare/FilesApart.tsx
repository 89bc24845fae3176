// Differences of the folders that were captured last before the ends of two histories.

import { useState } from "preact/hooks";
import { fileChanges } from "../api/calls.ts";
import type { FileChange } from "../api/types.ts";
import { count } from "../format.ts";
import { Waiting } from "../parts/ui.tsx";
import { FileContent, nameOf } from "../task/FileContent.tsx";
import { changeWord, FileLine, LISTED } from "../task/FilesTab.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";

const fileOf = (change: FileChange) => (change.after ?? change.before)!;

export function FilesApart({ a, b }: { a: string; b: string }) {
  const w = words.value;
  const asked = useAsk(`${a} ${b}`, (signal) => fileChanges(a, b, signal));
  const [chosen, choose] = useState("");
  if (asked.problem?.status === 404) {
    return (
      <div class="state dim">
        <p>{w.noCaptureApart}</p>
        <p>
          <Text text={asked.problem.detail} />
        </p>
      </div>
    );
  }
  if (!asked.value) return <Waiting of={asked} what={w.files} />;
  const changes = asked.value.items.filter((one) => fileOf(one).kind !== "directory");
  if (changes.length === 0) return <div class="state dim">{w.sameFiles}</div>;
  const change = changes.find((one) => nameOf(fileOf(one)) === chosen);
  const more = changes.length - LISTED;
  return (
    <div class="two">
      <div class="pane">
        <div class="file-list" tabIndex={0} role="region" aria-label={w.files}>
          <h2>{w.changesFrom(a, b)}</h2>
          <ul class="bare">
            {changes.slice(0, LISTED).map((one) => (
              <FileLine
                file={fileOf(one)}
                chosen={chosen}
                choose={choose}
                note={changeWord(one.change)}
              />
            ))}
          </ul>
          {more > 0 && <p>{w.moreItems(count(more))}</p>}
          {asked.value.more && <p>{w.moreChanges}</p>}
        </div>
      </div>
      <div class="pane rest">
        {change ? (
          <FileContent
            key={chosen}
            at={change.after ? b : a}
            file={fileOf(change)}
            versions={{ from: a, to: b, before: change.before, after: change.after }}
          />
        ) : (
          <div class="state dim">{w.pickFile}</div>
        )}
      </div>
    </div>
  );
}
