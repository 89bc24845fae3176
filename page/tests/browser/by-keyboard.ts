// What tests by keyboard alone need.

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { press } from "./harness.ts";

/** Notes each use of a mouse, and counts the keys that are pressed. */
export async function watchHands(page: Page): Promise<void> {
  await page.evaluate(() => {
    const { dataset } = document.documentElement;
    dataset["keys"] = "0";
    const used = () => (dataset["mouse"] = "used");
    const pressed = () => (dataset["keys"] = String(Number(dataset["keys"]) + 1));
    document.addEventListener("pointerdown", used, true);
    document.addEventListener("keydown", pressed, true);
  });
}

/** Returns how many keys were pressed. Fails if a mouse was used. */
export async function keysPressed(page: Page): Promise<number> {
  assert.equal(await page.getAttribute("html", "data-mouse"), null);
  return Number(await page.getAttribute("html", "data-keys"));
}

/** Name of the control that has the focus: its label, or its text. */
export function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const at = document.activeElement;
    if (!at || at === document.body) return "";
    // The label of a select has the select in it, with the names of its options.
    if (at instanceof HTMLSelectElement) return at.labels[0]?.firstChild?.textContent ?? "";
    const label = at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement;
    const text = label ? at.labels?.[0]?.textContent : at.textContent;
    return (at.getAttribute("aria-label") ?? text ?? "").trim();
  });
}

/** Presses Tab until a control with this name has the focus. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = [];
  for (let i = 0; i < 120; i++) {
    const at = await focused(page);
    if (at === name) return;
    passed.push(at.slice(0, 40));
    await press(page, "Tab");
  }
  assert.fail(`Tab does not reach ${name}: ${passed.join(" | ")}`);
}

export const selected = (page: Page) => page.locator(".list .row[aria-selected=true]").innerText();
