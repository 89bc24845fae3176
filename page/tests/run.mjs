// Runs the tests: `unit`, or `browser`, or `serve` for a look by hand. esbuild turns the
// TypeScript of the tests into JavaScript.

import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const what = process.argv[2] ?? "unit";
// A folder of its own: two runs may go beside each other.
const out = join(here, "..", "out", `${what}-${process.pid}`);
process.on("exit", () => rmSync(out, { recursive: true, force: true }));
mkdirSync(out, { recursive: true });

const folder = join(here, what === "serve" ? "mock" : what);
const names = readdirSync(folder).filter((name) =>
  what === "serve" ? name === "serve.ts" : /\.test\.tsx?$/.test(name),
);
await build({
  entryPoints: names.map((name) => join(folder, name)),
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: out,
  outExtension: { ".js": ".mjs" },
  logLevel: "warning",
});
const word = process.argv[3];
const all = readdirSync(out).filter((name) => name.endsWith(".mjs"));
// A word is the name of a file of tests, or a part of the name of a test.
const file = all.filter((name) => name === `${word}.test.mjs`);
const built = (file.length > 0 ? file : all).map((name) => join(out, name));
if (what === "serve") await import(pathToFileURL(built[0]).href);
else {
  const only = word && file.length === 0 ? [`--test-name-pattern=${word}`] : [];
  // The time of a whole file; harness.ts has that of a test.
  const time = "--test-timeout=1800000";
  // One file for each processor; by default one processor is left alone.
  const files = `--test-concurrency=${availableParallelism()}`;
  const args = ["--test", "--test-reporter=spec", time, files, ...only, ...built];
  process.exit(spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1);
}
