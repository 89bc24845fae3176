// A measurement: pages in contexts of their own, and the figures.

import type { Browser, CDPSession, Page } from "playwright-core";
import type { Store } from "./store.ts";

export interface Figure {
  what: string;
  bar: string;
  unit: string;
  median: number;
  values: number[];
}

/** What the pages have as `globalThis.bench`. */
export interface InPage {
  /** The longest task since it was set to 0, in milliseconds. */
  longest: number;
  /** Milliseconds from the navigation to the first frame with something that matches. */
  rows: number | null;
  /** Resolves in the frame after a condition holds, with the time since the start. */
  drawn: (holds: () => boolean, start: number) => Promise<number>;
}

export interface Opened {
  page: Page;
  devtools: CDPSession;
  /** Requests to /v1 that were answered, without streams and /v1/me, and their bytes as sent. */
  asked: { url: string; bytes: number }[];
  close: () => Promise<void>;
}

/** Runs in each page before its scripts. */
function prepare(rows: string): void {
  const drawn = (holds: () => boolean, start: number) =>
    new Promise<number>((done) => {
      const look = () => {
        if (!holds()) return false;
        watch.disconnect();
        // In a frame after the change its drawing has begun.
        requestAnimationFrame(() => done(performance.now() - start));
        return true;
      };
      const watch = new MutationObserver(look);
      const all = { subtree: true, childList: true, attributes: true, characterData: true };
      if (!look()) watch.observe(document, all);
    });
  const bench: InPage = { longest: 0, rows: null, drawn };
  Object.assign(globalThis, { bench });
  const hasRows = () => [...document.querySelectorAll(rows)].some((one) => one.textContent !== "");
  void drawn(hasRows, 0).then((ms) => (bench.rows = ms));
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) bench.longest = Math.max(bench.longest, one.duration);
  }).observe({ entryTypes: ["longtask"] });
}

/** Rows of the table of tasks, of steps, and of events. */
const ROWS = ".list .row [role=gridcell], .list .row .l1, .list .row .m";

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export class Bench {
  readonly #figures = new Map<string, Figure>();

  constructor(
    readonly browser: Browser,
    readonly store: Store,
    readonly folder: string,
  ) {}

  get version(): string {
    return this.browser.version();
  }

  /** Opens an address with an empty cache. */
  async open(url: string, rows = ROWS): Promise<Opened> {
    const viewport = { width: 1440, height: 900 };
    const context = await this.browser.newContext({ viewport, locale: "en-US" });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await page.addInitScript(prepare, rows);
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.enable");
    const asked: Opened["asked"] = [];
    const urls = new Map<string, string>();
    devtools.on("Network.responseReceived", ({ requestId, response }) => {
      const { pathname } = new URL(response.url);
      const isStream = response.mimeType === "text/event-stream";
      if (!pathname.startsWith("/v1/") || pathname === "/v1/me" || isStream) return;
      urls.set(requestId, response.url);
    });
    devtools.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      const url = urls.get(requestId);
      if (url) asked.push({ url, bytes: encodedDataLength });
    });
    await page.goto(url);
    return { page, devtools, asked, close: () => context.close() };
  }

  async screen(fragment: string): Promise<Opened> {
    return this.open(`${this.store.url}/${fragment}`);
  }

  /** Milliseconds from the navigation to the first rows. */
  async rows(page: Page): Promise<number> {
    const found = await page.waitForFunction(() => {
      return (globalThis as unknown as { bench: InPage }).bench.rows;
    });
    return (await found.jsonValue())!;
  }

  /** Counts elements, on whatever screen is open. */
  async nodes(page: Page): Promise<void> {
    const count = await page.evaluate(() => document.querySelectorAll("*").length);
    this.most("DOM nodes, at most", "3,000", "", count);
  }

  async longest(page: Page): Promise<number> {
    return page.evaluate(() => (globalThis as unknown as { bench: InPage }).bench.longest);
  }

  add(what: string, bar: string, unit: string, value: number): void {
    const figure = this.#figures.get(what) ?? { what, bar, unit, median: 0, values: [] };
    figure.values.push(Math.round(value * 10) / 10);
    figure.median = quantile(figure.values, 0.5);
    this.#figures.set(what, figure);
  }

  /** Adds a figure of which the largest value counts. */
  most(what: string, bar: string, unit: string, value: number): void {
    const before = this.#figures.get(what)?.values[0] ?? value;
    const largest = Math.max(before, value);
    this.#figures.set(what, { what, bar, unit, median: largest, values: [largest] });
  }

  figures(): Figure[] {
    return [...this.#figures.values()];
  }
}

/** Bytes that the scripts of a page hold, after a collection. */
export async function heap(devtools: CDPSession): Promise<number> {
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  return usedSize;
}

export const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
