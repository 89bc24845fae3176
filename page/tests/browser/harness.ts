// Chromium, and the mock or the real service, for the tests in a browser.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { start } from "../mock/server.ts";
import type { Mock } from "../mock/server.ts";
import { world } from "../mock/world.ts";
import type { World } from "../mock/world.ts";

const require = createRequire(import.meta.url);

export interface Options {
  theme?: "light" | "dark";
  language?: string;
  width?: number;
  height?: number;
}

export interface Opened {
  page: Page;
  /** Errors of the page and reports of its policy. */
  errors: string[];
  /** Addresses of other hosts that the page asked for. */
  strangers: string[];
}

export class Harness {
  readonly #contexts: BrowserContext[] = [];

  private constructor(
    readonly browser: Browser,
    readonly mock: Mock,
    /** Address of the real service behind the page, if there is one. */
    readonly real: string | undefined,
  ) {}

  static async start(of: World = world(), real?: string): Promise<Harness> {
    const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    return new Harness(browser, await start(of, "built", 0, real), real);
  }

  get world(): World {
    return this.mock.world;
  }

  async open(fragment: string, options: Options = {}): Promise<Opened> {
    const context = await this.browser.newContext({
      viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
      colorScheme: options.theme ?? "light",
      locale: options.language ?? "en-US",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    this.#contexts.push(context);
    const page = await context.newPage();
    const errors: string[] = [];
    const strangers: string[] = [];
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
      const url = request.url();
      if (!url.startsWith(this.mock.url) && !url.startsWith("blob:")) strangers.push(url);
    });
    await page.goto(`${this.mock.url}/${fragment}`);
    await page.locator("header").or(page.locator("form.login")).first().waitFor();
    return { page, errors, strangers };
  }

  async end(): Promise<void> {
    await this.browser.close();
    await this.mock.close();
  }
}

/** Waits until a text is on the page. */
export async function sees(page: Page, text: string | RegExp, within = "body"): Promise<void> {
  await page.locator(within).getByText(text).first().waitFor({ timeout: 8_000 });
}

export async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** Waits until no dialog is open, so that keys reach the screen. */
export async function closed(page: Page): Promise<void> {
  await until("the dialog to close", async () => (await page.locator("dialog").count()) === 0);
}

/** Waits until a condition holds. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const end = Date.now() + 8_000;
  while (!(await holds())) {
    if (Date.now() > end) assert.fail(`${what} did not happen within 8 s`);
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
