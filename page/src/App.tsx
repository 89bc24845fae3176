// The page: login, the screen of the address, and the dialog above it.

import { effect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { me as askMe } from "./api/calls.ts";
import { loginNeeded, revived } from "./api/link.ts";
import { Problem } from "./api/problem.ts";
import { dialog, me, openDialog, route } from "./app-state.ts";
import { Compare } from "./compare/Compare.tsx";
import { ActionsDialog } from "./dialogs/Actions.tsx";
import { KeysDialog } from "./dialogs/Keys.tsx";
import { useActs } from "./keyboard.ts";
import { Login } from "./Login.tsx";
import { Metrics } from "./metrics/Metrics.tsx";
import { Frame } from "./parts/Frame.tsx";
import { Store } from "./store/Store.tsx";
import { Task } from "./task/Task.tsx";
import { Tasks } from "./tasks/Tasks.tsx";
import { language, words } from "./words/index.ts";

function Screen() {
  const now = route.value;
  switch (now.screen) {
    case "tasks":
      return <Tasks route={now} />;
    case "task":
      return <Task route={now} />;
    case "compare":
      return <Compare route={now} />;
    case "metrics":
      return <Metrics route={now} />;
    case "store":
      return <Store />;
    case "unknown":
      return (
        <Frame title="" head={<h1>{words.value.unknownAddress}</h1>} keys={[]}>
          <main class="state">
            <code>{now.text}</code>
          </main>
        </Frame>
      );
  }
}

/** Asks who the caller is, again after each login and each return of the service. */
function useMe(): boolean {
  const [asked, setAsked] = useState(false);
  const life = revived.value;
  const needed = loginNeeded.value;
  useEffect(() => {
    if (needed) return;
    askMe().then(
      (answer) => {
        me.value = answer;
        setAsked(true);
      },
      (error: unknown) => {
        if (error instanceof Problem && error.status === 401) me.value = null;
        setAsked(true);
      },
    );
  }, [life, needed]);
  return asked;
}

effect(() => {
  document.documentElement.lang = language.value === "zh" ? "zh-Hans" : "en";
});

export function App() {
  const asked = useMe();
  useActs({
    keys: { run: () => openDialog(() => <KeysDialog />) },
    actions: { run: () => openDialog(() => <ActionsDialog />) },
  });
  if (loginNeeded.value) return <Login />;
  if (!asked) return null;
  return (
    <>
      <Screen />
      {dialog.value?.draw()}
    </>
  );
}
