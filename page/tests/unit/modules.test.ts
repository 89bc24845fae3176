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

/** Modules that the viewer of a share has, with those that package.json chooses for it. */
function ofShare(): string[] {
  const chosen = JSON.parse(readFileSync("package.json", "utf8")) as {
    imports: Record<string, { share: string }>;
  };
  const found = new Set<string>();
  const visit = (path: string) => {
    if (found.has(path)) return;
    found.add(path);
    const text = readFileSync(path, "utf8");
    for (const [, name] of text.matchAll(/^(?:import|export) (?!type ).*from "([.#][^"]+)"/gm)) {
      const own = name!.startsWith("#") ? chosen.imports[name!]!.share : null;
      visit(own === null ? join(dirname(path), name!) : join(own));
    }
  };
  visit("src/share/main.tsx");
  return [...found];
}

test("a share has neither actions nor requests, and all words that it shows", async () => {
  const modules = ofShare();
  assert.ok(modules.length > 60);
  for (const name of ["api/http.ts", "dialogs/Fork.tsx", "words/service.ts", "tasks/Tasks.tsx"]) {
    assert.ok(!modules.includes(join("src", name)), name);
  }
  const { service } = await import("../../src/words/en-service.ts");
  const text = modules
    .filter((name) => !name.startsWith(join("src", "words")))
    .map((name) => readFileSync(name, "utf8").replace(/^import .*$/gm, ""))
    .join("\n");
  const used = Object.keys(service).filter((word) => new RegExp(`\\b${word}\\b`).test(text));
  assert.deepEqual(used, [], "belongs into words/en.ts and words/zh.ts");
});
