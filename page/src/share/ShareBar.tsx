// Line below the head of a share: of what it is a copy, and whether it is whole.

import { go, openDialog } from "../app-state.ts";
import { count } from "../format.ts";
import { Text } from "../text/Text.tsx";
import { words } from "../words/index.ts";
import type { Contents } from "./contents.ts";
import { ShareDialog } from "./ShareDialog.tsx";
import { verification } from "./verification.ts";
import type { Verdict } from "./verify/verifier.ts";

/** Digits of a hash that are shown. */
const DIGITS = 12;

function isWhole(verdict: Verdict): boolean {
  return verdict.faults.length === 0 && verdict.faultsMore === 0 && verdict.digest;
}

function resultOf(verdict: Verdict): string {
  const w = words.value;
  const numbers = [verdict.whole, verdict.events, verdict.withheld, verdict.trusted].map(count);
  const parts = [w.checkResult(numbers[0]!, numbers[1]!, numbers[2]!, numbers[3]!)];
  const faults = verdict.faults.length + verdict.faultsMore;
  if (faults > 0) parts.unshift(w.checkFaults(count(faults)));
  else if (!verdict.digest) parts.unshift(w.checkDigest);
  if (verdict.keyed) parts.push(w.checkKeyed);
  parts.push(w.checkHead(`${verdict.head.slice(0, DIGITS)}…`));
  return parts.join("; ");
}

function Check({ contents }: { contents: Contents }) {
  const w = words.value;
  const now = verification.value;
  switch (now.state) {
    case "waiting":
      return <span class="dim">{w.checkWaits}</span>;
    case "running":
      return (
        <span class="dim">
          <progress aria-label={w.verifyRuns} value={now.events} max={contents.events} />{" "}
          {w.checkRuns(count(now.events), count(contents.events))}
        </span>
      );
    case "failed":
      return <span class="warn">{w.checkFailed}</span>;
    case "done": {
      const { verdict } = now;
      // Of a keyed store no hash was compared.
      const [tone, sign] = !isWhole(verdict)
        ? ["bad", "✗"]
        : verdict.keyed
          ? ["warn", "·"]
          : ["ok", "✓"];
      return (
        <>
          <span class={tone} role={tone === "bad" ? "alert" : undefined}>
            <span aria-hidden="true">{sign}</span> {resultOf(verdict)}
          </span>
          <span class="warn">· {w.checkRows}</span>
        </>
      );
    }
  }
}

interface BarProps {
  contents: Contents;
  /** Lineages that have metrics, as addresses. */
  plots: readonly string[];
}

export function ShareBar({ contents, plots }: BarProps) {
  const w = words.value;
  return (
    <section class="bar share" aria-label={w.shareTitle}>
      <span>
        <Text text={w.shareOf(contents.task, contents.version)} />
      </span>
      <Check contents={contents} />
      <span class="gap" />
      {plots.length > 0 && (
        <button
          type="button"
          onClick={() => go({ screen: "metrics", at: [...plots], metric: "", x: "step" })}
        >
          {w.metrics}
        </button>
      )}
      <button type="button" onClick={() => openDialog(() => <ShareDialog contents={contents} />)}>
        {w.shareDetails}
      </button>
    </section>
  );
}
