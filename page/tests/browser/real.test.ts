// The page over the real service: MILEPOST names the command. Skipped without it.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { Harness, assertAccessible, closed, press, sees, settled, test, until } from "./harness.ts";
import { agent, chinese, hostile, optimizer } from "../mock/logs.ts";
import { Service, skip } from "./service.ts";

let service: Service;
let harness: Harness;

/** Captures a folder twice and takes it back, then changes a file in it by hand. */
function desk(): void {
  const folder = join(service.folder, "desk");
  const capture = () => service.run("capture", "--store", "store", "--task", "desk", folder);
  mkdirSync(folder);
  writeFileSync(join(folder, "a.txt"), "one\n");
  capture();
  writeFileSync(join(folder, "a.txt"), "two\n");
  writeFileSync(join(folder, "b.txt"), "b\n");
  capture();
  service.run("rollback", "--store", "store", "desk@2", "--files", folder);
  writeFileSync(join(folder, "a.txt"), "mine\n");
}

before(async () => {
  if (skip) return;
  service = new Service();
  service.record("library-0", agent(), 0);
  service.record("library-1", agent(), 1);
  service.record("library-2", agent(), 2);
  service.record("tune", optimizer());
  service.record("春雨", chinese());
  service.record("hostile", hostile());
  desk();
  await service.start();
  harness = await Harness.start(undefined, service.url);
});

after(async () => {
  if (skip) return;
  await harness.end();
  await service.end();
});

const SCREENS: [fragment: string, text: string | RegExp][] = [
  ["#/tasks", "library-0"],
  ["#/task/library-2", "Your loan is renewed."],
  ["#/task/library-2?view=events", "send_receipt"],
  ["#/task/library-2/0@10?tab=state&pointer=/message_count", "who set it"],
  ["#/task/library-2/0@10?tab=changes", "/message_count"],
  ["#/task/library-2/0@10?tab=files", "No folder was captured"],
  ["#/task/library-2/0@10?tab=raw", "hash"],
  ["#/task/春雨", "磁盘已满"],
  ["#/task/hostile", "large"],
  ["#/task/none", "It is not there, or it is not yours"],
  ["#/compare?a=library-0&b=library-2", "only here"],
  ["#/compare?a=library-0&b=library-1&c=library-2&d=none", "there is no task `none`"],
  [
    "#/compare?at=library-0&at=library-1&at=library-2&at=tune&at=春雨&at=hostile&at=desk&at=none",
    "/metrics/step_size",
  ],
  ["#/metrics?at=tune&at=春雨", "120 marks and 0 of guidance on the x axis"],
  ["#/store", "Copy the anchor"],
];

for (const [fragment, text] of SCREENS) {
  test(
    `the real service has ${fragment}`,
    async () => {
      const { page, errors, strangers } = await harness.open(fragment);
      await sees(page, text);
      await settled(page);
      await assertAccessible(page, fragment);
      assert.deepEqual([errors, strangers], [[], []]);
    },
    skip,
  );
}

test("the real service searches, sorts and follows tasks", async () => {
  const { page } = await harness.open("#/tasks?q=has:failure&sort=-failed");
  await sees(page, "春雨", ".list");
  await sees(page, "2 tasks", "footer");
  await page.locator("#search").fill("library");
  await until("the search", async () => (await page.locator(".list .row").count()) === 3);
}, skip);

test("the real service finds the first event, and who set a value", async () => {
  const { page } = await harness.open("#/task/tune/0@300?tab=state&pointer=/metrics/step_size");
  await sees(page, "who set it");
  await press(page, "B");
  await sees(page, "step_finished", "dialog");
  await press(page, "Escape");
  await press(page, "b");
  await page.getByLabel("Condition").fill("/metrics/step_size < 0.1");
  await press(page, "Enter");
  await sees(page, "It holds after tune/0@");
  await sees(page, "/metrics/step_size", "dialog .change");
}, skip);

