// What people come for, each by keyboard alone or by mouse.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import {
  Harness,
  assertAccessible,
  closed,
  nodes,
  press,
  sees,
  settled,
  test,
  until,
} from "./harness.ts";
import { append, idle, world } from "../mock/world.ts";

let harness: Harness;
before(async () => (harness = await Harness.start(world(10_000))));
after(() => harness.end());

test("finds_the_failed_task_among_ten_thousand", async () => {
  const { page, errors } = await harness.open("#/tasks");
  await sees(page, "1,000 of 10,006 tasks");
  assert.ok((await page.locator("#tasks-list .row").count()) <= 100);
  assert.ok((await nodes(page)) < 3_000);
  await press(page, "/");
  await page.keyboard.type("has:failure loan-0002");
  await press(page, "Enter");
  await sees(page, "1 task", "footer");
  await sees(page, "no such loan", "aside");
  await press(page, "Enter");
  await sees(page, "renew_loan", ".list");
  assert.match(page.url(), /#\/task\/loan-0002/);
  await page.goBack();
  await sees(page, "1 task", "footer");
  assert.match(page.url(), /has:failure/);
  assert.deepEqual(errors, []);
});

test("who_types_slowly_stays_in_the_field", async () => {
  const { page, errors } = await harness.open("#/tasks");
  await page.locator(".list .row[aria-selected=true]").waitFor();
  const at = () => page.evaluate(() => document.activeElement?.id);
  await until("the list to have the focus", async () => (await at()) === "tasks-list");
  await press(page, "/");
  await page.keyboard.type("has:failure loan-0002", { delay: 250 });
  await sees(page, "1 task", "footer");
  assert.equal(await page.locator("#search").inputValue(), "has:failure loan-0002");
  assert.equal(await at(), "search");
  // A choice changes the words, and so does the way back.
  await page.getByLabel("Has").selectOption("");
  await until("the words", async () => (await page.inputValue("#search")) === "loan-0002");
  await press(page, "/");
  await page.locator("#search").fill("");
  await until("all tasks", () => page.url().endsWith("#/tasks"));
  await press(page, "Enter");
  await until("the list", async () => (await at()) === "tasks-list");
  await page.goto(`${harness.mock.url}/#/task/library-34/2@24`);
  await sees(page, "renew_loan", ".list");
  await press(page, "/");
  await page.keyboard.type("send receipt", { delay: 250 });
  assert.equal(await page.locator("#find").inputValue(), "send receipt");
  assert.equal(await at(), "find");
  assert.deepEqual(errors, []);
});

test("sorts_by_a_column_by_mouse", async () => {
  const { page } = await harness.open("#/tasks");
  await page.getByRole("button", { name: "Events" }).click();
  await until("the sort", async () => {
    return (await page.locator("#tasks-list .row").first().innerText()).includes("tune-river");
  });
  assert.match(page.url(), /sort=-events/);
});

test("reads_a_step_to_its_last_byte", async () => {
  const name = [...harness.world.tasks.keys()].find((id) => id.startsWith("hostile"))!;
  const { page } = await harness.open(`#/task/${encodeURIComponent(name)}/0@16`);
  await sees(page, "The first 65.5 kB of 204 kB.");
  await page.getByRole("button", { name: "show all 204 kB" }).click();
  await until("the whole value", async () => {
    return (await page.locator(".doc pre").first().innerText()).length >= 17 * 12_000 - 1;
  });
  // By the raw tab, which has a cut text, and asks for the rest.
  await page.goto(
    `${harness.mock.url}/#/task/${encodeURIComponent(name)}/0@18?tab=raw&view=events`,
  );
  await page.getByRole("button", { name: "show all 204 kB" }).first().click();
  await until("the whole value of the event", async () => {
    const texts = await page.locator(".doc pre").allInnerTexts();
    return texts.some((text) => text.length >= 17 * 12_000 - 1);
  });
});

test("finds_the_call_that_only_one_lineage_made", async () => {
  const { page, errors } = await harness.open("#/tasks?q=library-34");
  await sees(page, "library-34", ".list");
  await press(page, "c");
  await sees(page, "only here");
  const row = page.locator("#aligned .row[aria-selected=true]");
  assert.match(await row.innerText(), /renew_loan\s+Maps of Rain/);
  await press(page, "Enter");
  await until("the other side", () => page.url().includes("#/task/library-34/0@28"));
  await sees(page, "renew_loan", ".doc");
  await page.goBack();
  await sees(page, "only here");
  assert.deepEqual(errors, []);
});

test("forks_with_an_edited_prompt", async () => {
  const { page } = await harness.open("#/task/library-34/2@24");
  await sees(page, "renew_loan", ".list");
  await press(page, "f");
  await page.getByLabel("Prompt").fill("Renew both loans.");
  await sees(page, "prompt_changed");
  await page.getByRole("button", { name: "Fork", exact: true }).last().click();
  await sees(page, "Opened library-34/4.");
  const lane = harness.world.tasks.get("library-34")!.lanes.at(-1)!;
  assert.equal(lane.fork, 24);
  assert.deepEqual(lane.events.at(-1)!.body, {
    kind: "prompt_changed",
    prompt: "Renew both loans.",
  });
  await page.getByRole("button", { name: "Open it" }).click();
  await until("the new lineage", () => page.url().includes("library-34/4"));
});

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

test("an_undo_with_files_shows_its_plan_and_sends_the_folder_and_the_choices", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("stones")!;
  const { page, errors } = await own.open("#/task/stones/0@42");
  await sees(page, "27 stones", ".list");
  await press(page, "r");
  await page.getByLabel("state and files").check();
  await sees(page, "Choose the folder first.", "dialog");
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

test("pauses_guides_and_resumes", async () => {
  const task = harness.world.tasks.get("stones")!;
  const { page } = await harness.open("#/task/stones");
  await sees(page, "87 stones", ".list");
  await press(page, "p");
  await sees(page, "next safe point");
  await page.getByRole("button", { name: "Pause" }).click();
  await until("the pause", () => task.control === "paused");
  await closed(page);
  await sees(page, "paused", "header");
  await press(page, "i");
  await page.getByLabel("Guidance").fill("Only the grey ones.");
  await page.getByRole("button", { name: "Append" }).click();
  await until("the guidance", () => {
    return task.lanes[0]!.events.at(-1)!.body?.["text"] === "Only the grey ones.";
  });
  await closed(page);
  await press(page, "p");
  await page.getByRole("button", { name: "Resume" }).click();
  await until("the run", () => task.control === "running");
});

test("finds_the_first_event_where_the_score_fell", async () => {
  const { page, errors } = await harness.open("#/task/春雨");
  await sees(page, "磁盘已满", ".list");
  await page.getByRole("button", { name: "First event where…" }).click();
  await page.getByLabel("Condition").fill("/metrics/得分 < 0.3");
  await page.getByRole("button", { name: "Search" }).click();
  await sees(page, "It holds after 春雨/0@18.", "dialog");
  await assertAccessible(page, "first event where");
  await page.getByRole("button", { name: "Open it" }).click();
  await until("the event", () => decodeURIComponent(page.url()).includes("春雨/0@18"));
  await sees(page, "/metrics/得分", ".doc .change");
  assert.deepEqual(errors, []);
});

test("guides_by_rules_and_artifacts", async () => {
  const lane = harness.world.tasks.get("stones")!.lanes[0]!;
  const { page, errors } = await harness.open("#/task/stones");
  await sees(page, "87 stones", ".list");
  await press(page, "i");
  const act = page.getByRole("button", { name: "Append" });
  await page.getByLabel("Artifacts").fill("[1]");
  await sees(page, "an object is needed", "dialog pre");
  assert.equal(await act.isDisabled(), true);
  await page.getByLabel("Artifacts").fill('{"plan": "grey", "old": null}');
  await page.getByLabel("Rules").fill('{"max": 3');
  await sees(page, "Rules (JSON, in place of those before):", "dialog pre");
  assert.equal(await act.isDisabled(), true);
  await page.getByLabel("Rules").fill('{"max": 3}');
  const shown = [
    '{"kind":"rules_changed","body":{"rules":{"max":3}}}',
    '{"kind":"artifacts_edited","body":{"artifacts":{"plan":"grey","old":null}}}',
  ];
  await until("the events", async () => {
    return (await page.locator("dialog pre").innerText()) === shown.join("\n");
  });
  await assertAccessible(page, "guide with rules and artifacts");
  await act.click();
  await until("the edits", () => lane.events.at(-1)!.kind === "artifacts_edited");
  assert.deepEqual(
    lane.events.slice(-2).map((one) => one.body),
    [
      { kind: "rules_changed", rules: { max: 3 } },
      { kind: "artifacts_edited", artifacts: { plan: "grey", old: null } },
    ],
  );
  await closed(page);
  assert.deepEqual(errors, []);
});

test("plots_fifty_lineages_and_loses_no_spike", async () => {
  const at = Array.from({ length: 50 }, (_, i) => `at=tune-river/${i}`).join("&");
  const { page, errors } = await harness.open(`#/metrics?${at}&metric=loss`);
  await page.locator(".chart canvas").waitFor();
  await press(page, "v");
  const text = await page
    .getByRole("button", { name: "copy" })
    .click()
    .then(() => page.evaluate(() => navigator.clipboard.readText()));
  const greatest = Math.max(
    ...text
      .split("\n")
      .slice(1)
      .map((line) => Number(line.split("\t")[6])),
  );
  assert.ok(greatest > 900);
  assert.ok((await nodes(page)) < 3_000, String(await nodes(page)));
  assert.deepEqual(errors, []);
});

test("marks_and_guidance_are_ticks_of_a_chart", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("tune-river")!;
  const lane = task.lanes[3]!;
  append(own.world, task, lane, [{ kind: "guidance_given", text: "Smaller steps." }]);
  const fragment = "#/metrics?at=tune-river/3&metric=loss&x=offset";
  const { page, errors } = await own.open(fragment);
  await page.locator(".chart canvas").waitFor();
  await sees(page, "120 marks and 1 of guidance on the x axis: tune-river/3");
  await settled(page);
  // The list leads to each.
  await page.locator("summary").click();
  await sees(page, "@361 guidance");
  await assertAccessible(page, "list of ticks");
  await page.getByRole("button", { name: "@361 guidance" }).click();
  await until("the guidance", () => page.url().includes("#/task/tune-river/3@361"));
  // And so does a click on a tick; a click elsewhere leads to the value.
  await page.goto(`${own.mock.url}/${fragment}`);
  await page.locator(".chart canvas").waitFor();
  await sees(page, "120 marks");
  await settled(page);
  const over = page.locator(".chart .u-over");
  const { width, height } = (await over.boundingBox())!;
  const position = { x: width / 2, y: height - 4 };
  await over.hover({ position });
  const title = /^@(\d+) step-\d+$/.exec((await over.getAttribute("title"))!)!;
  assert.equal(task.lanes[3]!.events[Number(title[1])]!.kind, "checkpoint_marked");
  await over.click({ position });
  await until("the mark", () => page.url().includes(`#/task/tune-river/3@${title[1]}`));
  await page.goBack();
  await page.locator(".chart canvas").waitFor();
  await settled(page);
  await over.click({ position: { x: width / 2, y: height / 3 } });
  await until("the value", () => /tune-river\/3@\d+$/.test(page.url()));
  const at = Number(page.url().split("@")[1]);
  assert.equal(lane.events[at]!.kind, "step_finished");
  assert.deepEqual(errors, []);
});

test("finds_a_text_in_the_events_of_all_tasks", async () => {
  const { page, errors } = await harness.open("#/tasks?q=printed nowhere");
  await sees(page, "No task matches");
  await page.goto(`${harness.mock.url}/#/tasks?q=磁盘已满`);
  await page.getByRole("button", { name: "Search the events of all tasks" }).click();
  await sees(page, "2 hits", "dialog");
  await assertAccessible(page, "search of events");
  await page.getByRole("button", { name: "春雨/0@13" }).click();
  await sees(page, "磁盘已满", ".doc");
  assert.deepEqual(errors, []);
});

test("reads_what_changed_in_a_file", async () => {
  const { page, errors } = await harness.open("#/task/stones/0@22?tab=files");
  await sees(page, "Changed in this step");
  await page.getByRole("button", { name: "notes/count.md changed" }).click();
  await sees(page, "Changes of notes/count.md");
  await sees(page, "+| 4 | 12 |", ".hunk .is");
  await page.getByRole("button", { name: "done.txt added" }).click();
  await sees(page, "+<b>half of it</b>", ".hunk .is");
  assert.deepEqual(errors, []);
});

test("compares_the_states_of_two_lineages", async () => {
  const { page, errors } = await harness.open("#/compare?a=library-34/0&b=library-34/2");
  await sees(page, "only here");
  await press(page, "2");
  await sees(page, "/message_count", ".change");
  await press(page, "1");
  await sees(page, "only here");
  assert.deepEqual(errors, []);
});

test("compares_four_lineages_next_to_each_other", async () => {
  const letters = ["a", "b", "c", "d"].map((letter, i) => `${letter}=library-34/${i}`).join("&");
  const { page, errors } = await harness.open(`#/compare?${letters}`);
  await sees(page, "only here");
  await settled(page);
  const counts = await page.locator(".facts tbody tr").allInnerTexts();
  assert.deepEqual(counts, [
    "B library-34/1\t1\t6\t0\t0\t0\t4\tA @8",
    "C library-34/2\t5\t6\t0\t2\t1\t0\tA @28",
    "D library-34/3\t8\t8\t0\t0\t0\t0\tThere is no difference.",
  ]);
  const selected = page.locator("#aligned .row[aria-selected=true]");
  // Turns of another lineage are between those of the first.
  await press(page, "n");
  await until("the moved turn", async () =>
    (await selected.innerText()).includes("also in A, step 2"),
  );
  assert.deepEqual(await selected.locator(".op").allInnerTexts(), ["⇅", "", ""]);
  await press(page, "n", "n");
  await until("the missing call", async () =>
    (await selected.innerText()).includes("Maps of Rain"),
  );
  assert.deepEqual(await selected.locator(".op").allInnerTexts(), ["=", "A", "="]);
  // A cell chooses its column, which Enter opens.
  await selected.locator(".cell").nth(3).click();
  await until("the column", async () => {
    return (await page.locator("[aria-pressed=true]").innerText()).includes("D · library-34/3");
  });
  await press(page, "Enter");
  await until("the fourth lineage", () => page.url().includes("#/task/library-34/3@29"));
  await page.goBack();
  await sees(page, "only here");
  await page.getByRole("button", { name: "C · library-34/2" }).click();
  await page.getByRole("button", { name: "Swap" }).click();
  await until("the first column", () =>
    page.url().includes("a=library-34/2&b=library-34/1&c=library-34/0"),
  );
  await sees(page, "not in A", "#aligned");
  await page.getByRole("button", { name: "Only differences" }).click();
  await sees(page, /\d same turns?/, "#aligned");
  assert.ok((await nodes(page)) < 3_000);
  assert.deepEqual(errors, []);
});

const LINEAGES = (count: number) =>
  Array.from({ length: count }, (_, i) => `at=tune-river/${i}`).join("&");

test("six_lineages_are_next_to_each_other", async () => {
  const { page, errors } = await harness.open(`#/compare?${LINEAGES(6)}`);
  await page.locator("#aligned .row").first().waitFor();
  await settled(page);
  assert.equal(await page.locator(".row.head button").count(), 6);
  assert.ok((await nodes(page)) < 3_000, String(await nodes(page)));
  await assertAccessible(page, "six columns");
  await page.setViewportSize({ width: 640, height: 480 });
  await settled(page);
  assert.equal(await page.locator(".row.head button:visible").count(), 2);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 640);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Metrics" }).click();
  await sees(page, "6 lineages", "header");
  assert.deepEqual(errors, []);
});

