// Answers of a share to the requests of the page, in the forms of the service.

import type { Event, Lineage, Me, MetricCount, Overview, Progress } from "../api/types.ts";
import type { Series, SeriesBucket } from "../api/types.ts";
import { words } from "../words/index.ts";
import { align } from "./aligned.ts";
import { diff } from "./changes.ts";
import { eventAt, valueText } from "./events.ts";
import type { ShareFile } from "./file.ts";
import { History, missing, notHere } from "./history.ts";
import { rowsPage, turnsPage } from "./readings.ts";
import type { Wanted } from "./readings.ts";
import { search } from "./search.ts";
import { blame, wholeState } from "./states.ts";

/** Greatest number of rows and turns of an answer. */
const ROWS = 5000;
const TURNS = 1000;
/** Bytes of a text of an event that are shown at first. */
const CUT = 65_536;

class Query {
  readonly #get: URLSearchParams;

  constructor(text: string) {
    this.#get = new URLSearchParams(text);
  }

  text(name: string): string | null {
    return this.#get.get(name);
  }

  all(name: string): string[] {
    return this.#get.getAll(name);
  }

  number(name: string): number | null {
    const text = this.#get.get(name);
    return text !== null && /^\d{1,16}$/.test(text) ? Number(text) : null;
  }

  is(name: string): boolean {
    return this.#get.get(name) === "true";
  }

  limit(most: number): number {
    return Math.max(1, Math.min(most, this.number("limit") ?? 100));
  }

  get wanted(): Wanted {
    const kinds = this.text("kind")?.split(",") ?? null;
    return { kinds, text: (this.text("text") ?? "").toLowerCase(), failed: this.is("failed") };
  }
}

export class Answers {
  #history: Promise<History> | undefined;

  constructor(readonly file: ShareFile) {}

  get history(): Promise<History> {
    return (this.#history ??= History.of(this.file));
  }

  /** Answers a request that reads: a value, or a text. Throws a `Problem`. */
  async answer(path: string, method = "GET"): Promise<unknown> {
    if (method !== "GET") throw notHere(words.value.shareWhy);
    const cut = path.indexOf("?");
    const parts = (cut < 0 ? path : path.slice(0, cut)).split("/").slice(2);
    const query = new Query(cut < 0 ? "" : path.slice(cut + 1));
    const [of, name = "", ...rest] = parts.map(decodeURIComponent);
    if (of === "me") return this.#me();
    const history = await this.history;
    switch (of) {
      case "tasks":
        history.checkTask(name);
        return this.#task(history, rest.join("/"), query);
      case "points":
        return point(history, name, rest, query);
      case "series":
        return series(history, query);
      case "search":
        return search(history, query.wanted, query.limit(ROWS), query.text("cursor"));
      default:
        throw notHere(words.value.shareHasNot);
    }
  }

  #me(): Me {
    const { user, keyed, version } = this.file.contents;
    return {
      user,
      admin: false,
      read_only: true,
      reason: "share",
      store: { id: "", keyed },
      version,
      limits: { body: 0, rows: ROWS, turns: TURNS, summaries: 1 },
    };
  }

  async #task(history: History, name: string, query: Query): Promise<unknown> {
    if (name === "lineages") return { items: history.lineages, next: null };
    if (name === "summary") {
      const found = await this.file.document<object>("summary");
      if (!found) throw missing(words.value.notFoundHow);
      return found;
    }
    const of = history.lineage(query.number("lineage"));
    const from = query.number("from") ?? 0;
    const to = query.number("to") ?? of.head;
    switch (name) {
      case "rows":
        return rowsPage(history, of, { ...query.wanted, from, to, limit: query.limit(ROWS) });
      case "turns": {
        const near = query.number("near");
        return turnsPage(history, of, { ...query.wanted, from, near, limit: query.limit(TURNS) });
      }
      case "events":
        return events(history, of, from, Math.min(to, from + query.limit(ROWS)));
      case "overview": {
        const none: Omit<Overview, keyof Progress> = { width: 1, buckets: [], turns: 0 };
        const found = await history.document<Overview>(of, (id) => `overview/${id}`);
        return found ?? { ...none, read: of.head, head: of.head };
      }
      case "metrics": {
        const found = await history.document<{ items: MetricCount[] }>(of, metricsOf);
        return found ?? { items: [], read: of.head, head: of.head };
      }
      case "checkpoints":
        return { items: await history.marks(of), next: null };
      default:
        throw notHere(words.value.shareHasNot);
    }
  }
}

const metricsOf = (lineage: number) => `metrics/${lineage}`;

/** Events with their long texts cut; the text of each is `value`. */
async function events(history: History, of: Lineage, from: number, to: number) {
  const items: Event[] = [];
  const end = Math.min(to, of.head);
  for (let offset = from; offset < end; offset++) {
    items.push(await eventAt(history, of, offset, CUT));
  }
  return { items, next: end < of.head ? end : null, head: of.head };
}

async function point(history: History, address: string, rest: string[], query: Query) {
  const at = await history.place(address);
  const { lineage, offset } = at;
  const [name, other = ""] = rest;
  const pointer = query.text("pointer") ?? "";
  switch (name) {
    case undefined:
      return history.point(at);
    case "event": {
      const found = await eventAt(history, lineage, offset, query.number("cut") ?? Infinity);
      return at.checkpoint === undefined ? found : { ...found, checkpoint: at.checkpoint };
    }
    case "value":
      return valueText(history, lineage, offset, pointer);
    case "state": {
      const messages = query.number("messages") ?? 0;
      const state = await wholeState(history, lineage, offset, messages);
      return { point: await history.point(at), state };
    }
    case "blame":
      return blame(history, lineage, offset, pointer, query.is("history"));
    case "diff":
      return diff(history, at, await history.place(other));
    case "align": {
      const from = query.number("from") ?? 0;
      const asked = { from, limit: query.limit(TURNS), texts: query.is("texts") };
      return align(history, at, await history.place(other), asked);
    }
    case "files":
    case "file-changes":
      throw notHere(words.value.shareNoFiles);
    default:
      throw notHere(words.value.shareHasNot);
  }
}

/** Bucket with its places on all axes: `x` is the step, `at` the offset. */
type Placed = SeriesBucket & { time: number };

async function series(history: History, query: Query): Promise<Series> {
  const metric = query.text("metric") ?? "";
  const axis = query.text("x") ?? "step";
  const items: Series["items"] = [];
  for (const address of query.all("at")) {
    const { lineage, offset } = await history.place(address);
    if (offset !== lineage.head) throw notHere(words.value.shareHeadsOnly);
    const all = await history.file.document<Record<string, Placed[]>>(`series/${lineage.id}`);
    const found = all && Object.hasOwn(all, metric) ? all[metric]! : [];
    const buckets = found.map(({ time, ...one }) => {
      return { ...one, x: axis === "time" ? time : axis === "offset" ? one.at : one.x };
    });
    items.push({ address, buckets, read: lineage.head, head: lineage.head });
  }
  return { items };
}
