// A captured file: its text, its image on a click, and what changed in it.

import { structuredPatch } from "diff";
import { useEffect, useState } from "preact/hooks";
import { filePath } from "../api/calls.ts";
import { send } from "../api/link.ts";
import type { CapturedFile } from "../api/types.ts";
import { bytes } from "../format.ts";
import { saveAs } from "../parts/LongText.tsx";
import { Waiting } from "../parts/ui.tsx";
import { Text } from "../text/Text.tsx";
import { useAsk } from "../use-ask.ts";
import { words } from "../words/index.ts";

const SHOWN = 256 * 1024;
const IMAGES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

export function nameOf(file: CapturedFile): string | null {
  return typeof file.path === "string" ? file.path : null;
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

function Image({ path, type, name }: { path: string; type: string; name: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    let made = "";
    let gone = false;
    const read = async () => {
      const answer = await send(path, { headers: { Accept: "*/*" } });
      const content = await answer.arrayBuffer();
      if (gone) return;
      made = URL.createObjectURL(new Blob([content], { type }));
      setUrl(made);
    };
    void read().catch(() => {});
    return () => {
      gone = true;
      URL.revokeObjectURL(made);
    };
  }, [path]);
  return url ? <img class="shown" src={url} alt={words.value.imageOf(name)} /> : null;
}

/** Text of a file, asked for if it is not too large. */
function Whole({ path, file }: { path: string; file: CapturedFile }) {
  const w = words.value;
  const small = (file.size ?? 0) <= SHOWN;
  const asked = useAsk(small ? path : null, async (signal) => ({
    text: await readText(path, signal),
  }));
  if (!small) return <p class="warn">{w.tooLarge}</p>;
  if (!asked.value) return <Waiting of={asked} what={w.files} />;
  if (asked.value.text === null) return <p class="dim">{w.notUtf8}</p>;
  return (
    <pre class="whole" tabIndex={0} role="group">
      <Text text={asked.value.text} />
    </pre>
  );
}

interface Sides {
  before: string | null;
  after: string | null;
}

async function readSides(of: Versions, signal: AbortSignal): Promise<Sides> {
  const read = (at: string, file: CapturedFile | null) => {
    const name = file && nameOf(file);
    return name ? readText(filePath(at, name), signal) : Promise.resolve("");
  };
  const [before, after] = await Promise.all([read(of.from, of.before), read(of.to, of.after)]);
  return { before, after };
}

export interface Versions {
  from: string;
  to: string;
  before: CapturedFile | null;
  after: CapturedFile | null;
}

/** Hunks of a file that changed. */
export function Hunks(of: Versions) {
  const w = words.value;
  const size = (of.before?.size ?? 0) + (of.after?.size ?? 0);
  const name = nameOf(of.after ?? of.before!) ?? "";
  const asked = useAsk(size <= SHOWN ? `${of.from} ${of.to} ${name}` : null, (signal) =>
    readSides(of, signal),
  );
  if (size > SHOWN) return <p class="warn">{w.tooLarge}</p>;
  if (!asked.value) return <Waiting of={asked} what={name} />;
  const { before, after } = asked.value;
  if (before === null || after === null) return <p class="dim">{w.notUtf8}</p>;
  const { hunks } = structuredPatch(name, name, before, after, "", "", { context: 3 });
  return (
    <>
      {hunks.map((hunk) => (
        <div class="hunk m">
          <div class="dim">
            @@ −{hunk.oldStart},{hunk.oldLines} +{hunk.newStart},{hunk.newLines} @@
          </div>
          {hunk.lines.map((line) => {
            const tone = { "+": "is", "-": "was" }[line[0] ?? ""] ?? "";
            return (
              <div class={tone}>
                <Text text={line} />
              </div>
            );
          })}
        </div>
      ))}
    </>
  );
}

interface ContentProps {
  /** Point that has the file. */
  at: string;
  file: CapturedFile;
  versions: Versions | null;
}

export function FileContent({ at, file, versions }: ContentProps) {
  const w = words.value;
  const name = nameOf(file) ?? "";
  const path = filePath(at, name);
  const size = bytes(file.size ?? 0);
  const type = IMAGES[name.split(".").pop()!.toLowerCase()];
  const [image, showImage] = useState(false);
  return (
    <div class="doc" tabIndex={0} role="region" aria-label={name}>
      <h2>
        <Text text={name} />
      </h2>
      <div class="dim">
        {file.mode} · {size} {file.unstable && `· ${w.unstable}`}
      </div>
      <div class="buttons">
        <button type="button" onClick={() => void saveAs(path, name.split("/").pop()!)}>
          {w.save(size)}
        </button>
        {type && (
          <button type="button" onClick={() => showImage(true)}>
            {w.showImage(size)}
          </button>
        )}
      </div>
      {type && image && <Image path={path} type={type} name={name} />}
      {versions && !type && (
        <>
          <h3>{w.hunksOf(name)}</h3>
          <Hunks {...versions} />
          <h3>{name}</h3>
        </>
      )}
      {!type && <Whole path={path} file={file} />}
    </div>
  );
}
