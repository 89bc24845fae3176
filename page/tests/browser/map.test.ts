// The map of the lineages: its parts, and its axis of times.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { Harness, assertAccessible, nodes, press, sees, settled, test, until } from "./harness.ts";
import { idle, world } from "../mock/world.ts";

let harness: Harness;
before(async () => (harness = await Harness.start(world(0))));
after(() => harness.end());

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
