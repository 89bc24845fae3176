import "./browser-globals.ts";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const { KEYS, actOf, keyOf, shown } = await import("../../src/keys.ts");
const { en } = await import("../../src/words/en.ts");
const { zh } = await import("../../src/words/zh.ts");

/** Rows of the table in docs/PAGE.md, as `keys: what they do`. */
async function documented(): Promise<string[]> {
  const text = await readFile("../docs/PAGE.md", "utf8");
  const section = text.split("\n## Keys\n")[1]!.split("\n## ")[0]!;
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => {
    const [, keys, does] = row.split(/(?<!\\) ?\| ?/);
    const names = [...keys!.matchAll(/`([^`]+)`/g)].map((found) => found[1]!);
    const all = keys!.includes(" to ") ? ["1", "2", "3", "4", "5"] : names;
    return `${all.join(" ")}: ${does}`;
  });
}

test("the table of keys is that of docs/PAGE.md", async () => {
  const own = KEYS.map((row) => `${row.keys.map(shown).join(" ")}: ${en[row.word]}`);
  assert.deepEqual(own, await documented());
});

test("each key has one meaning, each action a key", () => {
  const keys = KEYS.flatMap((row) => row.keys);
  assert.equal(new Set(keys).size, keys.length);
  for (const row of KEYS) {
    for (const act of row.acts) assert.notEqual(keyOf(act), "");
  }
  assert.equal(actOf("ArrowDown"), "down");
  assert.equal(actOf("q"), undefined);
});

test("both languages have the same words, and none is empty", () => {
  const names = Object.keys(en).sort();
  assert.deepEqual(Object.keys(zh).sort(), names);
  for (const name of names) {
    const [one, other] = [en[name as keyof typeof en], zh[name as keyof typeof zh]];
    assert.equal(typeof one, typeof other, name);
    if (typeof other === "string") assert.notEqual(other, "", name);
    else assert.notEqual(String(Reflect.apply(other, null, ["1", "2"])), "", name);
  }
});

test("numbers take the plural that they ask for", () => {
  assert.equal(en.countTurns("1"), "1 turn");
  assert.equal(en.countTurns("1,200"), "1,200 turns");
});
