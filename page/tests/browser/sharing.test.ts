// A task of the real service, saved by the page as one file, which verifies without a network.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { en } from "../../src/words/en.ts";
import type { Words } from "../../src/words/form.ts";
import { zh } from "../../src/words/zh.ts";
import { agent, chinese, optimizer } from "../mock/logs.ts";
import type { Task } from "../mock/logs.ts";
import { focused, keysPressed, selected, tabTo, watchHands } from "./by-keyboard.ts";
import { Harness, assertAccessible, closed, press, sees, settled, test, until } from "./harness.ts";
import type { Opened, Options } from "./harness.ts";
import { Service, bodiesOf, skip } from "./service.ts";

/** What nobody else may read: a key that is recognized, and a number that only a person knows. */
const KEY = "sk-Pl4nted0Pl4nted0Pl4nted0";
const NUMBER = "ACME-4471";
const TASK = "library-34";

let service: Service;
let real: Harness;
let mock: Harness;
/** Copies that the tests saved. */
let copies = 0;

/** Four trials, of which the third misses a call. A key is said in it, and a number in all. */
function trials(): Task {
  const task = agent();
  const texts = new Map([
    ["Yes, both of them.", `Yes, both of them. The key of the desk is ${KEY}.`],
    ["It is 4471-B. Please renew both.", `It is 4471-B, ${NUMBER}. Please renew both.`],
  ]);
  for (const lane of task.lanes) {
    const skipped = lane.id === 2 ? "" : "Yes, both of them.";
    lane.events = lane.events.map((one) => {
      const said = String(one.body?.["content"]);
      const content = said === skipped ? undefined : texts.get(said);
      return content === undefined ? one : { ...one, body: { ...one.body!, content } };
    });
  }
  return task;
}

before(async () => {
  mock = await Harness.start();
  if (skip) return;
  service = new Service();
  const task = trials();
  service.record("tune-river", optimizer());
  service.record("春雨", chinese());
  service.record(TASK, task, 0);
  await service.start();
  for (const { id, events, fork, description, outcome } of task.lanes) {
    const patch = { outcome: outcome.value };
    const own = id === 0 ? [] : bodiesOf(events.slice(fork));
    const bodies = [...own, { kind: "variables_patched", form: "merge", patch }];
    const lines = bodies.map(({ kind, ...body }) => `${JSON.stringify({ kind, body })}\n`);
    const branch = `/v1/points/${encodeURIComponent(`${TASK}/0@${fork}`)}/events`;
    const path = `${branch}?description=${encodeURIComponent(description ?? "")}`;
    await service.ask("POST", id === 0 ? `/v1/tasks/${TASK}/events` : path, lines.join(""));
  }
  await service.ask("PUT", `/v1/tasks/${TASK}/active`, '{"lineage": 2}');
  real = await Harness.start(undefined, service.url);
});

after(async () => {
  await mock.end();
  if (skip) return;
  await real.end();
  await service.end();
});

/** All texts of a share: the file as it is, and what its pieces have. */
function textsOf(file: string): string {
  const pieces = file.matchAll(/<script type="application\/gzip;base64" id="[^"]+">\n(.*)\n/g);
  const texts = [...pieces].map((one) => gunzipSync(Buffer.from(one[1]!, "base64")).toString());
  assert.ok(texts.length >= 2);
  return [file, ...texts].join("\n");
}

interface Saved {
  path: string;
  /** Everything in the file. */
  texts: string;
}

/** Has the file saved by `act`, and says what it is. */
async function saving(page: Page, w: Words, act: () => Promise<void>): Promise<Saved> {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  assert.equal(download.suggestedFilename(), `${TASK}.html`);
  const path = join(service.folder, `copy-${(copies += 1)}.html`);
  await download.saveAs(path);
  await closed(page);
  await sees(page, w.giveSaved(`${TASK}.html`), ".notice");
  return { path, texts: textsOf(await readFile(path, "utf8")) };
}

