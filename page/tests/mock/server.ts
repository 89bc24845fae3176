// Mock of `milepost serve`: the page, and answers of /v1 in the forms of docs/PAGE.md.

import { createServer, request as requestTo } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { act } from "./actions.ts";
import { fileChangesOf, filesOf, fileText, foldersOf } from "./files.ts";
import type { Task } from "./logs.ts";
import { MILLION, millionTurns } from "./million.ts";
import { summary } from "./reading.ts";
import * as routes from "./routes.ts";
import { Refused } from "./routes.ts";
import type { World } from "./world.ts";

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self' blob:; worker-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types worker";

const TYPES: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

export interface Mock {
  url: string;
  world: World;
  close: () => Promise<void>;
}

async function servePage(path: string, built: string, answer: ServerResponse): Promise<void> {
  const name = path === "/" ? "page.html" : path.slice("/page/".length);
  const bytes = await readFile(`${built}/${name.replace(/[^a-z.]/g, "")}`).catch(() => null);
  if (!bytes) return void answer.writeHead(404).end();
  answer.writeHead(200, {
    "Content-Type": TYPES[name.split(".").pop()!] ?? "text/plain",
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
  });
  answer.end(bytes);
}

function bigTask(path: string, get: URLSearchParams): unknown {
  const big = "/v1/tasks/million";
  const time = "2026-01-05T09:00:00.000000Z";
  if (path === `${big}/summary`) {
    const task: Task = {
      id: "million",
      user: "ana",
      control: "idle",
      active: 0,
      created_us: 1767600000000000,
      lanes: [
        { id: 0, type: "root", description: null, parent: null, fork: 0, events: [], outcome: {} },
      ],
    };
    return { ...summary(task), head: MILLION, events: MILLION, steps: millionTurns };
  }
  if (path === `${big}/lineages`) {
    const hash = "0".repeat(64);
    const head = MILLION;
    const times = { opened: time, opened_us: 1767600000000000 };
    const lineage = { id: 0, type: "root", description: null, parent: null, ...times, head, hash };
    return { items: [{ ...lineage, begin: 0, events: head, active: true }], next: null };
  }
  if (path.startsWith(big)) return routes.millionAnswer(path, get) ?? {};
  return undefined;
}

function read(world: World, path: string, get: URLSearchParams): unknown {
  if (path === "/v1/me") {
    return {
      user: "ana",
      admin: world.admin,
      read_only: world.readOnly,
      store: { id: "6f1c2a", keyed: false },
      version: "0.1.0",
      limits: { body: 16_777_216, rows: 5000, turns: 1000, summaries: 1000 },
    };
  }
  if (path === "/v1/summaries") return routes.summariesPage(world, get);
  if (path === "/v1/search") return routes.searchAnswer(world, get.get("text") ?? "");
  if (path === "/v1/series") return routes.seriesAnswer(world, get);
  if (path === "/v1/stats") return { tasks: world.tasks.size, seq: 44, applied: 44 };
  if (path === "/v1/anchor") return { milepost_anchor: 1, store: "6f1c2a", seq: "44" };
  const big = bigTask(path, get);
  if (big !== undefined) return big;
  const [, of, name, rest = "", other] = path.split("/").slice(1).map(decodeURIComponent);
  if (of === "tasks" && rest === "share" && other === undefined) {
    throw new Refused(503, "there are no files here");
  }
  if (of === "tasks") return ofTask(world, name!, rest, get);
  if (of === "points") return ofPoint(world, name!, rest, other, get);
  throw new Refused(404, "there is nothing at this path");
}

function ofTask(world: World, name: string, rest: string, get: URLSearchParams): unknown {
  const task = routes.taskOf(world, name);
  const lane = routes.laneOf(task, get.get("lineage"));
  switch (rest) {
    case "summary":
      return summary(task, task.lanes.length);
    case "lineages":
      return { items: task.lanes.map((one) => routes.lineageForm(task, one)), next: null };
    case "rows":
      return routes.rowsPage(lane, get);
    case "turns":
      return routes.turnsPage(lane, get);
    case "overview":
      return routes.overviewAnswer(world, lane, get);
    case "metrics":
      return routes.metricsAnswer(world, lane);
    case "folders":
      if (!world.admin) throw new Refused(403, "folders are for admins");
      return foldersOf(task);
    case "share":
      return routes.sharePlan(task, get);
    case "checkpoints":
      return routes.checkpointsPage(task, get);
    case "events": {
      const head = lane.events.length;
      const from = Number(get.get("from") ?? 0);
      const to = Math.min(
        head,
        Number(get.get("to") ?? head),
        from + Number(get.get("limit") ?? 100),
      );
      const items = [];
      for (let i = from; i < to; i++) items.push(routes.eventForm(task, lane, i));
      return { items, next: to < head ? to : null, head };
    }
    default:
      throw new Refused(404, "there is nothing at this path");
  }
}

function ofPoint(
  world: World,
  name: string,
  rest: string,
  other: string | undefined,
  get: URLSearchParams,
): unknown {
  const at = routes.pointOf(world, name);
  switch (rest) {
    case "":
      return routes.pointForm(at);
    case "event":
      return routes.eventAnswer(at, Number(get.get("cut") ?? 1e9));
    case "state":
      return { point: routes.pointForm(at), state: routes.stateOf(at) };
    case "bisect":
      return routes.bisected(at, get.get("when") ?? "");
    case "diff":
      return { items: routes.diff(at, routes.pointOf(world, other!)), more: false };
    case "align":
      return routes.alignAnswer(at, routes.pointOf(world, other!), get);
    case "files":
      return filesOf(at);
    case "file-changes":
      return fileChangesOf(at, routes.pointOf(world, other!));
    case "blame":
      return { task: at.task.id, pointer: get.get("pointer"), changes: [], before_oldest: null };
    default:
      throw new Refused(404, "there is nothing at this path");
  }
}

