// The store, for admins: readiness, numbers, verification, anchor.

import { useState } from "preact/hooks";
import { anchor, ready, stats, verify } from "../api/calls.ts";
import { TASKS } from "../address.ts";
import { go, me } from "../app-state.ts";
import { JsonTree } from "../parts/JsonTree.tsx";
import { Frame } from "../parts/Frame.tsx";
import { useActs } from "../keyboard.ts";
import { copy, Copy, Fact, ProblemBox, Waiting } from "../parts/ui.tsx";
import { toProblem, useAsk } from "../use-ask.ts";
import type { Problem } from "../api/problem.ts";
import { words } from "../words/index.ts";

type Verified = Awaited<ReturnType<typeof verify>>;

function Verify() {
  const w = words.value;
  const [state, setState] = useState<"" | "runs">("");
  const [found, setFound] = useState<Verified | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const run = async () => {
    setState("runs");
    setProblem(null);
    try {
      setFound(await verify());
    } catch (error) {
      setProblem(toProblem(error));
    }
    setState("");
  };
  return (
    <section>
      <h2 class="sub">{w.verify}</h2>
      <button type="button" disabled={state === "runs"} onClick={() => void run()}>
        {state === "runs" ? w.verifyRuns : w.verify}
      </button>
      {problem && <ProblemBox problem={problem} />}
      {found && (
        <p role="status" class={found.ok ? "ok" : "bad"}>
          {found.ok ? `✓ ${w.verifyOk}` : `✗ ${w.verifyFaults(String(found.faults.length))}`}
        </p>
      )}
      {found?.faults.map((fault) => (
        <div class="m bad">
          {fault.place}: {fault.message}
        </div>
      ))}
    </section>
  );
}

function Anchor() {
  const w = words.value;
  const asked = useAsk("anchor", anchor);
  return (
    <section>
      <h2 class="sub">{w.anchor}</h2>
      <p class="dim">{w.anchorHow}</p>
      {asked.value !== null ? (
        <>
          <button type="button" onClick={() => void copy(asked.value!)}>
            {w.copyAnchor}
          </button>
          <pre tabIndex={0}>{asked.value}</pre>
        </>
      ) : (
        <Waiting of={asked} what={w.anchor} />
      )}
    </section>
  );
}

export function Store() {
  const w = words.value;
  const who = me.value;
  const state = useAsk("ready", ready);
  const numbers = useAsk("stats", stats);
  const [chosen, choose] = useState("");
  useActs({ leave: () => go(TASKS) });
  return (
    <Frame title={w.store} head={<h1>{w.store}</h1>} keys={[["leave", null, w.keyLeave]]}>
      <main class="doc" tabIndex={0} aria-label={w.store}>
        <dl>
          <Fact name={w.storeId}>
            {who && (
              <>
                <code>{who.store.id}</code> <Copy text={who.store.id} />
              </>
            )}
          </Fact>
          <Fact name={w.version}>{who?.version}</Fact>
          <Fact name={w.keyed}>{who && (who.store.keyed ? w.yes : w.no)}</Fact>
          <Fact name={w.readOnly}>{who && (who.read_only ? w.yes : w.no)}</Fact>
          <Fact name={w.readiness}>
            {state.problem ? <span class="bad">{state.problem.message}</span> : state.value?.trim()}
          </Fact>
        </dl>
        <h2 class="sub">{w.statistics}</h2>
        {numbers.value !== null ? (
          <JsonTree value={numbers.value} pointer="" chosen={chosen} choose={choose} open={3} />
        ) : (
          <Waiting of={numbers} what={w.statistics} />
        )}
        {who && !who.admin ? (
          <p class="dim">{w.adminsOnly}</p>
        ) : (
          <>
            <Verify />
            <Anchor />
          </>
        )}
      </main>
    </Frame>
  );
}
