// A timer that ends with its component.

import { useEffect, useState } from "preact/hooks";

export interface Delay {
  /** Runs this once `ms` have passed without another call; never after the component is gone. */
  later: (run: () => void) => void;
  /** Drops the delayed work. */
  forget: () => void;
}

/** Delays work until keys rest. Work of a component that is gone would revert what a newer key did. */
export function useDelay(ms: number): Delay {
  const [delay] = useState(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const forget = () => clearTimeout(timer);
    const later = (run: () => void) => {
      forget();
      timer = setTimeout(run, ms);
    };
    return { later, forget };
  });
  useEffect(() => delay.forget, [delay]);
  return delay;
}
