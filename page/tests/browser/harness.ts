// Chromium, and the mock or the real service, for the tests in a browser.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test as nodeTest } from "node:test";
import type { TestContext } from "node:test";
import { chromium } from "playwright-core";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { start } from "../mock/server.ts";
import type { Mock } from "../mock/server.ts";
import { world } from "../mock/world.ts";
import type { World } from "../mock/world.ts";

const require = createRequire(import.meta.url);

/** Longest time of a test, in milliseconds. Generous: other work may run beside the tests. */
const TEST_TIME = 120_000;
/** Longest wait for a condition, in milliseconds. */
const PATIENCE = 60_000;
/** Most characters of a screen in the message of a failure. */
const SCREEN_SHOWN = 3_000;

export interface Options {
  theme?: "light" | "dark";
  language?: string;
  width?: number;
  height?: number;
  /** Whether there is no network. */
  offline?: boolean;
  /** What the clock of the page shows, in milliseconds; the time it is unless given. */
  now?: number;
  /** Whether it stays open after the test. */
  kept?: boolean;
}

export interface Opened {
  page: Page;
  /** Errors of the page and reports of its policy. */
  errors: string[];
  /** Addresses of other hosts that the page asked for. */
  strangers: string[];
  /** All addresses that were asked for. */
  asked: string[];
}

/** One Chromium for all harnesses of a file. */
let browser: Promise<Browser> | undefined;
let users = 0;

/** Requests that are not answered yet, by page. Streams do not count. */
const waiting = new WeakMap<Page, Set<Request>>();

/** Pages that are open, with those that the test that runs has opened. */
const pages = new Set<Page>();
let own: BrowserContext[] | undefined;

/** Harnesses that the test that runs has started. */
let started: Harness[] | undefined;

/** Text of all screens that are open, for the message of a failure. */
async function screens(): Promise<string> {
  const texts = [...pages].map(async (page) => {
    const limit = new Promise<string>((done) => setTimeout(() => done("(no answer)"), 5_000));
    const text = page.evaluate(() => document.body.innerText).catch(String);
    const shown = (await Promise.race([text, limit])).replace(/\n\s*\n+/g, "\n");
    return `--- ${decodeURIComponent(page.url())}\n${shown.slice(0, SCREEN_SHOWN)}`;
  });
  return (await Promise.all(texts)).join("\n");
}

/**
 * Runs a test. A failure says what was on the screens. Contexts that the test opened are closed
 * after it.
 */
export function test(
  name: string,
  run: (t: TestContext) => Promise<void>,
  skip: string | false = false,
): void {
  void nodeTest(name, { timeout: TEST_TIME, skip }, async (t) => {
    own = [];
    started = [];
    const tell = () => void screens().then((text) => t.diagnostic(text));
    const late = setTimeout(tell, 0.9 * TEST_TIME);
    try {
      await run(t);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      throw new Error(`${text}\n${await screens()}`, { cause: error });
    } finally {
      clearTimeout(late);
      await Promise.all(own.map((context) => context.close()));
      await Promise.all(started.map((one) => one.end()));
      own = started = undefined;
    }
  });
}

export class Harness {
  #ended = false;

  private constructor(
    readonly browser: Browser,
    readonly mock: Mock,
    /** Address of the real service behind the page, if there is one. */
    readonly real: string | undefined,
  ) {}

