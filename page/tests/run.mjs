// Runs the tests: `unit`, or `browser`, or `serve` for a look by hand. esbuild turns the
// TypeScript of the tests into JavaScript.

import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const what = process.argv[2] ?? "unit";
const out = join(here, "..", "out", what);
rmSync(out, { recursive: true, force: true });
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
const built = readdirSync(out)
  .filter((name) => name.endsWith(".mjs"))
  .map((name) => join(out, name));
if (what === "serve") await import(pathToFileURL(built[0]).href);
else {
  const only = process.argv[3] ? [`--test-name-pattern=${process.argv[3]}`] : [];
  const args = ["--test", "--test-reporter=spec", "--test-timeout=400000", ...only, ...built];
  process.exit(spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1);
}
