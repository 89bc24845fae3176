// What a component does once keys have rested for a moment.

import { useEffect, useState } from "preact/hooks";

export interface Delay {
  /** Runs this once `ms` have passed without another call; never after the component is gone. */
  later: (run: () => void) => void;
  /** Forgets what waits. */
  forget: () => void;
}

/** What waits when its component goes is forgotten: it would take back the key that came since. */
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
