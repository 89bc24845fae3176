// Border between list and reading pane, moved by mouse and arrows.

import { set, settings } from "../settings.ts";
import { words } from "../words/index.ts";

const clamp = (value: number) => Math.max(20, Math.min(75, Math.round(value)));

export function Splitter() {
  const move = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).parentElement!.getBoundingClientRect();
    if (event.buttons !== 1) return;
    set({ split: clamp(((event.clientX - box.left) / box.width) * 100) });
  };
  return (
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={words.value.splitter}
      aria-valuenow={settings.value.split}
      aria-valuemin={20}
      aria-valuemax={75}
      tabIndex={0}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={move}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        set({ split: clamp(settings.value.split + step) });
      }}
    />
  );
}