/** Opens a file where there is no network, and waits for the result of its verification. */
async function openCopy(w: Words, { path }: Saved, options: Options): Promise<Opened> {
  const url = pathToFileURL(path).href;
  const opened = await real.openUrl(url, { ...options, offline: true });
  const { page } = opened;
  await sees(page, w.shareOf(TASK, await version()), ".bar.share");
  await page.locator(".list .row[aria-selected=true]").waitFor();
  const result = page.locator(".bar.share").getByText(w === zh ? "个完整" : "events whole");
  await result.first().waitFor();
  assert.match(await page.locator(".bar.share").innerText(), /✓/);
  await settled(page);
  return opened;
}

async function version(): Promise<string> {
  return ((await service.ask("GET", "/v1/me")) as { version: string }).version;
}

/** Fails unless the file asked for nothing but itself, and had no error. */
function assertAlone({ asked, errors, page }: Opened): void {
  const own = page.url().split("#")[0]!;
  const others = asked.filter((one) => !one.startsWith(own) && !one.startsWith("blob:"));
  assert.deepEqual([others, errors], [[], []]);
}

/** Imports a file into a new store: it has the head that the service has. */
async function assertImports({ path }: Saved, page: Page): Promise<void> {
  const lineages = (await service.ask("GET", `/v1/tasks/${TASK}/lineages`)) as {
    items: { id: number; hash: string }[];
  };
  const { hash } = lineages.items.find((one) => one.id === 2)!;
  assert.ok((await page.locator(".bar.share").innerText()).includes(hash.slice(0, 12)));
  const dry = service.run("import", "--store", `other-${copies}`, path, "--dry-run");
  assert.ok(dry.includes(`identical, with the head ${hash}`), dry);
  service.run("import", "--store", `other-${copies}`, path);
  const shown = service.run("show", "--store", `other-${copies}`, TASK);
  assert.ok(shown.includes(hash), shown);
  assert.match(service.run("verify", "--store", `other-${copies}`), /no fault found/);
}

test(
  "shares_a_task_and_the_copy_verifies_offline, by mouse",
  async () => {
    const { page, errors, strangers } = await real.open(`#/task/${TASK}`);
    await sees(page, "Your loan is renewed.", ".list");
    const share = page.getByRole("button", { name: "Share…" });
    await share.click();
    await sees(page, "api-key", "dialog");
    await settled(page);
    await assertAccessible(page, "the plan of a share");

    // A find leads to its event.
    const place = page.locator("dialog tr", { hasText: "api-key" }).locator("a").first();
    const address = await place.innerText();
    assert.match(address, /^library-34\/2@\d+$/);
    await place.click();
    await closed(page);
    await until("the event", () => page.url().includes(`#/task/${address}`));
    await sees(page, KEY, ".doc");

    // A regular expression, which is wrong at first.
    await share.click();
    const withhold = page.getByLabel(en.giveWithhold);
    await withhold.fill("(");
    await page.locator("dialog [role=alert]").waitFor();
    const save = page.getByRole("button", { name: "Save", exact: true });
    assert.equal(await save.isDisabled(), true);
    await withhold.fill("ACME-[0-9]+");
    await sees(page, "withhold", "dialog tbody th");
    assert.equal(await page.locator("dialog tbody tr").count(), 2);

    // Without redaction it asks once more, and the safe answer saves nothing.
    let downloads = 0;
    page.on("download", () => (downloads += 1));
    await page.getByLabel(en.giveRedact).uncheck();
    await until("the plan", async () => (await page.locator("dialog tbody tr").count()) === 1);
    await save.click();
    await sees(page, en.giveSecretsBut, "dialog");
    assert.equal(await focused(page), "Cancel");
    await press(page, "Enter");
    await closed(page);
    assert.equal(downloads, 0);

    await share.click();
    await withhold.fill("ACME-[0-9]+");
    await sees(page, "withhold", "dialog tbody th");
    const copy = await saving(page, en, () => save.click());
    assert.equal(downloads, 1);
    for (const secret of [KEY, NUMBER]) assert.ok(!copy.texts.includes(secret), secret);
    for (const name of ["api-key", "withhold"]) {
      assert.ok(copy.texts.includes(`[redacted:${name}]`), name);
    }

    const opened = await openCopy(en, copy, {});
    await sees(opened.page, "Your loan is renewed.", ".list");
    await opened.page.goto(`${pathToFileURL(copy.path).href}#/task/${address}?view=events`);
    await sees(opened.page, "[redacted:api-key]", ".doc");
    await sees(opened.page, en.withheld, ".doc");
    // The file has one of 64 hashes; the others are those that it was verified with.
    for (const at of [`${TASK}/2@3`, `${TASK}/0@7`]) {
      const path = `/v1/points/${encodeURIComponent(at)}/event`;
      const { hash } = (await service.ask("GET", path)) as { hash: string };
      assert.ok(!copy.texts.includes(hash), at);
      await opened.page.goto(`${pathToFileURL(copy.path).href}#/task/${at}?view=events&tab=raw`);
      await sees(opened.page, hash, "#pane");
    }
    assertAlone(opened);
    await assertImports(copy, opened.page);
    assert.deepEqual([errors, strangers], [[], []]);
  },
  skip,
);

