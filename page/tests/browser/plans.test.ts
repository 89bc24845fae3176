// Plans of a roll back and an undo, and what is sent.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { Harness, assertAccessible, closed, press, sees, settled, test, until } from "./harness.ts";
import { world } from "../mock/world.ts";

let harness: Harness;
before(async () => (harness = await Harness.start(world(0))));
after(() => harness.end());

test("rolls_back_files_as_planned_and_undo_brings_them_back", async () => {
  const task = harness.world.tasks.get("library-34")!;
  const { page } = await harness.open("#/task/library-34/3@25");
  await sees(page, "renew_loan", ".list");
  await press(page, "r");
  await sees(page, "Changes of the state");
  // The safe answer has the focus: Enter changes nothing.
  const lanes = task.lanes.length;
  await press(page, "Enter");
  await closed(page);
  assert.equal(task.lanes.length, lanes);

  await press(page, "r");
  await page.getByLabel("state and files").check();
  await page.getByLabel("Folder on the service's machine").fill("/srv/desk");
  await press(page, "Tab");
  await sees(page, "2 files changed");
  await sees(page, "1 file deleted");
  const act = page.getByRole("button", { name: "Roll back 3 files" });
  assert.equal(await act.isDisabled(), true);
  await page.getByLabel("keep mine").check();
  await act.click();
  await sees(page, "Press u to undo");
  assert.equal(task.active, task.lanes.at(-1)!.id);
  await sees(page, "restore", ".map");
  await press(page, "u");
  await sees(page, "becomes active again");
  // The folder is that of the roll back.
  await page.getByLabel("keep mine").check();
  await page.getByRole("button", { name: "Undo, with 3 files" }).click();
  await until("the undo", () => task.active === 3);
});

test("checkpoints_of_a_task_are_listed_page_by_page_and_go_back_with_a_plan", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("library-34")!;
  const { page, errors } = await own.open("#/task/library-34");
  await sees(page, "renew_loan", ".list");
  await press(page, "C");
  await sees(page, "Checkpoints of library-34", "dialog");
  const rows = page.locator("dialog tbody tr");
  await until("two rows", async () => (await rows.count()) === 2);
  await page.getByRole("button", { name: "Older ones" }).click();
  await until("more rows", async () => (await rows.count()) > 2);
  await assertAccessible(page, "the checkpoints");
  const address = await rows.nth(2).locator("td").nth(1).innerText();
  // Its place opens.
  await rows.nth(2).getByRole("button").first().click();
  await closed(page);
  await until("the place", async () => page.url().endsWith(`#/task/${address}`));
  await press(page, "C");
  await until("two rows", async () => (await rows.count()) === 2);
  const newest = await rows.nth(0).locator("td").nth(1).innerText();
  await rows.nth(0).getByRole("button", { name: "roll back" }).click();
  await sees(page, "Changes of the state", "dialog");
  const lanes = task.lanes.length;
  await page.getByRole("button", { name: "Roll back", exact: true }).click();
  await sees(page, "Press u to undo");
  assert.equal(task.lanes.length, lanes + 1);
  assert.deepEqual(own.world.sent.at(-1)!.body, { to: newest, scope: "state" });
  assert.deepEqual(errors, []);
  await own.end();
});