test("of_nine_histories_a_table_has_only_what_differs", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("tune-river")!;
  task.lanes.slice(0, 9).forEach((lane, i) => {
    const patch = { seed: i % 3, plan: "descend", notes: `${"note ".repeat(50)}${i}` };
    append(own.world, task, lane, [{ kind: "variables_patched", form: "merge", patch }]);
  });
  const { page, errors } = await own.open(`#/compare?${LINEAGES(9)}&at=nothing&at=tune-river/9@9`);
  await sees(page, "5 rows with differences", "footer");
  const rows = page.locator("tbody tr");
  assert.deepEqual(await rows.locator("th").allInnerTexts(), [
    "/metrics/loss",
    "/metrics/step_size",
    "/variables/seed",
    "/variables/plan",
    "/variables/notes",
  ]);
  const seeds = await rows.nth(2).locator("td").allInnerTexts();
  assert.deepEqual(seeds, ["0", "1", "2", "0", "1", "2", "0", "1", "2", "—"]);
  // What has no column says why; what is equal is named.
  await sees(page, "nothing: there is no task `nothing`", ".doc");
  await sees(page, "also where an address is a point within one", ".doc");
  await page.getByText("6 rows the same in all").click();
  await sees(page, "Steps: 120", "details");
  await assertAccessible(page, "what differs between histories");
  // A cut value leads to the whole of it, a column to its history.
  await page.getByRole("button", { name: "all 251 characters" }).nth(4).click();
  const state = "tune-river/4?tab=state&pointer=/variables/notes";
  await until("the state", () => page.url().endsWith(state));
  await page.goBack();
  await page.getByRole("link", { name: "tune-river/7", exact: true }).click();
  await until("the history", () => page.url().endsWith("#/task/tune-river/7"));
  await page.goBack();
  await page.getByRole("button", { name: "Metrics" }).click();
  await sees(page, "11 lineages", "header");
  await page.goBack();
  await page.getByRole("button", { name: "First 6, step by step" }).click();
  await page.locator("#aligned .row").first().waitFor();
  assert.equal(await page.locator(".row.head button").count(), 6);
  assert.deepEqual(errors, []);
});

