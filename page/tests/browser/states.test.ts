// States of the service, of the connection and of the log.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { Harness, assertAccessible, closed, nodes, press, sees, settled, test, until } from "./harness.ts";
import { session } from "../mock/logs.ts";
import { append, fork, world } from "../mock/world.ts";

let harness: Harness;
before(async () => (harness = await Harness.start()));
after(() => harness.end());

test("an_empty_store_says_what_to_type", async () => {
  const empty = world(0);
  empty.tasks.clear();
  const own = await Harness.start(empty);
  const { page } = await own.open("#/tasks");
  await sees(page, "milepost record --task NAME run.jsonl");
  await assertAccessible(page, "empty store");
  await own.end();
});

test("a_login_keeps_the_address", async () => {
  const closed = world(3);
  closed.tokens.add("mp_1_secret").add("code abc");
  const own = await Harness.start(closed);
  const { page } = await own.open("#/task/library-34/2@24");
  await page.getByLabel("Token").fill("wrong");
  await press(page, "Enter");
  await sees(page, "The token was not accepted.");
  await assertAccessible(page, "login");
  await page.getByLabel("Token").fill("mp_1_secret");
  await press(page, "Enter");
  await sees(page, "renew_loan");
  assert.match(page.url(), /library-34\/2@24/);
  const kept = await page.evaluate(() => localStorage.getItem("milepost.session"));
  assert.match(kept ?? "", /^ms_/);
  assert.equal(await page.evaluate(() => document.cookie), "");

  // A code works once, and is not left in the address.
  const first = await own.open("#code=abc&to=%2Ftask%2Fstones");
  await sees(first.page, "stones", "h1");
  assert.doesNotMatch(first.page.url(), /abc/);
  const second = await own.open("#code=abc&to=%2Ftask%2Fstones");
  await sees(second.page, "The code was used already");
  await own.end();
});

test("a_lost_connection_leaves_what_was_loaded_and_comes_back", async () => {
  const { page } = await harness.open("#/task/library-34");
  await sees(page, "Your loan is renewed.");
  harness.world.down = true;
  await press(page, "2");
  await sees(page, "No connection.");
  await sees(page, "send_receipt", ".list");
  await assertAccessible(page, "disconnected");
  harness.world.down = false;
  await sees(page, "State at library-34/2@38");
  await until("the bar to go", async () => (await page.locator(".bar.bad").count()) === 0);
});

test("a_slow_answer_shows_that_it_is_waited_for_and_can_be_stopped", async () => {
  const own = await Harness.start(world(3));
  const { page } = await own.open("#/compare");
  await settled(page);
  await page.clock.install();
  // Only this test moves the clock: "Loading…" is there from 0.3 to 2 s of it.
  await page.clock.pauseAt(Date.now() + 60_000);
  own.world.slow = 600_000;
  await page.evaluate(async () => {
    const changed = new Promise((done) => addEventListener("hashchange", done, { once: true }));
    location.hash = "#/task/library-34";
    await changed;
  });
  await page.clock.runFor(1_000);
  await sees(page, "Loading…");
  await page.clock.runFor(2_000);
  await sees(page, "Reading library-34…");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await own.end();
});

test("read_only_disables_with_the_reason", async () => {
  const readOnly = world(3);
  readOnly.readOnly = true;
  const own = await Harness.start(readOnly);
  const { page } = await own.open("#/task/library-34");
  await sees(page, "Your loan is renewed.");
  const button = page.getByRole("button", { name: "Fork" });
  assert.equal(await button.getAttribute("aria-disabled"), "true");
  await press(page, "f");
  await sees(page, "The service or the token is read-only.", ".notice");
  await press(page, ".");
  await sees(page, "The service or the token is read-only.", "dialog");
  await assertAccessible(page, "read-only");
  await own.end();
});

