// What a screen reader finds on the main screens, compared with texts beside this file.
// MILEPOST_PAGE_BLESS=1 writes them anew.

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { after, before } from "node:test";
import { Harness, sees, settled, test } from "./harness.ts";
import { world } from "../mock/world.ts";

let harness: Harness;
before(async () => (harness = await Harness.start(world(3))));
after(() => harness.end());

const SCREENS: [name: string, fragment: string, text: string][] = [
  ["tasks", "#/tasks?q=user:ana", "library-34"],
  ["task", "#/task/library-34/2@24", "renew_loan"],
  ["compare", "#/compare?a=library-34/0&b=library-34/2", "only here"],
];

for (const [name, fragment, text] of SCREENS) {
  test(`a_screen_reads_as_it_did: ${name}`, async () => {
    const { page, errors } = await harness.open(fragment);
    await sees(page, text);
    await page.locator(".list .row[aria-selected=true]").waitFor();
    // The stream is no request that is waited for.
    if (name !== "compare") await sees(page, "live", "footer");
    await settled(page);
    const found = `${await page.locator("body").ariaSnapshot()}\n`;
    const file = `tests/browser/aria/${name}.txt`;
    if (process.env["MILEPOST_PAGE_BLESS"]) {
      await mkdir("tests/browser/aria", { recursive: true });
      await writeFile(file, found);
    }
    assert.equal(found, await readFile(file, "utf8"), `${file} differs`);
    assert.deepEqual(errors, []);
  });
}
