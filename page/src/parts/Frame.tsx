// Frame of a screen: head, what is below it, foot; bars of the connection.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { link } from "../api/link.ts";
import { formatRoute, TASKS } from "../address.ts";
import { banner, go, isShare, me, notice, route, told } from "../app-state.ts";
import { clock } from "../format.ts";
import { actionOf } from "../keyboard.ts";
import type { Act } from "../keys.ts";
import { language, setLanguage, words } from "../words/index.ts";
import { plain } from "../text/plain.ts";
import { useFit } from "./fit.ts";
import type { Control } from "./fit.ts";
import { Key } from "./ui.tsx";

/** State of what is followed: nothing yet, events as they come, asked again and again, or at rest. */
export type Followed = "" | "live" | "polling" | { rests: string };

interface FrameProps {
  /** Name of the window, before that of the product. */
  title: string;
  /** What the head shows after the way to the tasks. */
  head: ComponentChildren;
  /** Controls at the right of the head; the first ones are the first that give way. */
  controls?: readonly Control[];
  /** Left of the foot, before the keys. */
  foot?: ComponentChildren;
  keys: readonly [Act, Act | null, string][];
  /** Right of the foot. */
  end?: ComponentChildren;
  followed?: Followed;
  top?: boolean;
  children: ComponentChildren;
}

function openActions(act: Act): void {
  actionOf(act)?.run();
}

/** State of the connection and of what is followed: the one place that says "live". */
function LiveSign({ of }: { of: Followed }) {
  const w = words.value;
  const lost = link.value.state === "lost";
  if (of === "" && !lost) return null;
  const name = lost ? w.disconnected : of === "live" ? w.live : typeof of === "object" ? of.rests : "";
  return (
    <span class={lost ? "bad" : of === "live" ? "ok" : "dim"}>
      <span aria-hidden="true">● </span>
      {name || w.polling}
    </span>
  );
}

export function Frame(props: FrameProps) {
  const w = words.value;
  const lost = link.value.state === "lost" ? link.value.since : null;
  const controls = props.controls ?? [];
  const head = useFit(controls);
  const { title } = props;
  useEffect(() => {
    document.title = title === "" ? "Milepost" : `${plain(title)} · Milepost`;
  }, [title]);
  return (
    <>
      <header ref={head}>
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
        {controls.map((one, i) => (
          <span data-gives={i + 3} data-control={i}>
            {one.draw()}
          </span>
        ))}
        <button
          type="button"
          data-gives={1}
          lang={language.value === "en" ? "zh" : "en"}
          onClick={() => setLanguage(language.value === "en" ? "zh" : "en")}
        >
          {w.otherLanguage}
        </button>
        <button
          type="button"
          data-gives={2}
          aria-label={w.keysTitle}
          onClick={() => openActions("keys")}
        >
          ?
        </button>
        <button type="button" aria-label={w.actions} onClick={() => openActions("actions")}>
          .
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
        <span class="hints">
          {props.keys.map(([one, other, name]) => (
            <span class="hint">
              <Key act={one} />
              {other && <Key act={other} />} {name}
            </span>
          ))}
        </span>
        {me.value?.read_only && <span class="warn">{w.readOnly}</span>}
        {props.end}
        <LiveSign of={props.followed ?? ""} />
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
