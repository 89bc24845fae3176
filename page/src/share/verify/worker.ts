// The worker that verifies an export: it takes lines in parts, and answers with counts, and with
// the verdict at last. Then it has the hashes.

import { Verifier } from "./verifier.ts";
import type { Verdict } from "./verifier.ts";

/** Lines without their line ends, in order; then the end; then places of hashes. */
export type ToVerify = { lines: string[] } | { end: true } | { lineage: number; offset: number };
/** An answer to each message. */
export type Verified =
  | { progress: number; events: number }
  | { verdict: Verdict }
  | { hash: string };

const verifier = new Verifier();
const answer = (message: Verified) => postMessage(message);

onmessage = ({ data }: MessageEvent<ToVerify>) => {
  if ("offset" in data) return answer({ hash: verifier.hashAt(data.lineage, data.offset) });
  if ("end" in data) return answer({ verdict: verifier.end() });
  for (const line of data.lines) verifier.line(line);
  answer({ progress: verifier.bytes, events: verifier.events });
};
