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
import { append, world } from "../mock/world.ts";

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

test("going_to_an_offset_or_an_address_keeps_the_view_of_events", async () => {
  const { page, errors } = await harness.open("#/task/library-34/0@3");
  const at = (address: string) => async () => page.url().endsWith(`#/task/${address}`);
  const goTo = async (text: string) => {
    await press(page, ":");
    await page.getByLabel("An address, such as").fill(text);
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await closed(page);
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

test("an_address_that_comes_before_that_of_the_cursor_is_kept_stays", async () => {
  const { page, errors } = await harness.open("#/task/library-34/0@3");
  await page.clock.install();
  await page.reload();
  await page.locator(".list .row[aria-selected=true]").waitFor();
  await settled(page);
  await page.clock.pauseAt(Date.now() + 60_000);
  // The address follows the cursor after 120 ms; another one is opened just before.
  await press(page, "j");
  await page.clock.runFor(115);
  await page.evaluate(async () => {
    const changed = new Promise((done) => addEventListener("hashchange", done, { once: true }));
    location.hash = "#/task/library-34/2@24";
    await changed;
  });
  await page.clock.runFor(10);
  await page.clock.resume();
  await sees(page, "Your loan is renewed.", ".list");
  await settled(page);
  assert.match(page.url(), /library-34\/2@24$/);
  assert.deepEqual(errors, []);
});

test("an_address_that_follows_the_cursor_takes_no_later_key_back", async () => {
  const { page, errors } = await harness.open("#/task/library-34/0@3");
  await page.clock.install();
  await page.reload();
  await page.locator(".list .row[aria-selected=true]").waitFor();
  await settled(page);
  await page.clock.pauseAt(Date.now() + 60_000);
  // The address of the end is written, and not yet drawn when the next key comes.
  await press(page, "G");
  await page.clock.runFor(120);
  await press(page, "k");
  await page.clock.resume();
  await until("the address", () => page.url().endsWith("library-34/0@33"));
  await settled(page);
  const selected = await page.locator(".list .row[aria-selected=true]").innerText();
  assert.match(selected, /send_receipt/);
  assert.deepEqual(errors, []);
});

test("a_search_that_waits_takes_no_later_key_back", async () => {
  const { page, errors } = await harness.open("#/tasks");
  await page.clock.install();
  await page.reload();
  await page.locator(".list .row[aria-selected=true]").waitFor();
  await press(page, "/");
  await page.keyboard.type("library-3");
  await sees(page, "1 task", "footer");
  await settled(page);
  await page.clock.pauseAt(Date.now() + 60_000);
  // The rows are those of the last letter, too, so nothing says that its search waits.
  await press(page, "4", "Enter");
  await page.clock.runFor(60);
  await press(page, "c");
  await page.clock.runFor(200);
  await page.clock.resume();
  await sees(page, "only here");
  await settled(page);
  assert.match(page.url(), /#\/compare\?/);
  await page.goBack();
  await until("the search", () => page.url().endsWith("#/tasks?q=library-34"));
  assert.deepEqual(errors, []);
});

test("finds_in_a_lineage_by_keys", async () => {
  const { page } = await harness.open("#/task/library-34/0@3");
  await sees(page, "find_loan", ".list");
  const selected = () => page.locator(".list .row[aria-selected=true]").innerText();
  await press(page, "/");
  await page.keyboard.type("receipt");
  await press(page, "Enter");
  await until("the hit", async () => (await selected()).includes("send_receipt"));
  await sees(page, /^\d+(–\d+)? of \d+ hits?$/, "header");
  // Enter leaves the field, and beyond the last hit the search begins again.
  await press(page, "G", "n");
  await sees(page, "After the last one: on from the beginning.", ".notice");
  await until("the hit", async () => (await selected()).includes("send_receipt"));
  assert.equal(await page.locator("#find").inputValue(), "receipt");
  await page.locator(".list .row.hit").first().waitFor();
  assert.ok((await page.locator(".map .tick-hit").getAttribute("d"))!.startsWith("M"));
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