test("what_differs_between_fifty_histories_needs_few_nodes", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("tune-river")!;
  for (const lane of task.lanes) {
    const all = Array.from({ length: 70 }, (_, i) => [`v${i}`, lane.id * i]);
    const body = { kind: "variables_patched", form: "merge", patch: Object.fromEntries(all) };
    append(own.world, task, lane, [body]);
  }
  const { page, errors } = await own.open(`#/compare?${LINEAGES(50)}&at=tune-river/0`);
  await sees(page, "The first 50 of 51 are compared.");
  // The first variable is 0 in all.
  await sees(page, "Rows 1 to 30 of 70");
  assert.equal(await page.locator("thead th").count(), 50);
  assert.ok((await nodes(page)) < 3_000, String(await nodes(page)));
  const paths = own.world.asked.map((one) => one.path);
  assert.equal(paths.filter((path) => path.endsWith("/summary")).length, 1);
  await page.getByRole("button", { name: "Next rows" }).click();
  await sees(page, "Rows 31 to 60 of 70");
  await press(page, "n");
  await sees(page, "Rows 61 to 70 of 70");
  await press(page, "n");
  await sees(page, "There is none in this direction.", ".notice");
  await press(page, "N");
  await sees(page, "Rows 31 to 60 of 70");
  await assertAccessible(page, "what differs between fifty");
  await page.setViewportSize({ width: 640, height: 480 });
  await settled(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 640);
  assert.deepEqual(errors, []);
});