  static async start(of: World = world(), real?: string): Promise<Harness> {
    const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
    browser ??= chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: TEST_TIME });
    users += 1;
    const made = new Harness(await browser, await start(of, "built", 0, real), real);
    started?.push(made);
    return made;
  }

  get world(): World {
    return this.mock.world;
  }

  async open(fragment: string, options: Options = {}): Promise<Opened> {
    return this.openUrl(`${this.mock.url}/${fragment}`, options);
  }

  async openUrl(url: string, options: Options = {}): Promise<Opened> {
    const context = await this.browser.newContext({
      viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
      colorScheme: options.theme ?? "light",
      locale: options.language ?? "en-US",
      timezoneId: "UTC",
      offline: options.offline ?? false,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    if (!options.kept) own?.push(context);
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    if (options.now !== undefined) await page.clock.setFixedTime(options.now);
    follow(page);
    const errors: string[] = [];
    const strangers: string[] = [];
    const asked: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("dialog", (dialog) => {
      errors.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      const text = message.text();
      const quiet = /Failed to load resource|ERR_/.test(text);
      if (message.type() === "error" && !quiet) errors.push(text);
    });
    page.on("request", (request) => {
      const to = request.url();
      asked.push(to);
      if (!to.startsWith(this.mock.url) && !to.startsWith("blob:")) strangers.push(to);
    });
    await page.goto(url);
    const screen = page.locator("header").or(page.locator("form.login")).or(page.locator("main"));
    await screen.first().waitFor();
    return { page, errors, strangers, asked };
  }

  async end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.mock.close();
    users -= 1;
    if (users > 0) return;
    browser = undefined;
    await this.browser.close();
  }
}

/** Keeps count of the requests of a page that are not answered. */
function follow(page: Page): void {
  const open = new Set<Request>();
  waiting.set(page, open);
  pages.add(page);
  page.on("close", () => pages.delete(page));
  page.on("request", (request) => {
    if (request.headers()["accept"] !== "text/event-stream") open.add(request);
  });
  page.on("requestfinished", (request) => open.delete(request));
  page.on("requestfailed", (request) => open.delete(request));
}

/**
 * Waits until all requests are answered and the page has drawn what they brought. A share asks its own file in
 * place of a service, so a part that says that it is loading counts as a request.
 */
export async function settled(page: Page): Promise<void> {
  const open = waiting.get(page)!;
  await until("the page to settle", async () => {
    if (open.size > 0) return false;
    const changes = await page.evaluate(async () => {
      let count = 0;
      const watch = new MutationObserver((found) => (count += found.length));
      const of = { subtree: true, childList: true, attributes: true, characterData: true };
      watch.observe(document, of);
      for (let i = 0; i < 3; i++) {
        await new Promise<void>((done) => requestAnimationFrame(() => setTimeout(done)));
      }
      watch.disconnect();
      return count + document.querySelectorAll(".state.dim[role=status]").length;
    });
    return changes === 0 && open.size === 0;
  });
}

/** Waits until a text is on the page. */
export async function sees(page: Page, text: string | RegExp, within = "body"): Promise<void> {
  await page.locator(within).getByText(text).first().waitFor();
}

export async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** Waits until no dialog is open, so that keys reach the screen. */
export async function closed(page: Page): Promise<void> {
  await until("the dialog to close", async () => (await page.locator("dialog").count()) === 0);
}

/** Waits until a condition holds. `seen` tells a failure what there is in its place. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  seen = () => "",
): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!(await holds())) {
    if (Date.now() > end) {
      assert.fail(`${what} did not happen within ${PATIENCE / 1000} s ${seen()}`);
    }
    await new Promise((done) => setTimeout(done, 25));
  }
}

let axe: Promise<string> | undefined;

/** Fails with each violation that axe-core finds. */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  axe ??= readFile(require.resolve("axe-core/axe.min.js"), "utf8");
  const source = await axe;
  // The policy of the page refuses inline scripts; evaluate is not one of its scripts.
  await page.evaluate(`${source}; globalThis.axe = axe; 0`);
  const found = await page.evaluate(async () => {
    type Axe = {
      run: (
        on: Document,
        options: object,
      ) => Promise<{
        violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
      }>;
    };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { axe } = globalThis as unknown as { axe: Axe };
    const result = await axe.run(document, { runOnly: tags });
    return result.violations.map((one) => {
      const node = one.nodes[0];
      return `${one.id} (${one.nodes.length}): ${node?.html.slice(0, 200)} ${node?.failureSummary}`;
    });
  });
  assert.deepEqual(found, [], name);
}

export function nodes(page: Page): Promise<number> {
  return page.evaluate(() => document.querySelectorAll("*").length);
}
