// Files of the folder that was captured last before the end of the step.

import { useEffect, useState } from "preact/hooks";
import { filePath, files } from "../api/calls.ts";
import { send } from "../api/link.ts";
import type { CapturedFile } from "../api/types.ts";
import { bytes } from "../format.ts";
import { saveAs } from "../parts/LongText.tsx";
import { Waiting } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";
import type { TabProps } from "./Pane.tsx";
import { after } from "./selection.ts";

const SHOWN = 256 * 1024;
const IMAGES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

function nameOf(file: CapturedFile): string | null {
  return typeof file.path === "string" ? file.path : null;
}

function Image({ path, type, name }: { path: string; type: string; name: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    let made = "";
    let gone = false;
    void send(path, { headers: { Accept: "*/*" } }).then(async (answer) => {
      if (gone) return;
      made = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type }));
      setUrl(made);
    });
    return () => {
      gone = true;
      URL.revokeObjectURL(made);
    };
  }, [path]);
  return url ? <img class="shown" src={url} alt={words.value.imageOf(name)} /> : null;
}

/** Reads a file as text, or null if it is not UTF-8. */
async function readText(path: string, signal: AbortSignal): Promise<string | null> {
  const answer = await send(path, { signal, headers: { Accept: "*/*" } });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await answer.arrayBuffer());
  } catch {
    return null;
  }
}

function Content({ at, file }: { at: string; file: CapturedFile }) {
  const w = words.value;
  const name = nameOf(file) ?? "";
  const path = filePath(at, name);
  const size = Number(file.size ?? 0);
  const type = IMAGES[name.split(".").pop()!.toLowerCase()];
  const [image, showImage] = useState(false);
  const asks = type === undefined && size <= SHOWN;
  const asked = useAsk(asks ? path : null, (signal) => readText(path, signal));
  return (
    <div class="doc" tabIndex={0} role="region" aria-label={name}>
      <h2>
        <Text text={name} />
      </h2>
      <div class="dim">
        {file.mode} · {bytes(size)} {file.unstable && `· ${w.unstable}`}
      </div>
      <div class="buttons">
        <button type="button" onClick={() => void saveAs(path, name.split("/").pop()!)}>
          {w.save(bytes(size))}
        </button>
        {type && (
          <button type="button" onClick={() => showImage(true)}>
            {w.showImage(bytes(size))}
          </button>
        )}
      </div>
      {type && image && <Image path={path} type={type} name={name} />}
      {asks && asked.value === null && !asked.slow && asked.asOf > 0 && (
        <p class="dim">{w.notUtf8}</p>
      )}
      {asked.value !== null && (
        <pre class="whole" tabIndex={0} role="group">
          <Text text={asked.value} />
        </pre>
      )}
      {asked.problem && <Waiting of={asked} what={name} />}
    </div>
  );
}

export function FilesTab({ selection }: TabProps) {
  const w = words.value;
  const at = after(selection);
  const asked = useAsk(`files ${at}`, (signal) => files(at, signal));
  const [chosen, choose] = useState("");
  const items = asked.value?.items.filter((file) => file.kind !== "directory") ?? [];
  const file = items.find((one) => nameOf(one) === chosen);
  if (asked.problem?.status === 404) return <div class="state dim">{w.noCapture}</div>;
  if (!asked.value) return <Waiting of={asked} what={w.files} />;
  return (
    <div class="two">
      <div class="pane">
        <ul class="file-list" aria-label={w.files}>
          {items.slice(0, 2000).map((one) => {
            const name = nameOf(one);
            return (
              <li>
                <button
                  type="button"
                  aria-pressed={name !== null && name === chosen}
                  disabled={name === null || one.kind === "link"}
                  onClick={() => choose(name ?? "")}
                >
                  <Text text={name ?? w.notUtf8} />
                  <span class="dim">
                    {one.kind === "link" ? w.linkTo(one.target ?? "") : bytes(one.size ?? "0")}
                  </span>
                </button>
              </li>
            );
          })}
        </ul>
      </div>
      <div class="pane rest">
        {file ? (
          <Content key={`${at} ${chosen}`} at={at} file={file} />
        ) : (
          <div class="state dim">{w.pickFile}</div>
        )}
      </div>
    </div>
  );
}
