// Entry of the page.

import { render } from "preact";
import { parseCode } from "./address.ts";
import { App } from "./App.tsx";
import { listenToAddress, route, say } from "./app-state.ts";
import { http } from "./api/http.ts";
import { setAnswerer } from "./api/link.ts";
import { login } from "./api/sessions.ts";
import { listenToKeys, onRefusedKey } from "./keyboard.ts";
import { parseRoute } from "./address.ts";
import { markTexts } from "./text/marks.ts";
import { words } from "./words/index.ts";

/** Takes the code that `milepost ui` put into the address, and removes it from there. */
async function takeCode(): Promise<void> {
  const given = parseCode(location.hash);
  if (!given) return;
  history.replaceState(null, "", given.to);
  route.value = parseRoute(given.to);
  try {
    await login({ code: given.code });
  } catch {
    say(words.value.codeFailed, true);
  }
}

markTexts();
setAnswerer(http);
await takeCode();
listenToAddress();
listenToKeys();
onRefusedKey((why) => say(why));
render(<App />, document.getElementById("page")!);
