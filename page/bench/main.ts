// Measures what PERFORMANCE.md says of the page, and prints a table: what, bar, median.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { Bench } from "./bench.ts";
import { live } from "./live.ts";
import { jumps, opening, scrolling, tasks } from "./screens.ts";
import { share } from "./share.ts";
import { makeStore } from "./store.ts";

const { values: asked } = parseArgs({
  options: {
    runs: { type: "string", default: "3" },
    seconds: { type: "string", default: "60" },
    only: { type: "string", default: "" },
    json: { type: "string" },
    share: { type: "string" },
  },
});

/** What is measured, by the word of `--only`. What takes a minute is measured once. */
const PARTS: [name: string, run: (bench: Bench) => Promise<void>, once?: true][] = [
  ["opening", opening],
  ["tasks", tasks],
  ["scrolling", scrolling],
  ["jumps", jumps],
  ["live", (bench) => live(bench, Number(asked.seconds)), true],
  ["share", (bench) => share(bench, asked.share)],
];

const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const folder = await mkdtemp(join(tmpdir(), "milepost-bench-"));
const needsStore = PARTS.some(([name]) => name.includes(asked.only) && name !== "share");
const store = await makeStore(folder, needsStore);
const bench = new Bench(browser, store, folder);

/** Prints what was measured, also after a failure. */
async function print(): Promise<void> {
  const figures = bench.figures();
  const cells = figures.map(({ what, bar, unit, median, values }) => {
    return [what, bar, `${median} ${unit}`, String(values.length)];
  });
  const rows = [["what", "bar", "median", "runs"], ...cells];
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  for (const row of rows) console.log(row.map((cell, i) => cell.padEnd(widths[i]!)).join("  "));
  if (asked.json) {
    const on = {
      date: new Date().toISOString(),
      answers: store.kind,
      chromium: bench.version,
      node: process.version,
      processors: cpus().length,
    };
    await writeFile(asked.json, `${JSON.stringify({ ...on, figures }, null, 2)}\n`);
  }
}

try {
  for (const [name, run, once] of PARTS) {
    if (!name.includes(asked.only)) continue;
    for (let i = 0; i < (once ? 1 : Number(asked.runs)); i++) {
      process.stderr.write(`${name}, run ${i + 1}\n`);
      await run(bench);
    }
  }
} finally {
  await print();
  await browser.close();
  await store.end();
  await rm(folder, { recursive: true, force: true });
}
