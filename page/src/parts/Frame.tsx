// Frame of a screen: head, what is below it, foot; bars of the connection.

import type { ComponentChildren } from "preact";
import { link } from "../api/link.ts";
import { formatRoute, TASKS } from "../address.ts";
import { banner, go, isShare, me, notice, route, told } from "../app-state.ts";
import { clock } from "../format.ts";
import { actionOf } from "../keyboard.ts";
import type { Act } from "../keys.ts";
import { language, setLanguage, words } from "../words/index.ts";
import { Key } from "./ui.tsx";

interface FrameProps {
  /** What the head shows after the way to the tasks. */
  head: ComponentChildren;
  /** Buttons at the right of the head. */
  buttons?: ComponentChildren;
  /** Left of the foot, before the keys. */
  foot?: ComponentChildren;
  keys: readonly [Act, Act | null, string][];
  /** Right of the foot. */
  end?: ComponentChildren;
  top?: boolean;
  children: ComponentChildren;
}

function openActions(act: Act): void {
  actionOf(act)?.run();
}

export function Frame(props: FrameProps) {
  const w = words.value;
  const lost = link.value.state === "lost" ? link.value.since : null;
  return (
    <>
      <header>
        {props.top ? (
          <h1>Milepost</h1>
        ) : isShare() && route.value.screen === "task" ? null : (
          <>
            <a
              href={formatRoute(TASKS)}
              onClick={(event) => {
                event.preventDefault();
                if (history.state === null && history.length > 1 && cameFromTasks()) history.back();
                else go(TASKS);
              }}
            >
              {isShare() ? w.task : w.tasks}
            </a>
            <span class="dim" aria-hidden="true">
              /
            </span>
          </>
        )}
        {props.head}
        <span class="gap" />
        {props.buttons}
        <button
          type="button"
          class="narrow-hide"
          lang={language.value === "en" ? "zh" : "en"}
          onClick={() => setLanguage(language.value === "en" ? "zh" : "en")}
        >
          {w.otherLanguage}
        </button>
        <button type="button" aria-label={w.actions} onClick={() => openActions("actions")}>
          .
        </button>
        <button type="button" aria-label={w.keysTitle} onClick={() => openActions("keys")}>
          ?
        </button>
      </header>
      {banner.value?.()}
      {lost !== null && (
        <div class="bar bad" role="alert">
          {w.lostLink(clock(lost))}
        </div>
      )}
      {props.children}
      <footer>
        {props.foot}
        {props.keys.map(([one, other, name]) => (
          <span class="hint">
            <Key act={one} />
            {other && <Key act={other} />} {name}
          </span>
        ))}
        <span class="gap" />
        {me.value?.read_only && <span class="warn">{w.readOnly}</span>}
        {props.end}
      </footer>
      <div class={`notice ${notice.value?.bad ? "bad" : ""}`} role="status">
        {notice.value?.text}
      </div>
      <div class="hidden" aria-live="polite">
        {told.value}
      </div>
    </>
  );
}

let tasksBefore = false;

/** Notes whether the entry before this one in the history is the list of tasks. */
export function noteFromTasks(yes: boolean): void {
  tasksBefore = yes;
}

function cameFromTasks(): boolean {
  return tasksBefore;
}