test("a_column_without_an_alignment_says_so", async () => {
  const { page, errors } = await harness.open("#/compare?a=library-34/0&b=nothing&c=library-34/2");
  await sees(page, "only here");
  await sees(page, "there is no task `nothing`", ".facts");
  assert.deepEqual(await page.locator(".row.head button").allInnerTexts(), [
    "A · library-34/0",
    "C · library-34/2",
  ]);
  await assertAccessible(page, "a column without an alignment");
  assert.deepEqual(errors, []);
});

test("compares_the_files_of_two_points", async () => {
  const { page, errors } = await harness.open(
    "#/compare?a=stones/0@10&b=stones/0@42&c=library-34/0",
  );
  await page.locator("#aligned .row").first().waitFor();
  await page.getByRole("button", { name: "Files" }).click();
  await sees(page, "From stones/0@10 to stones/0@42");
  await page.getByRole("button", { name: "done.txt added" }).click();
  await sees(page, "+<b>half of it</b>", ".hunk .is");
  await page.getByRole("button", { name: "notes/count.md changed" }).click();
  await sees(page, "Changes of notes/count.md");
  await assertAccessible(page, "files of two points");
  await page.getByRole("button", { name: "C · library-34/0" }).click();
  await sees(page, "Of one of the two, or of both, no folder was captured before its end.");
  await sees(page, "no capture before this point");
  await assertAccessible(page, "no files of two points");
  assert.deepEqual(errors, []);
});

