// Serves the built page with the mock's store, for a look by hand.

import { start } from "./server.ts";
import { world } from "./world.ts";

const port = Number(process.env["PORT"] ?? 7790);
const mock = await start(
  world(Number(process.env["TASKS"] ?? 60)),
  "built",
  port,
  process.env["REAL"],
);
console.log(mock.url);
