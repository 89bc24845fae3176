// Entry of the viewer of a share: the screens of the page over the file in which this script is.

import { effect } from "@preact/signals";
import { render } from "preact";
import { parsePoint } from "../address.ts";
import type { Route } from "../address.ts";
import { lineages as askLineages, me as askMe, summary as askSummary } from "../api/calls.ts";
import { setAnswerer } from "../api/link.ts";
import { stringify } from "../api/numbers.ts";
import type { Options } from "../api/link.ts";
import { banner, dialog, go, listenToAddress, me, openDialog, route, say } from "../app-state.ts";
import { Compare } from "../compare/Compare.tsx";
import { ActionsDialog } from "../dialogs/Actions.tsx";
import { KeysDialog } from "../dialogs/Keys.tsx";
import { listenToKeys, onRefusedKey, useActs } from "../keyboard.ts";
import { Metrics } from "../metrics/Metrics.tsx";
import { Task } from "../task/Task.tsx";
import { markTexts } from "../text/marks.ts";
import { language, words } from "../words/index.ts";
import { Answers } from "./answers.ts";
import { readContents } from "./contents.ts";
import type { Contents } from "./contents.ts";
import { ShareFile } from "./file.ts";
import { ShareBar } from "./ShareBar.tsx";
import { verify } from "./verification.ts";

/** Requests of which the answer fills the first screen; the verification waits for one. */
const FIRST = /\/(rows|turns|align|event)(\/|\?|$)/;
/** Wait until the verification starts, after the first rows and without any, in milliseconds. */
const AFTER_ROWS = 300;
const WITHOUT_ROWS = 5_000;

/** Lineages of a plot of metrics. */
const PLOTTED = 50;

/** Returns the route if the share has its screen, or that of its task. */
function ownRoute(now: Route, task: string): Route {
  if (now.screen === "compare" || now.screen === "metrics") return now;
  if (now.screen === "task") {
    // An address with a label or an id is resolved, and refused if it is of another task.
    const isOwn = parsePoint(now.address).task === task || now.address.includes("@");
    if (isOwn) return now;
  }
  return { screen: "task", address: task, tab: "step", pointer: "", view: "" };
}

function Screen({ task }: { task: string }) {
  const now = ownRoute(route.value, task);
  switch (now.screen) {
    case "compare":
      return <Compare route={now} />;
    case "metrics":
      return <Metrics route={now} />;
    case "task":
      return <Task route={now} />;
    default:
      return null;
  }
}

function Viewer({ task }: { task: string }) {
  useActs({
    keys: { run: () => openDialog(() => <KeysDialog />) },
    actions: { run: () => openDialog(() => <ActionsDialog />) },
  });
  return (
    <>
      <Screen task={task} />
      {dialog.value?.draw()}
    </>
  );
}

/** Returns the element that the viewer draws into. */
function box(): HTMLElement {
  const own = document.getElementById("page");
  if (own) return own;
  const made = document.createElement("div");
  made.id = "page";
  document.body.append(made);
  return made;
}

/** Lineages of a task with metrics, as addresses. */
async function plotsOf(task: string): Promise<string[]> {
  const { metrics } = await askSummary(task);
  if (Object.keys(metrics).length === 0) return [];
  const { items } = await askLineages(task);
  return items.slice(0, PLOTTED).map((one) => `${task}/${one.id}`);
}

async function start(contents: Contents): Promise<void> {
  const file = new ShareFile(contents, (id) => document.getElementById(id)?.textContent ?? null);
  const answers = new Answers(file);
  let begun = false;
  const begin = () => {
    if (begun) return;
    begun = true;
    void verify(file);
  };
  const ask = async (path: string, { method, signal }: Options) => {
    const value = await answers.answer(path, method);
    signal?.throwIfAborted();
    if (!begun && FIRST.test(path)) setTimeout(begin, AFTER_ROWS);
    return value;
  };
  const send = async (path: string, options: Options) => {
    const value = await ask(path, options);
    return new Response(typeof value === "string" ? value : stringify(value));
  };
  setAnswerer({ ask, send });
  setTimeout(begin, WITHOUT_ROWS);
  me.value = await askMe();
  effect(() => {
    const own = ownRoute(route.value, contents.task);
    if (own !== route.value) go(own, true);
  });
  banner.value = () => <ShareBar contents={contents} plots={[]} />;
  listenToAddress();
  listenToKeys();
  onRefusedKey((why) => say(why));
  render(<Viewer task={contents.task} />, box());
  const plots = await plotsOf(contents.task).catch(() => []);
  banner.value = () => <ShareBar contents={contents} plots={plots} />;
}

effect(() => {
  document.documentElement.lang = language.value === "zh" ? "zh-Hans" : "en";
});

markTexts();
const contents = readContents(document.getElementById("share")?.textContent ?? null);
if (contents) void start(contents);
else {
  const text = <main class="state">{words.value.shareUnknown}</main>;
  render(text, box());
}
