// Event streams read by fetch, since EventSource cannot send a token.

import { lost } from "./http.ts";
import { send } from "./link.ts";
import { Problem, isAbort } from "./problem.ts";

export interface Message {
  id: string;
  event: string;
  data: string;
}

/** Splits the text of an event stream into messages. */
export class Parser {
  #rest = "";
  #id = "";
  #event = "";
  #data: string[] = [];

  /** Takes a piece of the stream and returns the messages that it completes. */
  push(piece: string): Message[] {
    const messages: Message[] = [];
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (message) messages.push(message);
    }
    return messages;
  }

  #line(line: string): Message | null {
    if (line === "") {
      if (this.#data.length === 0) return null;
      const event = this.#event || "message";
      const message = { id: this.#id, event, data: this.#data.join("\n") };
      this.#event = "";
      this.#data = [];
      return message;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") this.#id = value;
    else if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    return null;
  }
}

export interface Follow {
  path: string;
  lastId?: string;
  onMessage: (message: Message) => void;
  /** Called each time the stream begins. */
  onOpen?: () => void;
  /** Called if the stream cannot be had and is not asked for again. */
  onRefused?: (problem: Problem) => void;
}

async function readOnce(follow: Follow, lastId: string | undefined, signal: AbortSignal) {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (lastId) headers["Last-Event-ID"] = lastId;
  const answer = await send(follow.path, { headers, signal });
  if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    void answer.body?.cancel();
    throw new Problem(406, {});
  }
  return answer.body!.pipeThrough(new TextDecoderStream()).getReader();
}

/** Follows a stream until `signal` aborts. Goes on after the last message when it breaks. */
export async function follow(options: Follow, signal: AbortSignal): Promise<void> {
  let last = options.lastId;
  for (let wait = 250; !signal.aborted; wait = Math.min(wait * 2, 5_000)) {
    try {
      const reader = await readOnce(options, last, signal);
      const parser = new Parser();
      options.onOpen?.();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        wait = 250;
        for (const message of parser.push(value)) {
          if (message.id) last = message.id;
          options.onMessage(message);
        }
      }
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      if (error instanceof Problem && !error.passing) return options.onRefused?.(error);
      if (!(error instanceof Problem)) lost();
    }
    await new Promise((done) => setTimeout(done, wait));
  }
}

/** Follows a stream while the page is visible: it is closed after 30 s in the background. */
export function followWhileVisible(options: Follow): () => void {
  let abort: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = options.lastId;
  const start = () => {
    clearTimeout(timer);
    if (abort) return;
    abort = new AbortController();
    const onMessage = (message: Message) => {
      if (message.id) last = message.id;
      options.onMessage(message);
    };
    const again: Follow = { ...options, onMessage };
    if (last !== undefined) again.lastId = last;
    void follow(again, abort.signal);
  };
  const stop = () => {
    abort?.abort();
    abort = null;
  };
  const changed = () => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") timer = setTimeout(stop, 30_000);
    else start();
  };
  document.addEventListener("visibilitychange", changed);
  if (document.visibilityState !== "hidden") start();
  return () => {
    document.removeEventListener("visibilitychange", changed);
    clearTimeout(timer);
    stop();
  };
}
