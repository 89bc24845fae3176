// Runs the blocks of docs/TYPESCRIPT.md in order, as one program, with the modules as they are built.
// Its path is the argument.

import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { start } from "../out/test/milepost.js";

const page = await readFile(process.argv[2], "utf8");
const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
const path = join(import.meta.dirname, "..", "out", "page.mjs");
const milepost = await start();
try {
  await writeFile(path, blocks.join("\n"));
  process.env.MILEPOST_SERVER = milepost.baseUrl;
  process.env.MILEPOST_TOKEN = milepost.token;
  await import(path);
} finally {
  await milepost.stop();
  await rm(path);
}
