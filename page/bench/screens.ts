// Opening screens, scrolling, and jumping.

import { MILLION } from "../tests/mock/million.ts";
import { quantile, sleep } from "./bench.ts";
import type { Bench, InPage } from "./bench.ts";

/** How long one scrolls, in milliseconds, and by how much with each turn of the wheel. */
const SCROLLED = 10_000;
const WHEEL = 240;
const FRAME = 1000 / 60;
/** Jumps of a run. */
const JUMPS = 20;

/** Waits until nothing was asked for half a second. */
async function quiet(asked: readonly unknown[]): Promise<void> {
  for (let before = -1; before !== asked.length; ) {
    before = asked.length;
    await sleep(500);
  }
}

/** From the navigation, with an empty cache, to what Chromium reports as the first paint, and to the
 * frame after the first row. Requests are those until half a second without one. */
export async function opening(bench: Bench): Promise<void> {
  const { page, asked, close } = await bench.screen("#/task/million");
  const rows = await bench.rows(page);
  const paint = await page.evaluate(() => performance.getEntriesByName("first-paint")[0]?.startTime);
  bench.add("first paint", "300 ms", "ms", paint ?? Number.NaN);
  bench.add("first rows of a task of 10^6 events", "500 ms", "ms", rows);
  await quiet(asked);
  bench.add("requests to open it, without /v1/me", "6", "", asked.length);
  bench.add(
    "bytes of their answers",
    "250 kB",
    "kB",
    asked.reduce((sum, one) => sum + one.bytes, 0) / 1000,
  );
  await bench.nodes(page);
  await close();
}

/** A click on the head of a column, and a word in the search, until the frame after the first row is
 * another one. The search begins 120 ms after the last letter, which is within the time. */
export async function tasks(bench: Bench): Promise<void> {
  const { page, asked, close } = await bench.screen("#/tasks");
  bench.add("first rows of 10^4 tasks", "500 ms", "ms", await bench.rows(page));
  await quiet(asked);
  const act = (what: "sort" | "search") =>
    page.evaluate(async (what) => {
      const { bench } = globalThis as unknown as { bench: InPage };
      const cell = ".list .row [role=gridcell]:nth-child(2)";
      const first = () => document.querySelector(cell)?.textContent;
      const before = first();
      const start = performance.now();
      if (what === "sort") {
        // Of the columns that sort, the fourth is that of failures.
        document.querySelectorAll<HTMLElement>("[aria-sort] button")[3]!.click();
      } else {
        const input = document.querySelector<HTMLInputElement>("#search")!;
        input.value = "loan-01234";
        input.dispatchEvent(new Event("input", { bubbles: true }));
      }
      return bench.drawn(() => first() !== undefined && first() !== before, start);
    }, what);
  bench.add("10^4 tasks, sorted again", "200 ms", "ms", await act("sort"));
  await quiet(asked);
  await bench.nodes(page);
  bench.add("10^4 tasks, searched again", "200 ms", "ms", await act("search"));
  await close();
}

/** The wheel turns 60 times a second for 10 s; times between frames, and the longest task, are those
 * that the page sees. */
export async function scrolling(bench: Bench): Promise<void> {
  const { page, asked, close } = await bench.screen("#/task/million/0@500000?view=events");
  await bench.rows(page);
  await quiet(asked);
  await page.locator(".list").hover();
  await page.evaluate(() => {
    const { bench } = globalThis as unknown as { bench: InPage };
    bench.longest = 0;
    const frames: number[] = [];
    Object.assign(globalThis, { frames });
    let last = performance.now();
    const onFrame = (now: number) => {
      frames.push(now - last);
      last = now;
      requestAnimationFrame(onFrame);
    };
    requestAnimationFrame(onFrame);
  });
  const end = Date.now() + SCROLLED;
  while (Date.now() < end) {
    const next = Date.now() + FRAME;
    await page.mouse.wheel(0, WHEEL);
    await sleep(Math.max(0, next - Date.now()));
  }
  const frames = await page.evaluate(() => (globalThis as unknown as { frames: number[] }).frames);
  bench.add("scrolling 10^6 events: frame, p95", "20 ms", "ms", quantile(frames.slice(1), 0.95));
  bench.add("scrolling: longest task", "", "ms", await bench.longest(page));
  await bench.nodes(page);
  await close();
}

/** From Enter in the dialog of `:` to the frame after the turn with the offset is selected; the median
 * of 20 offsets far from each other. */
export async function jumps(bench: Bench): Promise<void> {
  const { page, asked, close } = await bench.screen("#/task/million/0@10");
  await bench.rows(page);
  await quiet(asked);
  const times = [];
  for (let i = 1; i <= JUMPS; i++) {
    const offset = (i * 619_033) % MILLION;
    await page.keyboard.press(":");
    await page.locator("dialog input").waitFor();
    await page.keyboard.type(String(offset));
    const found = page.evaluate(async (offset) => {
      const { bench } = globalThis as unknown as { bench: InPage };
      const start = await new Promise<number>((done) => {
        const onKey = () => done(performance.now());
        addEventListener("keydown", onKey, { capture: true, once: true });
      });
      const first = () => {
        const row = document.querySelector(".list .row[aria-selected=true]");
        return Number(/@(\d+)/.exec(row?.textContent ?? "")?.[1]);
      };
      // A turn has six events.
      return bench.drawn(() => first() <= offset && first() > offset - 6, start);
    }, offset);
    await sleep(100);
    await page.keyboard.press("Enter");
    times.push(await found);
    await quiet(asked);
  }
  bench.add("jump to an offset of 10^6", "150 ms", "ms", quantile(times, 0.5));
  await close();
}
