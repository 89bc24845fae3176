// Jobs by keyboard alone, in English and in Chinese.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { en } from "../../src/words/en.ts";
import type { Words } from "../../src/words/form.ts";
import { zh } from "../../src/words/zh.ts";
import { Harness, closed, nodes, press, sees, settled, test, until } from "./harness.ts";
import type { Opened } from "./harness.ts";
import { focused, keysPressed, selected, tabTo, watchHands } from "./by-keyboard.ts";
import { fork, idle, world } from "../mock/world.ts";

/** The plot of one metric of fifty lineages. */
const LINEAGES = Array.from({ length: 50 }, (_, i) => `at=tune-river/${i}`);
const FIFTY = `#/metrics?${LINEAGES.join("&")}&metric=loss`;

// It keeps the browser open; each job has a store of its own.
let harness: Harness;
before(async () => (harness = await Harness.start(world(0))));
after(() => harness.end());

/** Runs a job in both languages. It fails if a mouse was used. */
function job(
  name: string,
  fragment: string,
  run: (w: Words, opened: Opened, own: Harness) => Promise<void>,
  tasks = 3,
): void {
  const languages: [string, Words][] = [
    ["en-US", en],
    ["zh-CN", zh],
  ];
  for (const [language, w] of languages) {
    test(`${name}, by keyboard, ${language}`, async () => {
      const own = await Harness.start(world(tasks));
      try {
        const opened = await own.open(fragment, { language });
        const { page, errors } = opened;
        await watchHands(page);
        await page.locator(".list .row[aria-selected=true], .chart canvas").first().waitFor();
        await settled(page);
        await run(w, opened, own);
        await keysPressed(page);
        assert.deepEqual(errors, []);
      } finally {
        await own.end();
      }
    });
  }
}

