// A share of a recorded run of 220,000 events.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { command, run } from "../tests/browser/command.ts";
import { viewer, withViewer } from "../tests/share/viewer.ts";
import type { Bench } from "./bench.ts";
import { sleep } from "./bench.ts";
import { writeSteps } from "./store.ts";

/** Steps of six events, and the limit of the file: hashes and salts alone are 14 MB of it. */
const STEPS = 36_700;
const MAX = "100000000";

let made: string | undefined;

/** Writes the share, or takes one that is there, with the viewer of built/. */
async function make(bench: Bench, given: string | undefined): Promise<string> {
  let from = given;
  if (!from) {
    process.stderr.write("recording and sharing 220,000 events\n");
    // A store of its own: a service that logs to this process would wait for it.
    const folder = join(bench.folder, "shared");
    await mkdir(folder);
    from = join(folder, "share.html");
    await writeSteps(join(folder, "share.jsonl"), STEPS);
    run(folder, "record", "--task", "share", "share.jsonl");
    run(folder, "share", "share", "-o", from, "--max", MAX);
  }
  const file = join(bench.folder, "viewed.html");
  await writeFile(file, withViewer(await readFile(from, "utf8"), await viewer()));
  return file;
}

/** The file is opened from the disk. The heap is that of the page, without its worker, read every
 * 50 ms until the verification ends: what was not collected counts. The verification takes from the
 * start of the worker to its result on the page; its speed is that of the export unpacked. */
export async function share(bench: Bench, given: string | undefined): Promise<void> {
  if (!command && !given) return void process.stderr.write("no share: MILEPOST is not set\n");
  made ??= await make(bench, given);
  const text = await readFile(made, "utf8");
  const contents = JSON.parse(/id="share">\n(.*)\n/.exec(text)![1]!) as {
    events: number;
    export: { pieces: { bytes: number }[] };
  };
  const bytes = contents.export.pieces.reduce((sum, one) => sum + one.bytes, 0);
  const { page, devtools, close } = await bench.open("about:blank");
  let began = 0;
  page.on("worker", () => (began ||= Date.now()));
  await page.goto(pathToFileURL(made).href);
  const rows = await bench.rows(page);
  let most = 0;
  const bar = page.locator(".bar.share");
  for (;;) {
    most = Math.max(most, (await devtools.send("Runtime.getHeapUsage")).usedSize);
    if ((await bar.innerText()).includes("events whole")) break;
    await sleep(50);
  }
  const took = (Date.now() - began) / 1000;
  bench.add("share: events", "220,000", "", contents.events);
  bench.add("share: file", "25 MB", "MB", text.length / 1e6);
  bench.add("share: first rows", "1,000 ms", "ms", rows);
  bench.add("share: heap, at most", "60 MB", "MB", most / 1e6);
  bench.add("share: verification, of the export", "8 MB/s", "MB/s", bytes / 1e6 / took);
  await bench.nodes(page);
  await close();
}
