// A `fetch` over a Unix socket, for Node.js.

import type { IncomingMessage, RequestOptions } from "node:http";

/** Returns a function that sends requests over a socket. */
export function socketFetch(socketPath: string): (request: Request) => Promise<Response> {
  return async (request) => {
    // Bundles for browsers, which have no sockets, do not load it.
    const { request: open } = await import("node:http");
    const body = new Uint8Array(await request.arrayBuffer());
    const { pathname, search, host } = new URL(request.url);
    const options: RequestOptions = {
      socketPath,
      method: request.method,
      path: `${pathname}${search}`,
      headers: { ...Object.fromEntries(request.headers), host, "content-length": body.length },
      signal: request.signal,
    };
    return new Promise((resolve, reject) => {
      const sent = open(options, (answer) => resolve(responseOf(answer)));
      sent.on("error", (error) => reject(asFetch(error, request.signal)));
      sent.end(body);
    });
  };
}

function responseOf(answer: IncomingMessage): Response {
  const status = answer.statusCode ?? 0;
  const headers = new Headers();
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
    headers.append(answer.rawHeaders[at] ?? "", answer.rawHeaders[at + 1] ?? "");
  }
  // These have no body, and a `Response` refuses one.
  const isEmpty = status === 204 || status === 205 || status === 304;
  if (isEmpty) {
    answer.resume();
  }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      answer.on("data", (piece: Uint8Array) => {
        controller.enqueue(new Uint8Array(piece));
        if ((controller.desiredSize ?? 1) <= 0) {
          answer.pause();
        }
      });
      answer.on("end", () => controller.close());
      answer.on("error", (error) => controller.error(asFetch(error, undefined)));
    },
    pull() {
      answer.resume();
    },
    cancel() {
      answer.destroy();
    },
  });
  return new Response(isEmpty ? null : body, {
    status,
    statusText: answer.statusMessage ?? "",
    headers,
  });
}

/** Returns the error that `fetch` throws: a TypeError if the connection broke. */
function asFetch(error: Error, signal: AbortSignal | undefined): unknown {
  return signal?.aborted ? signal.reason : new TypeError("fetch failed", { cause: error });
}