job(
  "finds_the_failed_task_among_ten_thousand",
  "#/tasks",
  async (w, { page }) => {
    await sees(page, w.countTasksOf("1,000", "10,006"));
    await press(page, "/");
    await page.keyboard.type("has:failure loan-0002");
    await press(page, "Enter");
    await sees(page, w.countTasks("1"), "footer");
    await sees(page, "no such loan", "aside");
    await press(page, "Enter");
    await sees(page, "renew_loan", ".list");
    await settled(page);
    await press(page, "E");
    await until("the failure", async () => (await selected(page)).includes("no such loan"));
    assert.match(page.url(), /#\/task\/loan-0002/);
    await press(page, "Escape");
    await until("the table", () => page.url().includes("#/tasks"));
  },
  10_000,
);

job("finds_the_call_that_only_one_lineage_made", "#/tasks", async (w, { page }) => {
  await press(page, "/");
  await page.keyboard.type("library-34");
  await press(page, "Enter");
  await sees(page, w.countTasks("1"), "footer");
  await settled(page);
  await press(page, "c");
  await sees(page, w.onlyHere);
  await settled(page);
  await press(page, "g", "n");
  await until("the difference", async () => (await selected(page)).includes("Maps of Rain"));
  await press(page, "Enter");
  await until("the other side", () => page.url().includes("#/task/library-34/0@28"));
  await sees(page, "renew_loan", ".doc");
});

job("compares_three_lineages", "#/task/library-34/0", async (w, { page }) => {
  for (const id of ["0", "1", "2"]) {
    await until("the lineage", () => page.url().includes(`#/task/library-34/${id}`));
    await page.locator(".list .row[aria-selected=true]").waitFor();
    await settled(page);
    await press(page, id === "2" ? "c" : "x");
    if (id !== "2") await press(page, "]");
  }
  await until("the comparison", () => page.url().includes("c=library-34/2"));
  await sees(page, w.onlyHere);
  await settled(page);
  const column = () => page.locator("[aria-pressed=true]").innerText();
  assert.equal(await column(), "B · library-34/1");
  await press(page, "l");
  await until("the column", async () => (await column()) === "C · library-34/2");
  await press(page, "l");
  await sees(page, w.noFurther, ".notice");
  await press(page, "3");
  await sees(page, w.noCaptureApart);
  await press(page, "2");
  await sees(page, w.changesFrom("library-34/0", "library-34/2"));
  await press(page, "1", "g", "n", "n", "n", "n");
  await until("the difference", async () => /renew_loan\s+Maps/.test(await selected(page)));
  await press(page, "h", "h");
  await until("the column", async () => (await column()) === "A · library-34/0");
  await press(page, "Enter");
  await until("the first lineage", () => page.url().includes("#/task/library-34/0@"));
});

job(
  "reads_what_differs_between_seven_tasks",
  "#/tasks?q=loan&sort=id",
  async (w, { page }) => {
    for (let i = 0; i < 7; i++) await press(page, "x", "j");
    await sees(page, w.chosenCount("7"), "footer");
    await press(page, "c");
    await sees(page, w.diffOf("7"), "header");
    await sees(page, w.diffRows("2"), "footer");
    await settled(page);
    await press(page, "l", "l", "l", "l", "h");
    await until("the column", async () => (await focused(page)) === "loan-00002");
    await press(page, "l");
    await until("the failed task", async () => (await focused(page)) === "loan-00003");
    await press(page, "Enter");
    await until("the task", () => page.url().endsWith("#/task/loan-00003"));
    await sees(page, "no such loan", ".list");
    await page.goBack();
    await sees(page, w.diffEqual("4"));
    await tabTo(page, w.metrics);
    await press(page, "Enter");
    await until("the metrics", () => page.url().includes("#/metrics?at=loan-00000&at=loan-00001"));
  },
  8,
);

job("reads_a_step_to_its_last_byte", "#/tasks?q=hostile", async (w, { page }) => {
  await press(page, "Enter");
  await sees(page, "large", ".list");
  await settled(page);
  await press(page, "G");
  await until("the last step", async () => (await selected(page)).includes("large"));
  await sees(page, w.showAll("204 kB"), ".doc");
  await settled(page);
  await press(page, "l");
  await tabTo(page, w.showAll("204 kB"));
  await press(page, "Enter");
  await until("the whole value", async () => {
    return (await focused(page)).length >= 17 * 12_000 - 1;
  });
  let seen = "";
  await until("the last byte on the screen", async () => {
    // The pane may still grow after the first press.
    await press(page, "End");
    seen = await page.evaluate(() => {
      const text = document.activeElement!;
      const pane = document.getElementById("pane")!.getBoundingClientRect();
      const range = document.createRange();
      range.selectNodeContents(text);
      const last = [...range.getClientRects()].at(-1);
      if (!last || text.tagName !== "PRE") return `${text.tagName} ${text.id} has the focus`;
      const isSeen = last.bottom <= pane.bottom && last.top >= pane.top;
      return isSeen ? "" : `the last line is at ${last.bottom}, the pane ends at ${pane.bottom}`;
    });
    return seen === "";
  }, () => seen);
  await press(page, "h");
  await until("the list", () => page.evaluate(() => document.activeElement?.id === "steps"));
});

job(
  "rolls_back_files_as_planned_and_undo_brings_them_back",
  "#/task/library-34/3@25",
  async (w, { page }, own) => {
    const task = own.world.tasks.get("library-34")!;
    await press(page, "r");
    await sees(page, w.planChanges);
    // The safe answer has the focus: Enter changes nothing.
    const lanes = task.lanes.length;
    await press(page, "Enter");
    await closed(page);
    assert.equal(task.lanes.length, lanes);

    await press(page, "r");
    await sees(page, w.planChanges);
    await tabTo(page, w.scopeState);
    await press(page, "ArrowDown");
    await until("the scope", async () => (await focused(page)) === w.scopeAll);
    await tabTo(page, w.folder);
    await page.keyboard.type("/srv/desk");
    await press(page, "Tab");
    await sees(page, w.planOverwrites("2"));
    await sees(page, w.planDeletes("1"));
    await sees(page, w.chooseEach);
    await tabTo(page, w.keepMine);
    await press(page, "Space");
    await tabTo(page, w.doRollBackFiles("3"));
    await press(page, "Enter");
    await closed(page);
    const made = task.lanes.at(-1)!;
    assert.equal(task.active, made.id);
    await sees(page, w.rolledBack(`library-34/3@${made.fork}`));
    await sees(page, "restore", ".map");
    await settled(page);
    await press(page, "u");
    // The folder is that of the roll back.
    await sees(page, w.planDeletes("1"));
    await tabTo(page, w.keepMine);
    await press(page, "Space");
    await tabTo(page, w.doUndoFiles("3"));
    await press(page, "Enter");
    await until("the undo", () => task.active === 3);
  },
);

job("undoes_a_restore_with_files_by_its_plan", "#/task/stones/0@42", async (w, { page }, own) => {
  const task = own.world.tasks.get("stones")!;
  // Another program took the files back.
  const lane = fork(own.world, task, task.lanes[0]!, 42, "restore", "");
  lane.withFiles = true;
  task.active = lane.id;
  for (const tell of own.world.changed) tell(task, lane.id);
  await sees(page, "restore", ".map");
  await settled(page);
  await press(page, "u");
  await sees(page, w.undoFiles, "dialog");
  await sees(page, w.planDeletes("1"), "dialog");
  // The safe answer has the focus: Enter changes nothing.
  await press(page, "Enter");
  await closed(page);
  assert.equal(task.active, lane.id);
  await press(page, "u");
  await sees(page, w.planDeletes("1"), "dialog");
  await tabTo(page, w.folder);
  await press(page, "ArrowDown");
  await sees(page, w.planDeletes("1"), "dialog");
  await tabTo(page, w.keepMine);
  await press(page, "ArrowDown");
  await tabTo(page, w.doUndoFiles("4"));
  await press(page, "Enter");
  await until("the undo", () => task.active === 0);
  assert.deepEqual(own.world.sent.at(-1)!.body, {
    folder: "/home/ana/stones",
    choices: { theirs: ["notes/today.md"], keep_mine: [] },
  });
});

job("goes_to_an_offset_in_the_view_of_events", "#/task/library-34/0@3", async (w, { page }) => {
  const view = (name: string) => page.locator(`.list[aria-label=${name}]`).waitFor();
  await press(page, "v");
  await view(w.events);
  await press(page, ":");
  await page.keyboard.type("20");
  await press(page, "Enter");
  await closed(page);
  await until("the event", () => page.url().endsWith("/0@20?view=events"));
  await view(w.events);
  await until("the row", async () => (await selected(page)).startsWith("@20"));
  // And that of steps.
  await press(page, "v");
  await view(w.steps);
  await press(page, ":");
  await page.keyboard.type("38");
  await press(page, "Enter");
  await until("the step", () => page.url().endsWith("/0@38?view=steps"));
  await view(w.steps);
});

job("reads_the_map_over_time", "#/task/library-34/0@12", async (w, { page }, own) => {
  idle(own.world.tasks.get("library-34")!, 20, 3 * 3600 * 1e6);
  await page.reload();
  await watchHands(page);
  await page.locator(".list .row[aria-selected=true]").waitFor();
  await settled(page);
  const told = page.locator(".map .zoom");
  await tabTo(page, w.mapTime);
  await press(page, "Enter");
  await sees(page, w.mapBreaks("1"), ".map .zoom");
  await press(page, "Tab");
  assert.equal(await focused(page), w.mapCut);
  await press(page, "Space");
  await until("all times", async () => !(await told.innerText()).includes(w.mapBreaks("1")));
  await press(page, "Space");
  await sees(page, w.mapBreaks("1"), ".map .zoom");
  await tabTo(page, w.zoomIn);
  await press(page, "Enter");
  await sees(page, /@\d+/, ".map .zoom");
});

job("pauses_guides_and_resumes", "#/task/stones", async (w, { page }, own) => {
  const task = own.world.tasks.get("stones")!;
  const control = async (name: string, word: string, state: string) => {
    await press(page, "p");
    await tabTo(page, name);
    await press(page, "Enter");
    await closed(page);
    await until(state, () => task.control === state);
    await sees(page, word, "header");
  };
  await control(w.doPause, w.controlPaused, "paused");
  await press(page, "i");
  await until("the focus", async () => (await focused(page)) === w.guideText);
  await page.keyboard.type("Only the grey ones.");
  await tabTo(page, w.doGuide);
  await press(page, "Enter");
  await closed(page);
  await until("the guidance", () => {
    return task.lanes[0]!.events.at(-1)!.body?.["text"] === "Only the grey ones.";
  });
  await press(page, "i");
  await until("the focus", async () => (await focused(page)) === w.guideText);
  await tabTo(page, w.editRules);
  await page.keyboard.type("[1, 2]");
  await tabTo(page, w.editArtifacts);
  await page.keyboard.type('{"plan": null}');
  await tabTo(page, w.doGuide);
  await press(page, "Enter");
  await closed(page);
  const kinds = () => task.lanes[0]!.events.slice(-2).map((one) => one.kind);
  await until("the edits", () => kinds().join() === "rules_changed,artifacts_edited");
  await control(w.doResume, w.controlRunning, "running");
});

job("forks_with_an_edited_prompt", "#/task/library-34/2@24", async (w, { page }, own) => {
  await press(page, "f");
  await tabTo(page, w.editPrompt);
  await page.keyboard.type("Renew both loans.");
  await sees(page, "prompt_changed");
  await tabTo(page, w.doFork);
  await press(page, "Enter");
  await sees(page, w.forkDone("library-34/4"));
  const lane = own.world.tasks.get("library-34")!.lanes.at(-1)!;
  assert.equal(lane.fork, 24);
  assert.equal(lane.events.at(-1)!.body?.["prompt"], "Renew both loans.");
  await tabTo(page, w.openIt);
  await press(page, "Enter");
  await until("the new lineage", () => page.url().includes("library-34/4"));
});

job("finds_the_first_event_where_the_score_fell", "#/tasks", async (w, { page }) => {
  await press(page, "/");
  await page.keyboard.type("春雨");
  await press(page, "Enter");
  await sees(page, w.countTasks("1"), "footer");
  await settled(page);
  await press(page, "Enter");
  await sees(page, "磁盘已满", ".list");
  await settled(page);
  await press(page, "b");
  await until("the focus", async () => (await focused(page)) === w.when);
  await page.keyboard.type("/metrics/得分 < 0.3");
  await press(page, "Enter");
  await sees(page, w.whenFound("春雨/0@18"), "dialog");
  await sees(page, "/metrics/得分", "dialog .change");
  await tabTo(page, w.openThere);
  await press(page, "Enter");
  await closed(page);
  await until("the event", async () => decodeURIComponent(page.url()).includes("春雨/0@18"));
  await sees(page, "/metrics/得分", ".doc .change");
});

job("plots_fifty_lineages_and_loses_no_spike", FIFTY, async (w, { page }) => {
  for (let i = 0; i < 7; i++) await press(page, "]");
  await until("the lineage", async () => {
    return (await page.locator("aside [aria-pressed=true]").innerText()) === "tune-river/7";
  });
  await press(page, "v");
  await tabTo(page, w.copy);
  await press(page, "Enter");
  await sees(page, w.copied, ".notice");
  const text = await page.evaluate(() => navigator.clipboard.readText());
  const rows = text.split("\n").map((line) => line.split("\t"));
  assert.equal(new Set(rows.slice(1).map(([address]) => address)).size, 50);
  const spike = rows.slice(1).filter((row) => Number(row[6]) > 900);
  assert.deepEqual(
    spike.map(([address]) => address),
    ["tune-river/7"],
  );
  assert.ok((await nodes(page)) < 3_000, String(await nodes(page)));
});