test("follows_the_head_and_does_not_jump_for_who_reads", async () => {
  const { world: own } = harness;
  const task = own.tasks.get("stones")!;
  const lane = task.lanes[0]!;
  const add = (n: number) => {
    for (let i = 0; i < n; i++) {
      const step = 1000 + lane.events.length;
      append(own, task, lane, [
        { kind: "step_started", step },
        { kind: "tool_called", call: `n${step}`, tool: "count", arguments: "{}" },
        { kind: "tool_returned", call: `n${step}`, tool: "count", ok: true, output: `new ${step}` },
        { kind: "step_finished", step },
      ]);
    }
  };
  const { page, errors } = await harness.open("#/task/stones");
  await sees(page, "87 stones", ".list");
  await until("the stream", () => own.changed.size > 0);
  add(3);
  await sees(page, "33 turns");
  const selected = page.locator(".list .row[aria-selected=true]");
  await until("the last turn", async () => /new 1/.test(await selected.innerText()));
  await sees(page, /new 1/, ".doc");

  await press(page, "g");
  await until("the first turn", async () => (await selected.innerText()).includes("0 stones"));
  add(50);
  await sees(page, "200 new events");
  assert.match(await selected.innerText(), /0 stones/);
  await page.getByRole("button", { name: "200 new events" }).click();
  await until("the head", async () => /new 1/.test(await selected.innerText()));

  // Many events: none is missing.
  add(500);
  await sees(page, "583 turns");
  await sees(page, `${lane.events.length.toLocaleString("en")} events`);
  assert.ok((await nodes(page)) < 3_000);
  assert.deepEqual(errors, []);
});