const LANGUAGES: [string, Words][] = [
  ["en-US", en],
  ["zh-CN", zh],
];
for (const [language, w] of LANGUAGES) {
  test(
    `shares_a_task_and_the_copy_verifies_offline, by keyboard, ${language}`,
    async () => {
      const { page, errors, strangers } = await real.open(`#/task/${TASK}`, { language });
      await watchHands(page);
      await page.locator(".list .row[aria-selected=true]").waitFor();
      await settled(page);
      await press(page, "S");
      await sees(page, "api-key", "dialog");
      // The safe answer has the focus: Enter saves nothing.
      assert.equal(await focused(page), w.cancel);
      await press(page, "Enter");
      await closed(page);

      // Without redaction: the question, and all texts.
      await press(page, "S");
      await sees(page, "api-key", "dialog");
      await tabTo(page, w.giveRedact);
      await press(page, "Space");
      await sees(page, w.giveAll, "dialog");
      await tabTo(page, w.doGive);
      await press(page, "Enter");
      await sees(page, w.giveSecrets, "dialog");
      await until("the safe answer", async () => (await focused(page)) === w.cancel);
      await press(page, "Tab");
      assert.equal(await focused(page), w.doGiveAll);
      const whole = await saving(page, w, () => press(page, "Enter"));
      for (const secret of [KEY, NUMBER]) assert.ok(whole.texts.includes(secret), secret);

      // By way of all actions, with an expression.
      await press(page, ".");
      await page.keyboard.type(w.keyShare);
      await press(page, "Enter");
      await sees(page, "api-key", "dialog");
      await tabTo(page, w.giveWithhold);
      await page.keyboard.type("ACME-[0-9]+");
      await sees(page, "withhold", "dialog tbody th");
      await tabTo(page, w.doGive);
      const copy = await saving(page, w, () => press(page, "Enter"));
      for (const secret of [KEY, NUMBER]) assert.ok(!copy.texts.includes(secret), secret);
      await keysPressed(page);

      const opened = await openCopy(w, copy, { language });
      assertAlone(opened);
      await assertImports(copy, opened.page);
      assert.deepEqual([errors, strangers], [[], []]);
    },
    skip,
  );
}

test(
  "a_stranger_finds_the_missing_call_and_sends_it_as_one_file",
  async (t) => {
    const { page, errors } = await real.open("#/tasks");
    await watchHands(page);
    await page.locator(".list .row[aria-selected=true]").waitFor();
    await sees(page, TASK, ".list");
    await settled(page);
    await press(page, "/");
    await page.keyboard.type("outcome:0");
    await press(page, "Enter");
    await sees(page, "1 task", "footer");
    await sees(page, TASK, ".list");
    await settled(page);
    // The trial that failed, beside one that did not: the cursor is at the first difference.
    await press(page, "c");
    await sees(page, "only here", "#aligned");
    await settled(page);
    await until("the call", async () => /renew_loan\s+Maps of Rain/.test(await selected(page)));
    await press(page, "Enter");
    await until("the other side", () => page.url().includes(`#/task/${TASK}/0@`));
    await sees(page, "renew_loan", ".doc");
    await settled(page);
    await press(page, "S");
    await sees(page, "api-key", "dialog");
    await until("the plan", () => page.locator("dialog .foot .main").isEnabled());
    await press(page, "Tab");
    assert.equal(await focused(page), "Save");
    const copy = await saving(page, en, () => press(page, "Enter"));
    const keys = await keysPressed(page);
    assert.ok(!copy.texts.includes(KEY));

    // The colleague opens the file, and sees the same.
    const opened = await openCopy(en, copy, {});
    await watchHands(opened.page);
    await press(opened.page, "c");
    await sees(opened.page, "only here", "#aligned");
    await settled(opened.page);
    await until("the call", async () => {
      return /renew_loan\s+Maps of Rain/.test(await selected(opened.page));
    });
    await press(opened.page, "Enter");
    await until("the other side", () => opened.page.url().includes(`#/task/${TASK}/`));
    await sees(opened.page, "Maps of Rain", ".doc");
    const theirs = await keysPressed(opened.page);
    assertAlone(opened);
    await assertImports(copy, opened.page);
    t.diagnostic(`${keys} keys from the list of tasks to the file, ${theirs} in the file`);
    assert.ok(keys <= 20, String(keys));
    assert.deepEqual(errors, []);
  },
  skip,
);