test("going_to_an_offset_or_an_address_keeps_the_view_of_events", async () => {
  const { page, errors } = await harness.open("#/task/library-34/0@3");
  const at = (address: string) => async () => page.url().endsWith(`#/task/${address}`);
  const goTo = async (text: string) => {
    await press(page, ":");
    await page.getByLabel("An address, such as").fill(text);
    await page.getByRole("button", { name: "Open", exact: true }).click();
  };
  await page.locator(".list .row[aria-selected=true]").waitFor();
  await page.getByRole("button", { name: "Events" }).click();
  await page.locator(".list[aria-label=Events]").waitFor();
  await goTo("20");
  await until("the event", at("library-34/0@20?view=events"));
  await page.locator(".list[aria-label=Events] .row[aria-selected=true]").waitFor();
  await goTo("library-34/2@24");
  await until("the other lineage", at("library-34/2@24?view=events"));
  await page.locator(".list[aria-label=Events] .row[aria-selected=true]").waitFor();
  // A link has its own view.
  await goTo("#/task/library-34/0@3");
  await until("the link", at("library-34/0@3"));
  await page.locator(".list[aria-label=Steps]").waitFor();
  assert.deepEqual(errors, []);
});

test("zooms_the_map_by_dragging_and_by_buttons", async () => {
  const { page, errors } = await harness.open("#/task/tune-river/7@300");
  await page.locator(".map .own").first().waitFor({ state: "attached" });
  await settled(page);
  const shown = page.locator(".map .zoom span");
  const box = (await page.locator(".map svg").boundingBox())!;
  const from = harness.world.asked.length;
  await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.35, box.y + 40, { steps: 4 });
  await page.mouse.up();
  await until("the part", async () => (await shown.innerText()) === "@89 to @125");
  // A drag goes nowhere; finer buckets are asked for.
  assert.match(page.url(), /7@300/);
  await until("finer buckets", () =>
    harness.world.asked.slice(from).some((one) => one.path.includes("buckets=2000")),
  );
  await settled(page);
  assert.equal(await page.locator(".map .tick-mark:not(.other)").count(), 12);
  await assertAccessible(page, "zoomed map");

  // By keyboard. Where nothing is further, a button says so and does nothing.
  const button = (name: string) => page.getByRole("button", { name });
  await button("Later part").focus();
  await press(page, "Enter");
  await until("the later part", async () => (await shown.innerText()) === "@107 to @143");
  await button("Zoom out").press("Enter");
  await until("the larger part", async () => (await shown.innerText()) === "@53 to @197");
  await button("Whole map").press("Enter");
  await until("the whole map", async () => (await shown.innerText()) === "");
  assert.equal(await button("Zoom out").getAttribute("aria-disabled"), "true");
  await button("Zoom in").press("Enter");
  // Around the cursor, which stays in view, in other lineages too.
  await until("the cursor's part", async () => (await shown.innerText()) === "@253 to @343");
  await page.locator("#steps").focus();
  await press(page, "g");
  await until("the cursor in view", async () => (await shown.innerText()) === "@0 to @90");
  await press(page, "]");
  await until("the lineage", () => page.url().includes("tune-river/8"));
  await sees(page, /^@\d+ to @\d+$/, ".map .zoom");
  // A click goes to the offset under it.
  await page.goto(`${harness.mock.url}/#/task/tune-river/7@10`);
  await page.locator(".map .own").first().waitFor({ state: "attached" });
  await settled(page);
  const click = { x: box.width * 0.5, y: 7 * 24 + 12 };
  await page.locator(".map svg").click({ position: click });
  await until("the click", () => /tune-river\/7@(4[3-7])$/.test(page.url()));
  assert.ok((await nodes(page)) < 3_000, String(await nodes(page)));
  assert.deepEqual(errors, []);
});

