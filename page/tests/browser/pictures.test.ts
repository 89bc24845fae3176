// The main screens look, and read to a screen reader, as they did: compared with pictures and texts
// beside this file, and with the picture of README. MILEPOST_PAGE_BLESS=1 writes them anew.
//
// Pixels are compared only by the Chromium and with the fonts that drew the pictures; texts always.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before } from "node:test";
import type { TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { world } from "../mock/world.ts";
import { viewer, withViewer } from "../share/viewer.ts";
import { command, run, serve } from "./command.ts";
import type { Service } from "./command.ts";
import { Harness, sees, settled, test, until } from "./harness.ts";
import { BLESS, assertLooks, otherwiseDrawn } from "./pixels.ts";

const SIZE = { width: 1280, height: 800 };
/** Some time after the last event of the mock. */
const NOW = Date.UTC(2026, 0, 5, 10);
/** A run that was recorded, with the times of then. */
const RECORDED = "tests/fixtures/library.jsonl";
const README_PICTURE = "../docs/pictures/page.png";

let harness: Harness;
before(async () => (harness = await Harness.start(world(8))));
after(() => harness.end());

async function assertReads(page: Page, name: string): Promise<void> {
  const found = `${await page.locator("body").ariaSnapshot()}\n`;
  const file = `tests/browser/aria/${name}.txt`;
  if (BLESS) {
    await mkdir("tests/browser/aria", { recursive: true });
    await writeFile(file, found);
  }
  assert.equal(found, await readFile(file, "utf8"), `${file} differs`);
}

/** Waits for the map of a task: other lineages than the open one are read when all else is. */
async function mapDrawn(page: Page, others: number): Promise<void> {
  const lanes = () =>
    page.locator(".map .tick-mark.other").evaluateAll((all) => {
      const heights = all.map((one) => / [\d.]+/.exec(one.getAttribute("d") ?? "")?.[0]);
      return new Set(heights).size;
    });
  await until("the map", async () => (await lanes()) === others);
}

/** Compares the pixels, or says why not. */
async function looks(t: TestContext, page: Page, file: string): Promise<void> {
  const why = await otherwiseDrawn(harness.browser);
  if (why) t.diagnostic(why);
  else await assertLooks(page, file);
}

const SCREENS: [name: string, fragment: string, text: string][] = [
  ["tasks", "#/tasks", "library-34"],
  ["task", "#/task/library-34/2@24", "renew_loan"],
  ["events", "#/task/library-34/2@24?view=events", "renew_loan"],
  ["compare", "#/compare?a=library-34/0&b=library-34/2", "only here"],
  ["metrics", "#/metrics?at=tune-river/0&at=tune-river/7", "step_size"],
];

for (const theme of ["light", "dark"] as const) {
  for (const [name, fragment, text] of SCREENS) {
    test(`looks_as_it_did: ${name}, ${theme}`, async (t) => {
      const { page, errors } = await harness.open(fragment, { ...SIZE, theme, now: NOW });
      await sees(page, text);
      await page.locator(".list .row[aria-selected=true], .charts canvas").first().waitFor();
      // The stream is no request that is waited for.
      if (name !== "compare" && name !== "metrics") await sees(page, /^● (live|idle)$/, "footer");
      if (name === "task" || name === "events") await mapDrawn(page, 3);
      await settled(page);
      await assertReads(page, name);
      await looks(t, page, `tests/browser/pictures/${name}-${theme}.png`);
      assert.deepEqual(errors, []);
    });
  }
}

const skip = command ? false : "MILEPOST is not set";
let folder: string | undefined;

/** A folder with a store that has the recorded run; and the time an hour after it. */
async function recorded(): Promise<{ folder: string; now: number }> {
  if (!folder) {
    folder = await mkdtemp(join(tmpdir(), "milepost-pictures-"));
    run(folder, "import", resolve(RECORDED));
  }
  const times = (await readFile(RECORDED, "utf8")).matchAll(/"time_us": ?"(\d+)"/g);
  const last = Math.max(...[...times].map((one) => Number(one[1])));
  return { folder, now: last / 1000 + 3_600_000 };
}

after(async () => {
  if (folder) await rm(folder, { recursive: true, force: true });
});

for (const theme of ["light", "dark"] as const) {
  test(
    `looks_as_it_did: share, ${theme}`,
    async (t) => {
      const { folder, now } = await recorded();
      const file = join(folder, `${theme}.html`);
      run(folder, "share", "library", "-o", file);
      await writeFile(file, withViewer(await readFile(file, "utf8"), await viewer()));
      const url = `${pathToFileURL(file).href}#/task/library/2@19`;
      const { page, errors } = await harness.openUrl(url, { ...SIZE, theme, now });
      await sees(page, "renew_loan", ".list");
      await sees(page, /events whole/, ".bar.share");
      await mapDrawn(page, 3);
      await settled(page);
      await assertReads(page, "share");
      await looks(t, page, `tests/browser/pictures/share-${theme}.png`);
      assert.deepEqual(errors, []);
    },
    skip,
  );
}

test(
  "the_picture_of_the_readme_is_the_page",
  async (t) => {
    const { folder, now } = await recorded();
    const service: Service = await serve(folder);
    try {
      const real = await Harness.start(undefined, service.url);
      const options = { width: 1280, height: 620, now };
      const { page, errors } = await real.open("#/task/library/2@19", options);
      await sees(page, "Maps of Rain", ".list");
      await sees(page, "renew_loan", ".doc");
      await mapDrawn(page, 3);
      await settled(page);
      await assertReads(page, "readme");
      await looks(t, page, README_PICTURE);
      assert.deepEqual(errors, []);
      await real.end();
    } finally {
      await service.end();
    }
    for (const name of ["../README.md", "../README.zh-CN.md"]) {
      assert.ok((await readFile(name, "utf8")).includes("](docs/pictures/page.png)"), name);
    }
  },
  skip,
);
