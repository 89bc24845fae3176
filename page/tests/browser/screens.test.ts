import assert from "node:assert/strict";
import { after, before } from "node:test";
import type { Page } from "playwright-core";
import { Harness, assertAccessible, closed, press, sees, settled, test } from "./harness.ts";
import type { Opened } from "./harness.ts";

let harness: Harness;
before(async () => (harness = await Harness.start()));
after(() => harness.end());

const SCREENS: [name: string, fragment: string, text: string | RegExp, keys?: string[]][] = [
  ["tasks", "#/tasks", "library-34"],
  ["nothing found", "#/tasks?q=zzzz", "No task matches"],
  ["task", "#/task/library-34", "Your loan is renewed."],
  ["task, open step", "#/task/library-34/2@24", "renew_loan", ["Enter"]],
  ["task, events", "#/task/library-34?view=events", "find_loan"],
  ["task, state", "#/task/library-34/2@24?tab=state&pointer=/message_count", "who set it"],
  ["task, changes", "#/task/library-34/2@24?tab=changes", "/message_count"],
  ["task, files", "#/task/library-34?tab=files", "No folder was captured"],
  ["task, captured files", "#/task/stones/0@22?tab=files", "Changed in this step"],
  ["task, raw", "#/task/library-34/2@24?tab=raw", "step_started"],
  ["task, optimizer", "#/task/tune-river", "loss"],
  ["chinese task", "#/task/春雨", "磁盘已满"],
  ["empty task", "#/task/empty", "This task has no events yet"],
  ["no task", "#/task/nothing", "It is not there, or it is not yours"],
  ["compare", "#/compare?a=library-34/0&b=library-34/2", "only here"],
  ["compare, only", "#/compare?a=library-34/0&b=library-34/1&only=1", "also in"],
  [
    "compare, four",
    "#/compare?a=library-34/0&b=library-34/1&c=library-34/2&d=library-34/3",
    "only here",
  ],
  ["compare, files", "#/compare?a=stones/0@10&b=stones/0@42", "done.txt", ["3"]],
  ["compare, no files", "#/compare?a=library-34/0&b=library-34/2", "no folder was captured", ["3"]],
  [
    "compare, many",
    `#/compare?${[0, 1, 2, 3, 4, 5, 6].map((id) => `at=tune-river/${id}`).join("&")}`,
    "/metrics/loss",
  ],
  ["compare, nothing", "#/compare", "Choose two or more"],
  ["metrics", "#/metrics?at=tune-river/0&at=tune-river/7", "step_size"],
  ["metrics, table", "#/metrics?at=tune-river/0&metric=loss", "loss", ["v"]],
  ["store", "#/store", "Copy the anchor"],
  ["unknown", "#/nowhere", "This is no address of the page"],
  ["keys", "#/task/library-34", "next and previous turn", ["?"]],
  ["actions", "#/task/library-34", "roll back", ["."]],
  ["fork", "#/task/library-34/2@24", "Will be appended", ["f"]],
  ["roll back", "#/task/library-34/2@24", "Changes of the state", ["r"]],
  ["undo", "#/task/library-34", "becomes active again", ["u"]],
  ["pause", "#/task/stones", "The run stops at its next safe point", ["p"]],
  ["guide", "#/task/stones", "Will be appended", ["i"]],
  ["mark", "#/task/stones", "Marks a checkpoint", ["a"]],
  ["share", "#/task/library-34", "the body, or a part of it, is not in the file", ["S"]],
  ["go to", "#/task/stones", "An address, such as", [":"]],
  ["first where", "#/task/stones", "Condition", ["b"]],
];

/** Waits until keys reach what they act on: a row is selected, or a chart is drawn. */
async function ready(page: Page): Promise<void> {
  await page.locator(".list .row[aria-selected=true], .charts canvas").first().waitFor();
  await settled(page);
}

for (const theme of ["light", "dark"] as const) {
  let opened: Opened;
  for (const [name, fragment, text, keys] of SCREENS) {
    test(`no_screen_has_a_violation: ${name}, ${theme}`, async () => {
      opened ??= await harness.open("#/tasks", { theme, kept: true });
      const { page, errors, strangers } = opened;
      await page.goto(`${harness.mock.url}/${fragment}`);
      if (keys) {
        await ready(page);
        await press(page, ...keys);
      }
      await sees(page, text);
      await settled(page);
      await assertAccessible(page, `${name}, ${theme}`);
      assert.deepEqual([errors, strangers], [[], []]);
      if ((await page.locator("dialog").count()) === 0) return;
      await press(page, "Escape");
      await closed(page);
    });
  }
}

test("a_screen_of_640_pixels_needs_no_second_scroll_bar", async () => {
  const { page } = await harness.open("#/tasks", { width: 640, height: 480 });
  for (const [name, fragment] of SCREENS.filter((one) => !one[3])) {
    await page.goto(`${harness.mock.url}/${fragment}`);
    await settled(page);
    const { wide, body } = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth,
      body: document.body.scrollWidth,
    }));
    assert.ok(wide <= 640 && body <= 640, `${name}: ${wide}`);
  }
});

test("each_screen_is_there_in_chinese", async () => {
  const { page, errors } = await harness.open("#/tasks", { language: "zh-CN" });
  for (const [name, fragment] of SCREENS.filter((one) => !one[3])) {
    await page.goto(`${harness.mock.url}/${fragment}`);
    await settled(page);
    assert.equal(await page.getAttribute("html", "lang"), "zh-Hans", name);
    const head =
      (await page.locator("header").innerText()) + (await page.locator("footer").innerText());
    assert.match(head, /任务|比较|指标|存储|谱系|操作|离开|不是页面/, name);
    assert.deepEqual(errors, []);
  }
});
