// Asking the service from a component: loading, errors, what was loaded stays.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Problem, isAbort } from "./api/problem.ts";
import { revived } from "./api/link.ts";

export interface Asked<T> {
  value: T | null;
  problem: Problem | null;
  /** Whether an answer is being waited for, for over 150 ms. */
  slow: boolean;
  /** Whether it takes over 2 s. */
  long: boolean;
  /** Time of the answer that is shown. */
  asOf: number;
  reload: () => void;
  stop: () => void;
}

/** Makes a problem of anything thrown. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(-1, { title: "Error", detail: String(error) });
}

interface Held<T> {
  key: string;
  value: T | null;
  problem: Problem | null;
  asOf: number;
}

/**
 * Asks when `key` changes, and when the service is reached again. A `key` of null asks nothing.
 * With `keep` the value of the previous key stays until the next one is there.
 */
export function useAsk<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  keep = false,
): Asked<T> {
  const [held, setHeld] = useState<Held<T>>({ key: "", value: null, problem: null, asOf: 0 });
  const [pace, setPace] = useState(0);
  const [round, setRound] = useState(0);
  const abort = useRef<AbortController | null>(null);
  const latest = useRef(load);
  latest.current = load;
  const life = revived.value;

  useEffect(() => {
    if (key === null) return;
    const control = new AbortController();
    abort.current = control;
    setPace(0);
    const slow = setTimeout(() => setPace(1), 150);
    const long = setTimeout(() => setPace(2), 2_000);
    const end = () => {
      clearTimeout(slow);
      clearTimeout(long);
    };
    latest.current(control.signal).then(
      (value) => {
        end();
        if (control.signal.aborted) return;
        setPace(-1);
        setHeld({ key, value, problem: null, asOf: Date.now() });
      },
      (error: unknown) => {
        end();
        if (control.signal.aborted && isAbort(error)) return;
        setPace(-1);
        setHeld((old) => ({
          key,
          value: old.key === key ? old.value : null,
          problem: toProblem(error),
          asOf: old.asOf,
        }));
      },
    );
    return () => {
      end();
      control.abort();
    };
  }, [key, round, life]);

  const fresh = held.key === key || keep;
  return {
    value: fresh ? held.value : null,
    problem: held.key === key ? held.problem : null,
    slow: pace >= 1,
    long: pace >= 2,
    asOf: held.asOf,
    reload: useCallback(() => setRound((n) => n + 1), []),
    stop: useCallback(() => {
      abort.current?.abort();
      setPace(-1);
    }, []),
  };
}