test("the_map_over_time_cuts_idle_time_out", async () => {
  const own = await Harness.start(world(0));
  const task = own.world.tasks.get("library-34")!;
  idle(task, 20, 3 * 3600 * 1e6);
  idle(task, 30, 60 * 1e6);
  const { page, errors } = await own.open("#/task/library-34/0@12");
  await page.locator(".map .own").first().waitFor({ state: "attached" });
  await settled(page);
  const button = (name: string) => page.getByRole("button", { name });
  const time = button("Time on the x axis");
  const cut = button("Cut idle time out");
  // Pixels of the marks of the open lineage.
  const marks = async () => {
    const paths = await page.locator(".map .tick-mark:not(.other)").all();
    const drawn = await Promise.all(paths.map((one) => one.getAttribute("d")));
    return drawn.map((d) => Number(/^M([\d.]+)/.exec(d!)![1]));
  };
  const box = (await page.locator(".map svg").boundingBox())!;
  assert.equal(await cut.getAttribute("aria-disabled"), "true");
  const offsets = await marks();
  await time.click();
  assert.equal(await time.getAttribute("aria-pressed"), "true");
  assert.equal(await cut.getAttribute("aria-pressed"), "true");
  await sees(page, "2 idle times cut out", ".map .zoom");
  assert.deepEqual(await page.locator(".map .break title").allTextContents(), [
    "idle for 3 h 0 min",
    "idle for 1 min 0 s",
  ]);
  await assertAccessible(page, "map over time");
  // Nearly the same as over offsets: all events are equally far apart, but for the breaks.
  const short = await marks();
  const furthest = short.map((at, i) => Math.abs(at - offsets[i]!));
  assert.ok(Math.max(...furthest) < 0.06 * box.width, furthest.join(" "));
  // Without a cut, the events are in two heaps.
  await cut.click();
  await until("no break", async () => (await page.locator(".map .break").count()) === 0);
  const long = await marks();
  const { events } = task.lanes[0]!;
  const at = events.flatMap((one, i) => (one.kind === "checkpoint_marked" ? [i] : []));
  const early = at.filter((offset) => offset < 20).length;
  assert.equal(long.filter((x) => x < 8).length, early);
  assert.equal(long.filter((x) => x > box.width - 12).length, at.length - early);
  // A click goes to the event at this time; the choice is kept.
  await cut.click();
  await page.reload();
  await sees(page, "2 idle times cut out", ".map .zoom");
  await settled(page);
  await page.locator(".map svg").click({ position: { x: short[2]!, y: 12 } });
  // The address is that of the turn.
  await until("the turn", () => {
    const offset = Number(page.url().split("@")[1]);
    return offset > at[1]! && offset <= at[2]!;
  });
  // A part has the time between its ends, and what other lineages did then.
  await button("Zoom in").click();
  await sees(page, /^@\d+ to @\d+ · 1 idle time cut out$/, ".map .zoom");
  await until("the cursor's part", async () => (await marks()).length < short.length);
  await time.click();
  await until("no cut", async () => (await cut.getAttribute("aria-disabled")) === "true");
  assert.deepEqual(errors, []);
});

test("finds_in_a_lineage_by_keys", async () => {
  const { page } = await harness.open("#/task/library-34/0@3");
  await sees(page, "find_loan", ".list");
  const selected = () => page.locator(".list .row[aria-selected=true]").innerText();
  await press(page, "/");
  await page.keyboard.type("receipt");
  await press(page, "Enter");
  await sees(page, "hit", "header");
  await press(page, "Escape", "n");
  await until("the hit", async () => (await selected()).includes("send_receipt"));
  await press(page, "g");
  await until("the first row", async () => (await selected()).includes("card number"));
  await press(page, "m", "m");
  await until("the third mark", async () => (await selected()).includes("Maps of Rain"));
  await press(page, ":");
  await page.keyboard.type("38");
  await press(page, "Enter");
  await until("the offset", async () => (await selected()).includes("Both loans are renewed"));
  await press(page, "Enter");
  await sees(page, "@39", ".list");
  await press(page, "j", "j");
  await until("an event", async () => (await selected()).includes("@39"));
  await press(page, "y");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "library-34/0@39");
});
