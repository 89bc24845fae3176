import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";

/** Imports of each module, those of types included. */
function graph(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const name of readdirSync("src", { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(name)) continue;
    const text = readFileSync(join("src", name), "utf8");
    const imports = [...text.matchAll(/ from "(\.[^"]+)"/g)];
    found.set(
      name,
      imports.map((one) => relative("src", join("src", dirname(name), one[1]!))),
    );
  }
  return found;
}

test("no module imports itself by way of others", () => {
  const modules = graph();
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (name: string, path: string[]) => {
    const at = path.indexOf(name);
    if (at >= 0) circles.push([...path.slice(at), name].join(" > "));
    if (at >= 0 || done.has(name)) return;
    for (const next of modules.get(name) ?? []) visit(next, [...path, name]);
    done.add(name);
  };
  for (const name of modules.keys()) visit(name, []);
  assert.ok(modules.size > 50);
  assert.deepEqual(circles, []);
});

test("a module has at most 450 lines", () => {
  for (const name of graph().keys()) {
    const lines = readFileSync(join("src", name), "utf8").split("\n").length;
    assert.ok(lines <= 450, `${name}: ${lines}`);
  }
});
