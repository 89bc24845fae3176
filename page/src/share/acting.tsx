// In a share, what stands in place of `task/acting.tsx`: no action is there, and each key says why.

import type { Acts } from "../keyboard.ts";
import type { Ticks } from "../metrics/ticks.tsx";
import type { Live } from "../task/live.ts";
import type { Zoom, ZoomRequest } from "../task/zoom.tsx";
import { words } from "../words/index.ts";

export function FilesTab(_: unknown) {
  return <div class="state dim">{words.value.shareNoFiles}</div>;
}

export const FilesApart = FilesTab;

export const ManyApart = null;

const STILL: Live = { on: false, told: 0, move: null, dismiss: () => {} };

export const useLive = (..._: unknown[]): Live => STILL;

export const useTicks = (..._: unknown[]): Ticks | null => null;

export const useZoom = ({ most, bucketsOf }: ZoomRequest): Zoom => {
  return {
    share: (_, offset) => offset / most,
    offsetAt: (_, share) => share * most,
    bucketsOf,
    drag: {},
    hasDragged: () => false,
    drawn: () => null,
    controls: null,
  };
};

export function openFork(_: unknown): void {}

export const openFirstWhere = null;

const CHANGES = ["fork", "rollBack", "undo", "pause", "guide", "mark", "pin", "share"] as const;

export function actingOn(_: unknown): Acts {
  const { shareHasNot, shareWhy } = words.value;
  const none = { run: () => {}, why: shareHasNot };
  const acts: Acts = { checkpoints: none, firstWhere: none };
  for (const act of CHANGES) acts[act] = { run: () => {}, why: shareWhy };
  return acts;
}