for (const theme of ["light", "dark"] as const) {
  test(`a_plan_a_refusal_and_the_question_have_no_violation, ${theme}`, async () => {
    const { page, errors } = await mock.open("#/task/library-34", { theme });
    await page.locator(".list .row[aria-selected=true]").waitFor();
    await settled(page);
    await press(page, "S");
    await sees(page, "api_key", "dialog");
    await page.getByLabel(en.giveWithhold).fill("ACME");
    await page.getByLabel(en.giveMax).fill("0.5");
    await sees(page, en.giveLong("2", "1 kB"), "dialog");
    await sees(page, en.giveCaptures("1"), "dialog");
    await sees(page, en.giveCopy, "dialog");
    await sees(page, "control log at 2", "dialog");
    await settled(page);
    await assertAccessible(page, `all of a plan, ${theme}`);
    const save = page.getByRole("button", { name: "Save", exact: true });
    await page.getByLabel(en.giveMax).fill("257");
    await sees(page, en.giveMaxWrong, "dialog");
    assert.equal(await save.isDisabled(), true);
    await page.getByLabel(en.giveMax).fill("64");
    await page.getByLabel(en.giveWithhold).fill("(");
    await sees(page, "the regular expression ( is none", "dialog");
    assert.equal(await save.isDisabled(), true);
    await assertAccessible(page, `a refusal, ${theme}`);
    await page.getByLabel(en.giveWithhold).fill("");
    await page.getByLabel(en.giveRedact).uncheck();
    await sees(page, en.giveAll, "dialog");
    await save.click();
    await sees(page, en.giveSecrets, "dialog");
    assert.equal(await focused(page), "Cancel");
    await assertAccessible(page, `the question, ${theme}`);
    // The mock has no file: what went wrong is said, and nothing is saved.
    await page.getByRole("button", { name: en.doGiveAll }).click();
    await page.locator("dialog .bad[role=alert]").waitFor();
    assert.deepEqual(errors, []);
  });
}

test("the_task_at_the_cursor_of_the_table_is_shared", async () => {
  const { page } = await mock.open("#/tasks?q=library-34");
  await page.locator(".list .row[aria-selected=true]").waitFor();
  await settled(page);
  await press(page, "S");
  await sees(page, en.giveTitle("library-34"), "dialog");
});

test("a_dialog_that_is_closed_saves_nothing", async () => {
  const { page, errors } = await mock.open("#/task/library-34");
  await page.locator(".list .row[aria-selected=true]").waitFor();
  let downloads = 0;
  page.on("download", () => (downloads += 1));
  let answer = () => {};
  const asked = new Promise<void>((done) => {
    void page.route("**/share?*", (route) => {
      answer = () => void route.fulfill({ body: "<!doctype html>" }).catch(() => {});
      done();
    });
  });
  await settled(page);
  await press(page, "S");
  await sees(page, "api_key", "dialog");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await asked;
  await sees(page, en.giveRuns, "dialog");
  await press(page, "Escape");
  await closed(page);
  answer();
  await settled(page);
  assert.equal(downloads, 0);
  assert.equal(await page.locator(".notice").innerText(), "");
  assert.deepEqual(errors, []);
});