function stream(
  world: World,
  path: string,
  request: IncomingMessage,
  answer: ServerResponse,
): void {
  answer.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  answer.write(":\n\n");
  const name = /^\/v1\/tasks\/([^/]+)\/events$/.exec(path)?.[1];
  if (!name && path !== "/v1/summaries") return void answer.end();
  const id = name && decodeURIComponent(name);
  let [lineage = 0, next = 0] = String(request.headers["last-event-id"] ?? "0:0")
    .split(":")
    .map(Number);
  const send = (task: Task) => {
    if (!id) return answer.write(`event: task\ndata: ${JSON.stringify(summary(task))}\n\n`);
    if (task.id !== id) return false;
    if (task.active !== lineage) {
      const lane = routes.laneOf(task, String(task.active));
      const move = { from: lineage, to: task.active, at: lane.fork };
      answer.write(
        `id: ${task.active}:${lane.fork}\nevent: lineage\ndata: ${JSON.stringify(move)}\n\n`,
      );
      [lineage, next] = [task.active, lane.fork];
    }
    const lane = routes.laneOf(task, null);
    for (; next < lane.events.length; next++) {
      const data = JSON.stringify(routes.eventForm(task, lane, next));
      answer.write(
        `id: ${lineage}:${next + 1}\nevent: ${lane.events[next]!.kind}\ndata: ${data}\n\n`,
      );
    }
    return true;
  };
  world.changed.add(send);
  const known = id === undefined ? undefined : world.tasks.get(id);
  if (known) send(known);
  answer.on("close", () => world.changed.delete(send));
}

function valueText(world: World, path: string, get: URLSearchParams): string | null {
  const [, address, file] = /^\/v1\/points\/([^/]+)\/files\/(.+)$/.exec(path) ?? [];
  if (address && file) {
    return fileText(routes.pointOf(world, decodeURIComponent(address)), decodeURIComponent(file));
  }
  const name = /^\/v1\/points\/([^/]+)\/value$/.exec(path)?.[1];
  if (!name) return null;
  const at = routes.pointOf(world, decodeURIComponent(name));
  let value: unknown = at.lane.events[at.offset]?.body;
  for (const part of (get.get("pointer") ?? "").split("/").slice(1)) {
    value = (value as Record<string, unknown>)[part];
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

async function api(
  world: World,
  url: URL,
  request: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  const json = (status: number, value: unknown, type = "application/json") => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const { pathname, search } = url;
    world.asked.push({ method: request.method!, path: pathname + search, bytes: text.length });
    answer.writeHead(status, { "Content-Type": type }).end(status === 204 ? "" : text);
  };
  if (world.slow > 0) await new Promise((done) => setTimeout(done, world.slow).unref());
  try {
    const token = request.headers.authorization?.replace("Bearer ", "");
    if (url.pathname === "/v1/sessions") {
      const given = JSON.parse((await bodyOf(request)) || "{}") as { code?: string };
      const code = given.code !== undefined && world.tokens.delete(`code ${given.code}`);
      if (!code && !world.tokens.has(token ?? "")) throw new Refused(401, "the token is not valid");
      const session = `ms_${Math.random().toString(16).slice(2)}`;
      world.tokens.add(session);
      return json(201, { session, expires: "2026-01-06T00:00:00Z", user: "ana", admin: false });
    }
    if (world.tokens.size > 0 && !world.tokens.has(token ?? "")) {
      throw new Refused(401, "the token is not valid");
    }
    if (request.headers.accept === "text/event-stream") {
      return stream(world, url.pathname, request, answer);
    }
    if (request.method !== "GET") {
      const { status, value } = act(world, request.method!, url, await bodyOf(request));
      return json(status, value);
    }
    const text = valueText(world, url.pathname, url.searchParams);
    if (text !== null) return json(200, text, "text/plain; charset=utf-8");
    json(200, read(world, url.pathname, url.searchParams));
  } catch (error) {
    const status = error instanceof Refused ? error.status : 500;
    const detail = error instanceof Error ? error.message : String(error);
    const title = status === 404 ? "It is not there" : "This did not work";
    json(status, { title, status, detail, instance: "req-1" }, "application/problem+json");
  }
}

/** Sends a request on to a real service, as if the page came from there. */
function proxy(to: string, request: IncomingMessage, answer: ServerResponse): void {
  const headers: Record<string, string | string[] | undefined> = {
    ...request.headers,
    host: new URL(to).host,
  };
  for (const name of Object.keys(headers)) {
    if (name === "origin" || name === "referer" || name.startsWith("sec-")) delete headers[name];
  }
  const options = { method: request.method!, headers };
  const sent = requestTo(`${to}${request.url}`, options, (from) => {
    answer.writeHead(from.statusCode ?? 502, from.headers);
    from.pipe(answer);
  });
  sent.on("error", () => answer.destroy());
  answer.on("close", () => sent.destroy());
  request.pipe(sent);
}

/** Starts the mock with the built page of a folder. With `real`, a service answers /v1. */
export async function start(world: World, built: string, port = 0, real?: string): Promise<Mock> {
  const server: Server = createServer((request, answer) => {
    const url = new URL(request.url!, "http://mock");
    if (world.down) return void request.socket.destroy();
    const isPage = url.pathname === "/" || url.pathname.startsWith("/page/");
    if (real && !isPage) return proxy(real, request, answer);
    if (url.pathname.startsWith("/v1/")) return void api(world, url, request, answer);
    if (url.pathname === "/healthz" || url.pathname === "/readyz") return void answer.end("ready");
    void servePage(url.pathname, built, answer);
  });
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  const { port: at } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${at}`,
    world,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}
