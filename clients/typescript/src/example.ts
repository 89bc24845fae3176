// A run that is appended to, watched and paused, with the types of the service. `npm run check` compiles it.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Appended = components["schemas"]["AppendedForm"];

const client = createClient<paths>({
  baseUrl: "http://127.0.0.1:7733",
  headers: { Authorization: "Bearer mp_…" },
});

/** Appends what somebody said, once, however often it is asked for under the same key. */
export async function say(task: string, content: string, key: string): Promise<Appended> {
  const { data, error } = await client.POST("/v1/tasks/{task}/events", {
    params: { path: { task }, header: { "Idempotency-Key": key } },
    body: { kind: "message", body: { role: "user", content } },
  });
  if (error) {
    // Problem details: what went wrong, and what to do.
    throw new Error(`${error.title}: ${error.detail}`);
  }
  return data;
}

/** All tasks that may be seen. */
export async function* tasks(): AsyncGenerator<string> {
  let cursor: string | undefined;
  do {
    const { data, error } = await client.GET("/v1/tasks", {
      params: { query: cursor === undefined ? {} : { cursor } },
    });
    if (error) {
      throw new Error(error.detail);
    }
    for (const task of data.items) {
      yield task.id;
    }
    cursor = data.next ?? undefined;
  } while (cursor !== undefined);
}

/** Pauses a run; gives what it is then. */
export async function pause(task: string, reason: string): Promise<string> {
  const { data, error } = await client.POST("/v1/tasks/{task}/control", {
    params: { path: { task } },
    body: { to: "paused", reason },
  });
  if (error) {
    throw new Error(error.detail);
  }
  return data.control;
}
