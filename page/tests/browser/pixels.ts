// Pictures of screens, compared with files.

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

export const BLESS = process.env["MILEPOST_PAGE_BLESS"] !== undefined;

/** Part of the pixels that may differ. */
const MOST = 0.003;
/** With what the pictures were drawn. */
const DRAWN_WITH = "tests/browser/pictures/drawn-with.json";

interface DrawnWith {
  chromium: string;
  fonts: Record<string, string>;
}

/** Texts in the fonts of the page. A font that is missing is replaced by another one. */
const SAMPLES: [style: string, text: string][] = [
  ["font-family: system-ui", "Milepost"],
  ["font-family: system-ui; font-weight: bold", "Milepost"],
  ["font-family: monospace", "Milepost"],
  ["font-family: system-ui", "春雨"],
];

async function drawnWith(browser: Browser): Promise<DrawnWith> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const spans = SAMPLES.map(([style, text]) => `<span style="${style}">${text}</span>`);
  await page.setContent(spans.join(""));
  const devtools = await context.newCDPSession(page);
  await devtools.send("DOM.enable");
  await devtools.send("CSS.enable");
  const { root } = await devtools.send("DOM.getDocument");
  const of = { nodeId: root.nodeId, selector: "span" };
  const { nodeIds } = await devtools.send("DOM.querySelectorAll", of);
  const fonts: Record<string, string> = {};
  for (const [i, nodeId] of nodeIds.entries()) {
    const found = await devtools.send("CSS.getPlatformFontsForNode", { nodeId });
    fonts[SAMPLES[i]!.join(": ")] = found.fonts.map((one) => one.postScriptName).join(", ");
  }
  await context.close();
  return { chromium: browser.version(), fonts };
}

let known: Promise<string | null> | undefined;

/**
 * Why pixels are not compared: Chromium is another version than the one that drew the pictures, or
 * has other fonts. With MILEPOST_PAGE_BLESS notes what draws now.
 */
export function otherwiseDrawn(browser: Browser): Promise<string | null> {
  known ??= (async () => {
    const now = await drawnWith(browser);
    if (BLESS) {
      await mkdir(dirname(DRAWN_WITH), { recursive: true });
      await writeFile(DRAWN_WITH, `${JSON.stringify(now, null, 2)}\n`);
    }
    const then = JSON.parse(await readFile(DRAWN_WITH, "utf8")) as DrawnWith;
    const major = (version: string) => version.split(".")[0];
    if (major(now.chromium) !== major(then.chromium)) {
      return `pixels are not compared: this is Chromium ${now.chromium}, not ${then.chromium}`;
    }
    const other = Object.keys(then.fonts).filter((one) => then.fonts[one] !== now.fonts[one]);
    if (other.length === 0) return null;
    const fonts = other.map((one) => `${now.fonts[one]}, not ${then.fonts[one]}`);
    return `pixels are not compared: the fonts are others: ${fonts.join("; ")}`;
  })();
  return known;
}

/** Without transparency, packed as small as zlib can: the screens are flat, and need no filter. */
const PACKED = { colorType: 2, deflateLevel: 9, deflateStrategy: 0, filterType: 0 } as const;

/**
 * Fails if more than 0.3 % of the pixels differ from the picture in the file. With
 * MILEPOST_PAGE_BLESS writes it, unless it is the same already.
 */
export async function assertLooks(page: Page, file: string): Promise<void> {
  const now = PNG.sync.read(await page.screenshot({ animations: "disabled" }));
  const bytes = await readFile(file).catch((error: unknown) => {
    if (BLESS) return null;
    throw error;
  });
  const then = bytes && PNG.sync.read(bytes);
  if (BLESS) {
    if (then && then.data.equals(now.data)) return;
    await mkdir(dirname(file), { recursive: true });
    return writeFile(file, PNG.sync.write(now, PACKED));
  }
  assert.deepEqual([now.width, now.height], [then!.width, then!.height], file);
  const { width, height } = now;
  const apart = new PNG({ width, height });
  const count = pixelmatch(then!.data, now.data, apart.data, width, height);
  if (count <= MOST * width * height) return;
  const name = join(tmpdir(), "milepost-pictures", basename(file, ".png"));
  await mkdir(dirname(name), { recursive: true });
  await writeFile(`${name}.now.png`, PNG.sync.write(now));
  await writeFile(`${name}.apart.png`, PNG.sync.write(apart));
  const part = ((100 * count) / (width * height)).toFixed(2);
  assert.fail(`${file}: ${part} % of the pixels differ: ${name}.now.png, ${name}.apart.png`);
}