test("the real service forks, moves, undoes, guides and marks", async () => {
  const { page, errors } = await harness.open("#/task/library-2/0@10");
  await sees(page, "find_loan", ".list");
  await press(page, "f");
  await page.getByLabel("Prompt").fill("Renew both loans.");
  await page.getByLabel("Variables").fill('{"strict": true}');
  await page.locator("dialog .foot .main").click();
  await sees(page, "Opened library-2/1.");
  await page.getByRole("button", { name: "Open it" }).click();
  await sees(page, "branch", ".map");
  const log = service.run("--server", service.url, "log", "library-2/1", "--json");
  assert.match(log, /Renew both loans\./);
  assert.match(log, /"strict":\s*true/);

  await page.goto(`${harness.mock.url}/#/task/library-2/0@14`);
  await sees(page, "find_loan", ".list");
  await press(page, "r");
  await sees(page, "Changes of the state");
  await page.locator("dialog .foot .main").click();
  await sees(page, "Press u to undo");
  await sees(page, "restore", ".map");
  await press(page, "u");
  await page.locator("dialog .foot .main").click();
  await sees(page, "The active lineage is library-2/0 again.");
  await sees(page, "Your loan is renewed.", ".list");

  await press(page, "i");
  await page.getByLabel("Guidance").fill("Both, please.");
  await page.getByLabel("Rules").fill('{"most": 2}');
  await page.getByLabel("Artifacts").fill('{"plan": "renew", "old": null}');
  await page.locator("dialog .foot .main").click();
  await sees(page, "Appended.", ".notice");
  await closed(page);
  await press(page, "a");
  await page.getByLabel("Label").fill("checked");
  await page.locator("dialog .foot .main").click();
  await sees(page, "Marked.", ".notice");
  const guided = service.run("--server", service.url, "log", "library-2", "--json");
  for (const text of [/Both, please\./, /"most":\s*2/, /"plan":\s*"renew"/]) {
    assert.match(guided, text);
  }
  assert.deepEqual(errors, []);
}, skip);

test("the real service undoes a restore with files as planned", async () => {
  const { page, errors } = await harness.open("#/task/desk");
  await page.locator(".list .row[aria-selected=true]").waitFor();
  await settled(page);
  await press(page, "u");
  // There is one folder, which is chosen.
  await sees(page, "1 file created", "dialog");
  await sees(page, "a.txt it was changed since it was last captured", "dialog");
  await assertAccessible(page, "undo of a restore with files");
  await page.getByLabel("keep mine").check();
  await page.getByRole("button", { name: "Undo, with 1 file" }).click();
  await sees(page, "The active lineage is desk/0 again.");
  const path = (name: string) => join(service.folder, "desk", name);
  assert.ok(existsSync(path("b.txt")));
  assert.equal(readFileSync(path("a.txt"), "utf8"), "mine\n");
  assert.deepEqual(errors, []);
}, skip);

test("the real service aligns three tasks, and says that they have no files", async () => {
  const { page, errors } = await harness.open("#/compare?a=library-0&b=library-1&c=tune");
  await page.locator("#aligned .row").first().waitFor();
  await settled(page);
  assert.equal(await page.locator(".facts tbody tr").count(), 2);
  await press(page, "3");
  await sees(page, "Of one of the two, or of both, no folder was captured");
  await press(page, "2");
  await sees(page, "From library-0 to library-1");
  assert.deepEqual(errors, []);
}, skip);

test("the real service has finer buckets for the map", async () => {
  const { page, errors, asked } = await harness.open("#/task/tune/0@300");
  await page.locator(".map .own").first().waitFor({ state: "attached" });
  await settled(page);
  await page.getByRole("button", { name: "Zoom in" }).click();
  await sees(page, /^@\d+ to @\d+$/, ".map .zoom");
  await until("finer buckets", () => asked.some((one) => one.includes("buckets=2000")));
  await until("the marks", async () => (await page.locator(".map .tick-mark").count()) > 5);
  await page.getByRole("button", { name: "Time on the x axis" }).click();
  await until("the marks over time", async () => {
    const drawn = await page.locator(".map .tick-mark").evaluateAll((all) => {
      return new Set(all.map((one) => one.getAttribute("d"))).size;
    });
    return drawn > 5;
  });
  assert.deepEqual(errors, []);
}, skip);

test("the real service streams events to the page", async () => {
  const { page } = await harness.open("#/task/春雨");
  await sees(page, "写入失败", ".list");
  await sees(page, /^● (live|idle)$/, "footer");
  for (let i = 0; i < 5; i++) {
    const body = JSON.stringify({ kind: "step_started", body: { step: 100 + i } });
    await fetch(`${service.url}/v1/tasks/${encodeURIComponent("春雨")}/events`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
  }
  await sees(page, "9 turns");
  await sees(page, "live", "footer");
}, skip);
