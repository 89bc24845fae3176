// The page over the real service: MILEPOST names the command. Skipped without it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before } from "node:test";
import { Harness, assertAccessible, closed, press, sees, settled, test, until } from "./harness.ts";
import { agent, chinese, hostile, optimizer } from "../mock/logs.ts";
import type { Task } from "../mock/logs.ts";

const command = process.env["MILEPOST"];
const skip = command ? false : "MILEPOST is not set";

let folder: string;
let service: ChildProcess;
let harness: Harness;

/** Writes a lineage as lines that `milepost record` reads. The command marks the steps itself. */
function linesOf(task: Task, lane = 0): string {
  const own = ["lineage_opened", "checkpoint_marked", "unknown"];
  const bodies = task.lanes[lane]!.events.filter((one) => one.body && !own.includes(one.kind));
  return `${bodies.map((one) => JSON.stringify(one.body)).join("\n")}\n`;
}

function run(...args: string[]): string {
  return execFileSync(resolve(command!), args, { cwd: folder, encoding: "utf8" });
}

function record(name: string, lines: string): void {
  writeFileSync(join(folder, "run.jsonl"), lines);
  run("record", "--store", "store", "--task", name, "run.jsonl");
}

function serve(): Promise<string> {
  const args = ["serve", "--store", "store", "--listen", "127.0.0.1:0"];
  service = spawn(resolve(command!), args, { cwd: folder });
  return new Promise((done, fail) => {
    const onData = (data: Buffer) => {
      const url = /listening on (http:\S+)/.exec(data.toString())?.[1];
      if (url) done(url);
    };
    service.stdout!.on("data", onData);
    service.stderr!.on("data", onData);
    service.on("exit", () => fail(new Error("the service ended")));
  });
}

before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "milepost-page-"));
  record("library-0", linesOf(agent(), 0));
  record("library-1", linesOf(agent(), 1));
  record("library-2", linesOf(agent(), 2));
  record("tune", linesOf(optimizer()));
  record("春雨", linesOf(chinese()));
  record("hostile", linesOf(hostile()));
  harness = await Harness.start(undefined, await serve());
});

after(async () => {
  if (skip) return;
  await harness.end();
  const ended = new Promise((done) => service.on("exit", done));
  service.kill();
  await ended;
  rmSync(folder, { recursive: true, force: true });
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
  await until("the search", async () => (await page.locator(".list .row").count()) === 2);
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
  const log = run("--server", serviceUrl(), "log", "library-2/1", "--json");
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
  const guided = run("--server", serviceUrl(), "log", "library-2", "--json");
  for (const text of [/Both, please\./, /"most":\s*2/, /"plan":\s*"renew"/]) {
    assert.match(guided, text);
  }
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
  assert.deepEqual(errors, []);
}, skip);

test("the real service streams events to the page", async () => {
  const { page } = await harness.open("#/task/春雨");
  await sees(page, "写入失败", ".list");
  await sees(page, "live", "footer");
  for (let i = 0; i < 5; i++) {
    const body = JSON.stringify({ kind: "step_started", body: { step: 100 + i } });
    await fetch(`${serviceUrl()}/v1/tasks/${encodeURIComponent("春雨")}/events`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
  }
  await sees(page, "9 turns");
}, skip);

function serviceUrl(): string {
  return harness.real!;
}