test("a_run_of_a_thousand_events_a_second_is_followed", async (t) => {
  const { world: own } = harness;
  const task = own.tasks.get("empty")!;
  const lane = task.lanes[0]!;
  const { page, errors } = await harness.open("#/task/empty");
  await sees(page, "This task has no events yet");
  await until("the stream", () => own.changed.size > 0);
  await page.evaluate(() => {
    const longest = { ms: 0 };
    Object.assign(globalThis, { longest });
    new PerformanceObserver((list) => {
      for (const one of list.getEntries()) longest.ms = Math.max(longest.ms, one.duration);
    }).observe({ entryTypes: ["longtask"] });
  });
  let step = 0;
  for (let tick = 0; tick < 30; tick++) {
    for (let i = 0; i < 25; i++) {
      step += 1;
      append(own, task, lane, [
        { kind: "step_started", step },
        { kind: "tool_called", call: `n${step}`, tool: "count", arguments: "{}" },
        { kind: "tool_returned", call: `n${step}`, tool: "count", ok: true, output: `n ${step}` },
        { kind: "step_finished", step },
      ]);
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  await sees(page, "750 turns");
  await until("the last turn", async () => {
    return (await page.locator(".list .row[aria-selected=true]").innerText()).includes("n 750");
  });
  const ms = await page.evaluate(
    () => (globalThis as unknown as { longest: { ms: number } }).longest.ms,
  );
  t.diagnostic(`longest task: ${ms} ms`);
  assert.ok((await nodes(page)) < 3_000);
  assert.deepEqual(errors, []);
});

test("a_task_that_moved_says_so", async () => {
  const { world: own } = harness;
  const task = own.tasks.get("春雨")!;
  const { page } = await harness.open("#/task/春雨/0@3");
  await sees(page, "好的", ".list");
  await until("the stream", () => own.changed.size > 0);
  const lane = fork(own, task, task.lanes[0]!, 8, "restore", "");
  task.active = lane.id;
  for (const tell of own.changed) tell(task, lane.id);
  await sees(page, "The task moved from 春雨/0 to 春雨/1@8.");
  assert.match(decodeURIComponent(page.url()), /春雨\/0@3/);
  await assertAccessible(page, "moved");
  await page.getByRole("button", { name: "Go there" }).click();
  await until("the move", () => !page.url().includes("@"));
});

test("a_trimmed_point_leads_to_the_beginning", async () => {
  harness.world.tasks.get("loan-00001")!.lanes[0]!.begin = 2;
  const { page } = await harness.open("#/task/loan-00001/0@1");
  await sees(page, "The history begins at loan-00001/0@2 now.");
  await assertAccessible(page, "trimmed");
  await page.getByRole("button", { name: "Go to the beginning" }).click();
  await sees(page, "renew_loan", ".list");
});

test("an_erased_and_an_unknown_event_have_their_own_words", async () => {
  const name = [...harness.world.tasks.keys()].find((id) => id.startsWith("hostile"))!;
  const { page } = await harness.open(`#/task/${encodeURIComponent(name)}/0@23?view=events`);
  await sees(page, "The body of this event was erased.");
  await press(page, "k");
  await sees(page, "3q2+7w==", ".doc");
});

test("nothing_in_a_log_runs", async () => {
  const name = [...harness.world.tasks.keys()].find((id) => id.startsWith("hostile"))!;
  const { page, errors, strangers } = await harness.open(`#/task/${encodeURIComponent(name)}/0@1`);
  await sees(page, "<script>", ".list");
  for (const view of ["v", "v"]) {
    await press(page, view, "g");
    for (let i = 0; i < 25; i++) {
      await press(page, "1", "2", "3", "5", "j");
      await settled(page);
    }
  }
  await page.goto(`${harness.mock.url}/#/task/${encodeURIComponent(name)}/0@1?view=events`);
  await sees(page, "U+202E", ".doc");
  await sees(page, "␇", ".doc");
  await assertAccessible(page, "hostile");
  await page.goto(`${harness.mock.url}/#/tasks?q=hostile`);
  await sees(page, "hostile");
  const ran = await page.evaluate(() => (globalThis as { __ran?: number }).__ran);
  assert.equal(ran, undefined);
  assert.equal(await page.locator("img, iframe, script:not([src])").count(), 0);
  assert.deepEqual([errors, strangers], [[], []]);
});

test("a_million_events_need_few_nodes_and_bytes", async () => {
  harness.world.asked.length = 0;
  const { page, errors } = await harness.open("#/task/million");
  await sees(page, "value 1400000");
  await settled(page);
  const asked = harness.world.asked.filter((one) => one.path !== "/v1/me");
  assert.ok(asked.length <= 6, JSON.stringify(asked.map((one) => one.path)));
  const bytes = asked.reduce((sum, one) => sum + one.bytes, 0);
  assert.ok(bytes <= 250_000, String(bytes));
  assert.ok((await nodes(page)) < 3_000);
  await press(page, ":");
  await page.keyboard.type("500002");
  await press(page, "Enter");
  await sees(page, "value 700007", ".list");
  await press(page, "v");
  await sees(page, "@500002", ".list");
  await press(page, "e");
  await sees(page, "@524997", ".list");
  await press(page, "G");
  await sees(page, "@999999", ".list");
  await page.locator(".list").hover();
  await page.mouse.wheel(0, -280);
  await sees(page, "@999960", ".list");
  assert.ok((await nodes(page)) < 3_000);
  assert.ok((await page.locator(".list .row").count()) <= 100);
  assert.deepEqual(errors, []);
});

test("a_history_that_is_read_in_slices_is_shown_whole", async () => {
  const ticks = async (slice: number) => {
    const own = await Harness.start(world(0));
    own.world.slice = slice;
    const { page, errors } = await own.open("#/task/library-34/2@24");
    const drawn = () => page.locator(".map .tick:not(.other)").count();
    if (slice === Infinity) await until("the ticks", async () => (await drawn()) > 0);
    await settled(page);
    assert.deepEqual(errors, []);
    return { own, page, drawn };
  };
  const whole = await ticks(Infinity);
  const count = await whole.drawn();
  await whole.own.end();
  const { own, drawn } = await ticks(10);
  await until("the ticks of all slices", async () => (await drawn()) === count);

  own.world.slice = 100;
  const { page } = await own.open("#/task/tune-river/7@300");
  await page.locator(".map .own").first().waitFor({ state: "attached" });
  await settled(page);
  own.world.read = new WeakMap();
  await page.getByRole("button", { name: "Zoom in" }).click();
  const marks = page.locator(".map .tick-mark:not(.other)");
  await until("the marks of all slices", async () => (await marks.count()) >= 29);
  await own.end();
});

test("a_step_of_several_turns_folds", async () => {
  const own = await Harness.start(world(0));
  const task = session();
  own.world.tasks.set(task.id, task);
  const { page, errors } = await own.open("#/task/shelves");
  await sees(page, "303 turns");
  const list = page.locator(".list");
  const selected = () => page.locator(".list .row[aria-selected=true]").innerText();
  await press(page, "k");
  await until("the last turn of the step", async () => (await selected()).includes("@910"));
  // The last turn of a long step: its first one is not in the document, nor known.
  own.world.asked.length = 0;
  await press(page, "ArrowLeft");
  await until("the heading", async () => /^▸\s+2\s/.test(await selected()));
  await sees(page, "+ 300 turns", ".list");
  await until("four rows", async () => (await list.locator(".row").count()) === 4);
  await settled(page);
  const pages = own.world.asked.filter((one) => one.path.includes("/turns?"));
  assert.ok(pages.length <= 3, JSON.stringify(pages));
  await assertAccessible(page, "folded step");
  // What runs on in a folded step stays folded; the next row is that of the next step.
  await press(page, "j");
  await until("the next step", async () => /^▸\s+3\s/.test(await selected()));
  await press(page, "k", "ArrowRight");
  await until("the turns", async () => (await list.locator(".row").count()) > 4);
  await sees(page, "− fold", ".list");
  assert.ok((await page.locator(".list .row[aria-level='2']").count()) > 4);
  // By mouse; and a hit in what is folded unfolds it.
  await page.getByRole("button", { name: "Fold step 1" }).click();
  await page.getByRole("button", { name: "Unfold step 1, 2 turns" }).waitFor();
  await page.getByRole("button", { name: "Fold step 2" }).click();
  await page.getByRole("button", { name: "Unfold step 2, 300 turns" }).waitFor();
  await until("three rows", async () => (await list.locator(".row").count()) === 3);
  await press(page, "/");
  await page.keyboard.type("sorted 250");
  await press(page, "Enter");
  await until("the hit", async () => (await selected()).includes("sorted 250"));
  assert.equal(await page.getByRole("button", { name: "Unfold step 2, 300 turns" }).count(), 0);
  assert.deepEqual(errors, []);
  await own.end();
});

test("a_folded_step_that_runs_takes_its_new_turns", async () => {
  const own = await Harness.start(world(0));
  const task = session();
  const lane = task.lanes[0]!;
  // The last step has not ended.
  lane.events.splice(-2);
  own.world.tasks.set(task.id, task);
  const { page, errors } = await own.open("#/task/shelves");
  await sees(page, "303 turns");
  await until("the stream", () => own.world.changed.size > 0);
  const add = (i: number) => {
    const call = `more${i}`;
    append(own.world, task, lane, [
      { kind: "message", role: "assistant", content: `More ${i}.` },
      { kind: "tool_called", call, tool: "sort", arguments: "{}" },
      { kind: "tool_returned", call, tool: "sort", ok: true, output: `sorted more ${i}` },
    ]);
  };
  add(0);
  await sees(page, "304 turns");
  await sees(page, "sorted more 0", ".list");
  await settled(page);
  await press(page, "ArrowLeft");
  await page.getByRole("button", { name: "Unfold step 3, 2 turns" }).waitFor();
  add(1);
  add(2);
  await page.getByRole("button", { name: "Unfold step 3, 4 turns" }).waitFor();
  assert.equal(await page.locator(".list").getByText("sorted more 2").count(), 0);
  assert.deepEqual(errors, []);
  await own.end();
});

test("keys_do_nothing_while_one_types_and_can_be_switched_off", async () => {
  const { page } = await harness.open("#/task/library-34/0@3");
  await sees(page, "find_loan", ".list");
  await press(page, "/");
  await page.keyboard.type("fj?r.");
  assert.equal(await page.locator("dialog").count(), 0);
  await press(page, "Escape", "?");
  await page.getByLabel("Keys of single letters").selectOption("off");
  await press(page, "Escape");
  await closed(page);
  await press(page, "f");
  assert.equal(await page.locator("dialog").count(), 0);
  await press(page, "ArrowDown");
  await until("the arrow", () => page.url().includes("@8"));
});

test("hits_are_counted_once_all_of_them_are_known", async () => {
  const { page } = await harness.open("#/task/stones/0@2");
  await sees(page, "0 stones", ".list");
  let release = () => {};
  const released = new Promise<void>((done) => (release = done));
  await page.route("**/rows?*text=*", async (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get("from"));
    if (from > 0) {
      await released;
      return route.continue();
    }
    const answer = await route.fetch();
    const head = ((await answer.json()) as { head: number }).head;
    await route.fulfill({ json: { items: [], next: 10, head } });
  });
  await press(page, "/");
  await page.keyboard.type("stones");
  await press(page, "Enter");
  await sees(page, /^Searching: @10 of @[\d,]+$/, "header");
  await sees(page, /^Searching: @10 of @[\d,]+/, ".bar");
  assert.doesNotMatch(await page.locator("header").innerText(), /hit/);
  release();
  await sees(page, /^[\d,]+(–[\d,]+)? of [\d,]+ hits$/, "header");
});

test("what_is_read_for_the_first_time_is_not_new", async () => {
  const { page } = await harness.open("#/tasks");
  await sees(page, "library-34");
  // The service reads on: its first answers are about the beginning only.
  let answers = 0;
  await page.route("**/tasks/stones/turns?*", async (route) => {
    const answer = await route.fetch();
    const whole = (await answer.json()) as { items: unknown[] };
    answers += 1;
    const part = { ...whole, items: whole.items.slice(0, 4), total: 4, read: 20 };
    await route.fulfill({ json: answers < 3 ? part : whole });
  });
  await page.goto(`${harness.mock.url}/#/task/stones/0@2`);
  await sees(page, "4 turns");
  await sees(page, "live", "footer");
  await until("all turns", async () => !(await page.locator("body").innerText()).includes("4 turns"));
  await settled(page);
  assert.equal(await page.locator(".new-below").count(), 0);
});

test("before_the_first_answer_nothing_is_counted", async () => {
  const { page } = await harness.open("#/store");
  await sees(page, "Copy the anchor");
  let release = () => {};
  const released = new Promise<void>((done) => (release = done));
  await page.route("**/v1/summaries?*", async (route) => {
    await released;
    await route.continue().catch(() => {});
  });
  await page.goto(`${harness.mock.url}/#/tasks`);
  await sees(page, "Reading Tasks…", "main");
  assert.doesNotMatch(await page.locator("footer").innerText(), /tasks|live/);
  release();
  await sees(page, / tasks/, "footer");
});

test("an_address_beyond_the_end_says_so", async () => {
  for (const view of ["steps", "events"]) {
    const { page } = await harness.open(`#/task/library-34/0@5000?view=${view}`);
    await sees(page, /^There is no @5,000: the lineage ends at @\d+\. This is its end\.$/, ".bar");
    await press(page, "g");
    await until("no bar", async () => (await page.locator(".bar").count()) === 0);
  }
});

test("a_window_is_named_after_what_it_shows", async () => {
  const { page } = await harness.open("#/tasks");
  const named = (text: string) => until(text, async () => (await page.title()) === text);
  await named("Tasks · Milepost");
  for (const [fragment, title] of [
    ["#/task/library-34/0@3", /^library-34\/0 @\d+ · Milepost$/],
    ["#/compare?a=library-34/0&b=library-34/2", /^library-34\/0 · library-34\/2 · Compare · Milepost$/],
    ["#/metrics?at=tune-river/0", /^Metrics · tune-river\/0 · Milepost$/],
  ] as const) {
    await page.goto(`${harness.mock.url}/${fragment}`);
    await until(String(title), async () => title.test(await page.title()), () => page.url());
  }
});

test("a_condition_that_is_half_typed_leaves_the_rows", async () => {
  const { page } = await harness.open("#/tasks?q=library");
  await sees(page, "library-34", ".list");
  await page.route("**/v1/summaries?*steps*", (route) =>
    route.fulfill({
      status: 400,
      contentType: "application/problem+json",
      json: { title: "The search is wrong", detail: "steps needs a number", status: 400 },
    }),
  );
  await page.locator("#search").fill("library steps:>");
  await sees(page, "steps needs a number", ".bar");
  await sees(page, "library-34", ".list");
});