test("an_undo_with_files_shows_its_plan_and_sends_the_folder_and_the_choices", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("stones")!;
  const { page, errors } = await own.open("#/task/stones/0@42");
  await sees(page, "27 stones", ".list");
  await press(page, "r");
  await page.getByLabel("state and files").check();
  await sees(page, "Folders that only older captures have are not listed.", "dialog");
  const folder = page.getByLabel("Folder on the service's machine");
  // The only folder that is there is chosen; another one is typed.
  await until("the folder", async () => (await folder.inputValue()) === "/srv/stones");
  await folder.selectOption({ label: "Another folder…" });
  await sees(page, "Choose the folder first.", "dialog");
  await page.getByLabel("Path of the folder").fill("/srv/copy");
  await press(page, "Tab");
  await sees(page, "2 files changed");
  await page.getByLabel("overwrite").check();
  await page.getByRole("button", { name: "Roll back 4 files" }).click();
  await closed(page);
  assert.deepEqual(own.world.sent.at(-1)!.body, {
    to: "stones/0@42",
    scope: "all",
    folder: "/srv/copy",
    choices: { theirs: ["notes/today.md"], keep_mine: [] },
  });

  await settled(page);
  await press(page, "u");
  await sees(page, "The last restore changed files.", "dialog");
  assert.equal(await page.getByLabel("Path of the folder").inputValue(), "/srv/copy");
  await folder.selectOption("/srv/stones");
  await sees(page, "2 files changed", "dialog");
  await sees(page, "/message_count", "dialog");
  const act = page.locator("dialog .foot .main");
  assert.equal(await act.isDisabled(), true);
  await sees(page, "Decide each conflict first.", "dialog");
  await assertAccessible(page, "undo with files");
  // The safe choice is the first one.
  const choices = page.locator("dialog fieldset label");
  assert.deepEqual(await choices.allInnerTexts(), ["keep mine", "overwrite"]);
  await page.getByLabel("keep mine").check();
  // A choice is about the files of one folder.
  await folder.selectOption({ index: 2 });
  await sees(page, "Decide each conflict first.", "dialog");
  await folder.selectOption({ index: 1 });
  await page.getByLabel("keep mine").check();
  await page.getByRole("button", { name: "Undo, with 3 files" }).click();
  await until("the undo", () => task.active === 0);
  assert.deepEqual(own.world.sent.at(-1), {
    path: "/v1/tasks/stones/undo",
    body: {
      folder: "/srv/stones",
      choices: { theirs: [], keep_mine: ["notes/today.md"] },
    },
  });
  assert.deepEqual(errors, []);
});

test("an_undo_without_files_is_short", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("library-34")!;
  const { page, errors } = await own.open("#/task/library-34");
  await sees(page, "Your loan is renewed.", ".list");
  await press(page, "u");
  await sees(page, /^From library-34\/2@\d+ to library-34\/0@\d+$/, "dialog");
  assert.equal(await page.locator("dialog details").getAttribute("open"), null);
  assert.equal(await page.locator("dialog :is(input, select)").count(), 0);
  assert.ok(!own.world.asked.some((one) => one.path.endsWith("/folders")));
  await page.getByRole("button", { name: "Undo" }).click();
  await until("the undo", () => task.active === 0);
  assert.deepEqual(own.world.sent.at(-1)!.body, {});
  assert.deepEqual(errors, []);
});

test("a_folder_that_was_elsewhere_is_accepted_and_one_that_is_held_is_not", async () => {
  const own = await Harness.start(world(0));
  const { page, errors } = await own.open("#/task/library-34/3@25");
  await page.locator(".list .row[aria-selected=true]").waitFor();
  await press(page, "r");
  await page.getByLabel("the files", { exact: true }).check();
  const folder = page.getByLabel("Folder on the service's machine");
  const act = page.locator("dialog .foot .main");
  await folder.fill("/srv/locked");
  await press(page, "Tab");
  await sees(page, "another process holds the folder", "dialog");
  await sees(page, "This has to be solved first.", "dialog");
  assert.equal(await act.isDisabled(), true);
  await folder.fill("/srv/moved");
  await press(page, "Tab");
  await sees(page, "the snapshot is of another folder", "dialog");
  assert.equal(await act.isDisabled(), true);
  await page.getByLabel("It is the captured folder").check();
  await assertAccessible(page, "a folder that was elsewhere");
  await act.click();
  await closed(page);
  assert.deepEqual(own.world.sent.at(-1)!.body, {
    to: "library-34/3@24",
    scope: "files",
    folder: "/srv/moved",
    choices: { theirs: [], keep_mine: [], moved: true },
  });
  assert.deepEqual(errors, []);
});

test("who_is_no_admin_learns_why_an_undo_with_files_is_not_possible", async () => {
  const own = await Harness.start(world(0));
  own.world.admin = false;
  const lane = own.world.tasks.get("library-34")!.lanes[2]!;
  lane.withFiles = true;
  const { page, errors } = await own.open("#/task/library-34");
  await page.locator(".list .row[aria-selected=true]").waitFor();
  await press(page, "u");
  await sees(page, "an undo that takes files back is for admins", "dialog");
  assert.equal(await page.locator("dialog .foot .main").isDisabled(), true);
  assert.deepEqual(errors, []);
});
