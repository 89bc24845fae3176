import assert from "node:assert/strict";
import { after, before } from "node:test";
import type { Page } from "playwright-core";
import { Harness, assertAccessible, closed, press, sees, settled, test, until } from "./harness.ts";
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

/** Controls that lie outside of the window and that no scrolling brings in. */
function outside(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    // The head is fitted when its size was seen to change.
    for (let i = 0; i < 2; i++) {
      await new Promise<void>((done) => requestAnimationFrame(() => setTimeout(done)));
    }
    const scrolls = (of: Element | null): boolean => {
      if (!of || of === document.body) return false;
      const { left, right } = of.getBoundingClientRect();
      const isScrolled = /auto|scroll/.test(getComputedStyle(of).overflowX);
      return (isScrolled && left > -1 && right < innerWidth + 1) || scrolls(of.parentElement);
    };
    const all = "button, a, select, input, textarea, summary, [role=tab], [role=separator]";
    return [...document.querySelectorAll(all)]
      .filter((one) => {
        const { left, right, width } = one.getBoundingClientRect();
        return width > 0 && (right > innerWidth + 1 || left < -1) && !scrolls(one.parentElement);
      })
      .map((one) => `${one.tagName} ${one.getAttribute("aria-label") ?? one.textContent}`);
  });
}

/** Screens that have a head, a dialog or panes of their own. */
const WIDTHS =
  /^(tasks|task|task, (state|files|raw)|compare|compare, (four|many)|metrics|store|actions|fork)$/;

for (const [name, fragment, text, keys] of SCREENS.filter(([name]) => WIDTHS.test(name))) {
  test(`nothing_that_can_be_clicked_is_outside_of_the_window: ${name}`, async () => {
    const { page } = await harness.open(fragment);
    if (keys) {
      await ready(page);
      await press(page, ...keys);
    }
    await sees(page, text);
    await settled(page);
    const found: string[] = [];
    for (let width = 320; width <= 1440; width += 20) {
      await page.setViewportSize({ width, height: 700 });
      for (const one of await outside(page)) found.push(`${width}: ${one}`);
    }
    assert.deepEqual(found, []);
  });
}

test("what_does_not_fit_into_the_head_is_in_the_list_of_actions", async () => {
  const { page, errors } = await harness.open("#/metrics?at=tune-river/0", { width: 320 });
  await page.locator(".charts canvas").first().waitFor();
  await settled(page);
  assert.equal(await page.locator("header").getByLabel("x axis").isVisible(), false);
  await page.getByRole("button", { name: "actions" }).click();
  await page.getByRole("dialog").getByLabel("x axis").selectOption("offset");
  await until("the axis", () => page.url().includes("x=offset"));
  await press(page, "Escape");
  await closed(page);
  await page.setViewportSize({ width: 1440, height: 700 });
  await page.locator("header").getByLabel("x axis").waitFor();
  assert.deepEqual(errors, []);
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
