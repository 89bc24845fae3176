// Readings of a history that the service has not read as a whole yet.

import type { Progress } from "./types.ts";

/** Pause after an answer that read no further, and the number of such answers that is the end. */
const PAUSE = 250;
const IDLE = 20;

export const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Asks again until the service has read all events, or reads no further. */
export async function readWhole<T>(
  load: () => Promise<T>,
  parts: (found: T) => readonly Progress[],
  wait = PAUSE,
): Promise<T> {
  let last = -1;
  for (let idle = 0; ;) {
    const found = await load();
    const read = parts(found).reduce((sum, one) => sum + one.read, 0);
    idle = read > last ? 0 : idle + 1;
    last = Math.max(last, read);
    if (idle === IDLE || parts(found).every((one) => one.read >= one.head)) {
      return found;
    }
    if (idle > 0) await pause(wait);
  }
}
