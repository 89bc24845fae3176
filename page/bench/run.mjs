// Measures the page in Chromium: `npm run bench -- [--runs N] [--only WORD] [--seconds S]
// [--json FILE] [--share FILE.html]`. MILEPOST names the command, whose service then answers, and
// which makes the share; without it the mock answers, and there is no share. CHROMIUM names Chromium.

import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

process.chdir(join(dirname(fileURLToPath(import.meta.url)), ".."));
const out = join("out", `bench-${process.pid}`);
process.on("exit", () => rmSync(out, { recursive: true, force: true }));
await build({
  entryPoints: ["bench/main.ts"],
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  outdir: out,
  outExtension: { ".js": ".mjs" },
  logLevel: "warning",
});
await import(pathToFileURL(join(out, "main.mjs")).href);
