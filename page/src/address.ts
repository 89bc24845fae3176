// Addresses: of the page's screens, in the fragment, and of points, as the command has them.

export type Tab = "step" | "state" | "changes" | "files" | "raw";
export const TABS: readonly Tab[] = ["step", "state", "changes", "files", "raw"];
export type View = "steps" | "events";
export type Axis = "step" | "time" | "offset";

export type Route =
  | { screen: "tasks"; q: string; sort: string; columns: string; at: string }
  | { screen: "task"; address: string; tab: Tab; pointer: string; view: View | "" }
  | { screen: "compare"; of: string[]; only: boolean; texts: boolean }
  | { screen: "metrics"; at: string[]; metric: string; x: Axis }
  | { screen: "store" }
  | { screen: "unknown"; text: string };

export const TASKS: Route = { screen: "tasks", q: "", sort: "", columns: "", at: "" };

/** Names of the addresses of a comparison, in order; further ones are `at`. */
const SIDES = ["a", "b", "c", "d", "e", "f"];

function one<T extends string>(text: string | null, of: readonly T[], otherwise: T): T {
  return of.find((known) => known === text) ?? otherwise;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Reads the fragment of an address, with or without `#`. */
export function parseRoute(fragment: string): Route {
  const text = fragment.replace(/^#/, "");
  const cut = text.indexOf("?");
  const path = cut < 0 ? text : text.slice(0, cut);
  const get = new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1));
  const say = (name: string) => get.get(name) ?? "";
  if (path === "" || path === "/" || path === "/tasks") {
    return {
      screen: "tasks",
      q: say("q"),
      sort: say("sort"),
      columns: say("cols"),
      at: say("at"),
    };
  }
  if (path.startsWith("/task/") && path.length > 6) {
    return {
      screen: "task",
      address: decoded(path.slice(6)),
      tab: one(get.get("tab"), TABS, "step"),
      pointer: say("pointer"),
      view: one(get.get("view"), ["steps", "events", ""] as const, ""),
    };
  }
  if (path === "/compare") {
    const named = SIDES.map((name) => get.get(name)).filter((value) => value !== null);
    const of = [...named, ...get.getAll("at")];
    return { screen: "compare", of, only: say("only") === "1", texts: say("texts") === "1" };
  }
  if (path === "/metrics") {
    const x = one(get.get("x"), ["step", "time", "offset"] as const, "step");
    return { screen: "metrics", at: get.getAll("at"), metric: say("metric"), x };
  }
  if (path === "/store") return { screen: "store" };
  return { screen: "unknown", text };
}

/** Percent-encodes what a fragment asks for, and leaves `/`, `@` and letters of all scripts. */
function encoded(text: string): string {
  return text.replace(/[\s%#?&+"<>`^{}|\\\u0000-\u001f\u007f-\u00a0\ud800-\udfff]/gu, (c) => {
    try {
      return encodeURIComponent(c);
    } catch {
      return "%EF%BF%BD";
    }
  });
}

function withQuery(path: string, fields: [string, string][]): string {
  const present = fields.filter(([, value]) => value !== "");
  if (present.length === 0) return path;
  return `${path}?${present.map(([name, value]) => `${name}=${encoded(value)}`).join("&")}`;
}

/** Writes the fragment of a route, with `#`. */
export function formatRoute(route: Route): string {
  switch (route.screen) {
    case "tasks":
      return withQuery("#/tasks", [
        ["q", route.q],
        ["sort", route.sort],
        ["cols", route.columns],
        ["at", route.at],
      ]);
    case "task":
      return withQuery(`#/task/${encoded(route.address)}`, [
        ["tab", route.tab === "step" ? "" : route.tab],
        ["pointer", route.pointer],
        ["view", route.view],
      ]);
    case "compare": {
      return withQuery("#/compare", [
        ...route.of.map((value, i): [string, string] => [SIDES[i] ?? "at", value]),
        ["only", route.only ? "1" : ""],
        ["texts", route.texts ? "1" : ""],
      ]);
    }
    case "metrics":
      return withQuery("#/metrics", [
        ...route.at.map((value): [string, string] => ["at", value]),
        ["metric", route.metric],
        ["x", route.x === "step" ? "" : route.x],
      ]);
    case "store":
      return "#/store";
    case "unknown":
      return `#${route.text}`;
  }
}

export interface PointParts {
  task: string;
  lineage: number | null;
  offset: number | null;
  /** Label or other selector that only the service resolves. */
  selector: string | null;
}

/** Divides an address into its parts, as far as it names them. */
export function parsePoint(address: string): PointParts {
  const sign = address.lastIndexOf("@");
  const head = sign < 0 ? address : address.slice(0, sign);
  const selector = sign < 0 ? null : address.slice(sign + 1);
  const slash = /^(.+)\/(0|[1-9]\d{0,9})$/.exec(head);
  const task = slash?.[1] ?? head;
  const lineage = slash?.[2] === undefined ? null : Number(slash[2]);
  if (selector !== null && /^(0|[1-9]\d{0,14})$/.test(selector)) {
    return { task, lineage, offset: Number(selector), selector: null };
  }
  return { task, lineage, offset: null, selector };
}

export function formatPoint(task: string, lineage: number, offset: number): string {
  return `${task}/${lineage}@${offset}`;
}

/** Reads `#code=..&to=..`, with which `milepost ui` opens the page. */
export function parseCode(fragment: string): { code: string; to: string } | null {
  if (!fragment.startsWith("#code=")) return null;
  const get = new URLSearchParams(fragment.slice(1));
  const to = get.get("to") ?? "";
  return { code: get.get("code") ?? "", to: to === "" ? "#/tasks" : `#${to.replace(/^#/, "")}` };
}
