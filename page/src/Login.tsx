// Login with a token. The address stays, so that the person returns to where they were.

import { useState } from "preact/hooks";
import { login } from "./api/sessions.ts";
import { keepSession } from "./api/http.ts";
import { loginNeeded, revived } from "./api/link.ts";
import { Problem } from "./api/problem.ts";
import { notice } from "./app-state.ts";
import { language, setLanguage, words } from "./words/index.ts";

export function Login() {
  const w = words.value;
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState(notice.value?.text ?? "");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    keepSession(null);
    try {
      await login({ token: token.trim() });
      loginNeeded.value = false;
      revived.value += 1;
    } catch (error) {
      const refused = error instanceof Problem && error.status === 401;
      setWrong(refused ? w.tokenFailed : error instanceof Problem ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main>
      <form class="login" onSubmit={(event) => void submit(event)}>
        <h1>Milepost · {w.login}</h1>
        <p class="dim">{w.loginHow}</p>
        <label class="field">
          <span>{w.token}</span>
          <input
            type="password"
            autoComplete="current-password"
            spellcheck={false}
            required
            autoFocus
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        {wrong && (
          <p class="bad" role="alert">
            {wrong}
          </p>
        )}
        <button class="main" disabled={busy}>
          {w.login}
        </button>
        <p class="dim">{w.loginStays}</p>
        <button
          type="button"
          class="link"
          onClick={() => setLanguage(language.value === "en" ? "zh" : "en")}
        >
          {w.otherLanguage}
        </button>
      </form>
    </main>
  );
}
