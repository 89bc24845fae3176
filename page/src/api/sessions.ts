// Sessions of this browser.

import { keepSession } from "./http.ts";
import { ask } from "./link.ts";
import type { Session } from "./types.ts";

/** Makes a session of a token or a code, and keeps it. */
export async function login(by: { token: string } | { code: string }): Promise<Session> {
  const made = await ask<Session>("/v1/sessions", {
    method: "POST",
    token: "token" in by ? by.token : "",
    body: "code" in by ? { code: by.code } : {},
  });
  keepSession(made.session);
  return made;
}

export async function logout(): Promise<void> {
  try {
    await ask<void>("/v1/sessions/current", { method: "DELETE" });
  } finally {
    keepSession(null);
  }
}
