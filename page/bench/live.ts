// A run that appends a thousand events a second.

import type { Bench, InPage } from "./bench.ts";
import { heap, quantile, sleep } from "./bench.ts";
import { stepOf } from "./store.ts";

/** Steps of five events in an append, and milliseconds between appends. */
const STEPS = 10;
const GAP = 50;
/** When the heap is measured first, in milliseconds. */
const WARM = 10_000;

/** Appends 50 events every 50 ms, to which the service adds a mark. Sent is when the append returned, seen the frame in which the
 * number of events above the list has them. The heap is measured after a collection. */
export async function live(bench: Bench, seconds: number): Promise<void> {
  const { page, devtools, close } = await bench.screen("#/task/live");
  await bench.rows(page);
  await page.getByText("live", { exact: true }).first().waitFor();
  await sleep(1_000);
  const before = await page.evaluate(() => {
    const number = () => {
      const text = document.querySelector(".list-head")!.textContent ?? "";
      return Number(/([\d,]+) events?/.exec(text)![1]!.replaceAll(",", ""));
    };
    const { bench } = globalThis as unknown as { bench: InPage };
    bench.longest = 0;
    const seen: [time: number, events: number][] = [];
    Object.assign(globalThis, { seen });
    const note = () => {
      const events = number();
      requestAnimationFrame(() => seen.push([Date.now(), events]));
    };
    const all = { subtree: true, childList: true, characterData: true };
    new MutationObserver(note).observe(document.querySelector(".list-head")!, all);
    return number();
  });
  let step = 1;
  let total = before;
  let warm = 0;
  const sent: [time: number, events: number][] = [];
  const start = Date.now();
  for (let tick = 0; Date.now() - start < seconds * 1000; tick++) {
    const bodies = [];
    for (let i = 0; i < STEPS; i++) bodies.push(...stepOf((step += 1)));
    total = await bench.store.append(bodies);
    sent.push([Date.now(), total]);
    if (warm === 0 && Date.now() - start > WARM) warm = await heap(devtools);
    await sleep(Math.max(0, start + (tick + 1) * GAP - Date.now()));
  }
  const rate = (total - before) / ((Date.now() - start) / 1000);
  await page
    .waitForFunction((total) => {
      const { seen } = globalThis as unknown as { seen: [number, number][] };
      return (seen.at(-1)?.[1] ?? 0) >= total;
    }, total, { timeout: 30_000 })
    .catch(() => null);
  const longest = await bench.longest(page);
  const end = await heap(devtools);
  const seen = await page.evaluate(() => (globalThis as unknown as { seen: [number, number][] }).seen);
  const late = sent.map(([time, events]) => {
    const when = seen.find((one) => one[1] >= events)?.[0] ?? Number.POSITIVE_INFINITY;
    return Math.max(0, when - time);
  });
  bench.add(`live, ${seconds} s: events a second`, "1,000", "/s", rate);
  bench.add("live: events that are missing", "0", "", total - (seen.at(-1)?.[1] ?? 0));
  bench.add("live: sent to seen, p95", "250 ms", "ms", quantile(late, 0.95));
  bench.add("live: longest task", "50 ms", "ms", longest);
  bench.add("live: heap after 10 s", "", "MB", warm / 1e6);
  bench.add("live: heap at the end", "as after 10 s", "MB", end / 1e6);
  await bench.nodes(page);
  await close();
}
