import "./browser-globals.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Change, Diff, Event, Rows, Turns } from "../../src/api/types.ts";
import { world } from "../mock/world.ts";
import { share } from "../share/make.ts";
import type { Withhold } from "../share/make.ts";
import * as routes from "../mock/routes.ts";

const { Answers } = await import("../../src/share/answers.ts");
const { compare } = await import("../../src/share/changes.ts");
const { readContents } = await import("../../src/share/contents.ts");
const { cutTexts, timeOf } = await import("../../src/share/events.ts");
const { ShareFile } = await import("../../src/share/file.ts");
const { Lately } = await import("../../src/share/lately.ts");
const { bodyText, linesOf } = await import("../../src/share/lines.ts");

type Parts = Map<string, string>;

/** Script elements of a share by their ids. */
function partsOf(html: string): Parts {
  const found = html.matchAll(/<script type="[^"]+" id="([^"]+)">\n([^\n]*)\n<\/script>\n/g);
  return new Map([...found].map((one) => [one[1]!, one[2]!]));
}

function answersOf(parts: Parts): InstanceType<typeof Answers> {
  const read = (id: string) => parts.get(id) ?? null;
  return new Answers(new ShareFile(readContents(read("share"))!, read));
}

const store = world(1);
function shared(id: string, withhold?: Withhold): InstanceType<typeof Answers> {
  const given = withhold ? { withhold } : {};
  return answersOf(partsOf(share(store, id, { script: "", style: "", ...given })));
}

/** A share with other documents in its index, and without one of them. */
function changed(parts: Parts, documents: object, without: string): Parts {
  const contents = readContents(parts.get("share")!)!;
  const index = Object.fromEntries([...contents.index].filter(([name]) => name !== without));
  assert.equal([...parts].filter(([id]) => id.startsWith("index-")).length, 1);
  const own = new Map(parts);
  own.set("share", JSON.stringify({ ...JSON.parse(parts.get("share")!), index }));
  own.set("index-0", gzipSync(JSON.stringify(documents)).toString("base64"));
  return own;
}

const status = (promise: Promise<unknown>) =>
  promise.then(
    () => 200,
    (error: { status: number }) => error.status,
  );

/** Asks until the limit is reached: a search stops early on a busy machine. */
async function rowsOf(answers: InstanceType<typeof Answers>, path: string): Promise<Rows> {
  const limit = Number(new URLSearchParams(path.split("?")[1]).get("limit") ?? 100);
  let page = (await answers.answer(path)) as Rows;
  const items = page.items;
  while (page.next != null && items.length < limit) {
    const [begin, query] = path.split("?");
    const again = new URLSearchParams(query);
    again.set("from", String(page.next));
    again.set("limit", String(limit - items.length));
    page = (await answers.answer(`${begin}?${again}`)) as Rows;
    items.push(...page.items);
  }
  return { ...page, items };
}

test("rows and turns of a share are those of the service", async () => {
  const answers = shared("tune-river");
  const task = store.tasks.get("tune-river")!;
  for (const query of [
    "lineage=7&from=0&to=50&limit=100",
    "lineage=7&from=340&limit=3",
    "lineage=0&kind=checkpoint_marked&from=10&limit=5",
    "lineage=3&text=STEP-77",
    "failed=true&limit=5000",
  ]) {
    const get = new URLSearchParams(query);
    const lane = routes.laneOf(task, get.get("lineage"));
    const own = await rowsOf(answers, `/v1/tasks/tune-river/rows?${query}`);
    assert.deepEqual(own, JSON.parse(JSON.stringify(routes.rowsPage(lane, get))), query);
  }
  for (const query of ["lineage=7&from=3&limit=9", "lineage=7&near=200&limit=100", "near=359"]) {
    const get = new URLSearchParams(query);
    const lane = routes.laneOf(task, get.get("lineage"));
    const own = (await answers.answer(`/v1/tasks/tune-river/turns?${query}`)) as Turns;
    assert.deepEqual(own, JSON.parse(JSON.stringify(routes.turnsPage(lane, get))), query);
  }
});

test("a document that is left out is that of the parent, as far as the lineage goes", async () => {
  const parts = partsOf(share(store, "library-34", { script: "", style: "" }));
  const answers = answersOf(parts);
  const rows = (await answers.answer("/v1/tasks/library-34/rows?lineage=3&limit=5000")) as Rows;
  const lane = store.tasks.get("library-34")!.lanes[3]!;
  assert.equal(rows.items.length, lane.events.length);
  assert.equal(rows.items[1]!.lineage, 0);
  assert.equal(rows.items[2]!.lineage, 3);

  // The lineage 1 ends before its parent does, and has no rows of its own.
  const page = JSON.parse(JSON.stringify(await answers.answer("/v1/tasks/library-34/lineages")));
  page.items[1].head = 2;
  const documents = { lineages: page, "rows/0/0": rows.items };
  const own = changed(parts, documents, "rows/1/0");
  const cut = await answersOf(own).answer("/v1/tasks/library-34/rows?lineage=1&limit=5000");
  assert.equal((cut as Rows).items.length, 2);
});

test("lineages in a circle, or with values of another kind, are refused, and no walk hangs", async () => {
  const parts = partsOf(share(store, "library-34", { script: "", style: "" }));
  const sound = (await answersOf(parts).answer("/v1/tasks/library-34/lineages")) as object;
  type Items = { id: unknown; parent: { lineage: unknown; offset: unknown } | null; head: unknown }[];
  const hostile: Record<string, (items: Items) => unknown> = {
    itself: (items) => (items[2]!.parent!.lineage = items[2]!.id),
    circle: (items) => (items[0]!.parent = { lineage: items[1]!.id, offset: 1 }),
    "longer circle": (items) => (items[0]!.parent = { lineage: items[3]!.id, offset: 0 }),
    "text as an id": (items) => (items[2]!.parent!.lineage = "0"),
    "a negative id": (items) => (items[2]!.parent!.lineage = -1),
    "a fraction as an id": (items) => (items[1]!.id = 0.5),
    "an object as an offset": (items) => (items[2]!.parent!.offset = { valueOf: 3 }),
    "text as an offset": (items) => (items[2]!.parent!.offset = "2"),
    "an endless head": (items) => (items[2]!.head = 1e300),
    "text as a head": (items) => (items[2]!.head = "9".repeat(400)),
    "a head that is none": (items) => (items[2]!.head = null),
  };
  const same = answersOf(changed(parts, { lineages: sound }, "rows/1/0"));
  assert.equal(await status(same.answer("/v1/tasks/library-34/lineages")), 200);
  for (const [name, change] of Object.entries(hostile)) {
    const page = JSON.parse(JSON.stringify(sound)) as { items: Items };
    change(page.items);
    const answers = answersOf(changed(parts, { lineages: page }, "rows/1/0"));
    for (const path of ["lineages", "rows?lineage=2&limit=10", "turns?lineage=3", "checkpoints"]) {
      const answered = status(answers.answer(`/v1/tasks/library-34/${path}`));
      assert.notEqual(await answered, 200, `${name}: ${path}`);
    }
  }
});

test("an event is that of its line, with what is withheld", async () => {
  const answers = shared("library-34", (_, offset) => {
    return ({ 3: "body", 4: "all", 5: "trusted" } as const)[offset] ?? null;
  });
  const event = async (address: string) =>
    (await answers.answer(`/v1/points/${encodeURIComponent(address)}/event?cut=65536`)) as Event;
  const first = await event("library-34/2@1");
  assert.equal(first.lineage, 0);
  assert.equal(first.time, "2026-01-05T09:00:00.080000Z");
  assert.equal(first.withheld, undefined);
  const three = await event("library-34@3");
  assert.deepEqual([three.withheld, three.body !== null, three.lineage], ["body", true, 2]);
  const four = await event("library-34@4");
  assert.deepEqual([four.withheld, four.body, four.kind], ["body", null, "step_started"]);
  assert.equal((await event("library-34@5")).withheld, "trusted");
  const value = `/v1/points/${encodeURIComponent("library-34@3")}/value?pointer=/role`;
  assert.equal(await answers.answer(value), "user");
});

test("states, changes and blame are those of the events before a point", async () => {
  const answers = shared("library-34");
  const task = store.tasks.get("library-34")!;
  const at = (lineage: number, offset: number) => {
    return { task, lane: task.lanes[lineage]!, offset };
  };
  const path = (address: string, rest: string) =>
    answers.answer(`/v1/points/${encodeURIComponent(address)}/${rest}`);
  for (const offset of [1, 2, 7, 30]) {
    const found = (await path(`library-34/2@${offset}`, "state?messages=1000")) as {
      state: object;
    };
    assert.deepEqual(found.state, routes.stateOf(at(2, offset)));
  }
  const few = (await path("library-34/2@30", "state?messages=2")) as { state: { messages: [] } };
  assert.equal(few.state.messages.length, 2);
  const sides: [number, number, number, number][] = [
    [2, 10, 2, 20],
    [2, 20, 2, 10],
    [0, 30, 2, 30],
    [1, 1, 3, 2],
  ];
  const byPath = (a: Change, b: Change) => (a.path < b.path ? -1 : 1);
  for (const [a, i, b, j] of sides) {
    const other = encodeURIComponent(`library-34/${b}@${j}`);
    const found = (await path(`library-34/${a}@${i}`, `diff/${other}`)) as Diff;
    const own = routes.diff(at(a, i), at(b, j)) as Change[];
    assert.deepEqual(found.items.toSorted(byPath), own.toSorted(byPath));
  }
  type Blamed = { changes: { offset: number; before?: unknown; after?: unknown }[] };
  const blamed = (await path("library-34/2@30", "blame?pointer=/step&history=true")) as Blamed;
  assert.deepEqual(blamed.changes.at(-1)?.after, { number: 1, status: "running" });
  assert.equal(blamed.changes.at(-1)?.before, null);
  const last = (await path("library-34/2@30", "blame?pointer=/step/number")) as Blamed;
  assert.equal(last.changes.length, 1);
  assert.equal(await status(path("library-34/2@30", "blame?pointer=/messages/0")), 422);
});

test("alignments are there in both directions, against the active lineage only", async () => {
  const answers = shared("library-34");
  const ask = (a: string, b: string) =>
    answers.answer(`/v1/points/${encodeURIComponent(a)}/align/${encodeURIComponent(b)}`);
  type Aligned = { counts: Record<string, number>; items: { op: string; a: object; b: object }[] };
  const one = (await ask("library-34/2", "library-34/0")) as Aligned;
  const other = (await ask("library-34/0", "library-34")) as Aligned;
  assert.equal(one.counts["only_b"], other.counts["only_a"]);
  const only = one.items.find((item) => item.op === "only_b")!;
  assert.deepEqual(other.items.find((item) => item.op === "only_a")!.a, only.b);
  assert.equal(await status(ask("library-34/0", "library-34/1")), 422);
  assert.equal(await status(ask("library-34/2@4", "library-34/1")), 422);
});

test("labels, ids and other tasks", async () => {
  const answers = shared("library-34");
  const point = (address: string) => answers.answer(`/v1/points/${encodeURIComponent(address)}`);
  const label = (await point("library-34@step-2")) as { offset: number; checkpoint: string };
  assert.deepEqual(await point(`@${label.checkpoint}`), label);
  assert.equal(await status(point("library-34@nothing")), 404);
  assert.equal(await status(point("other@3")), 404);
  assert.equal(await status(answers.answer("/v1/tasks/other/rows")), 404);
  assert.equal(await status(answers.answer("/v1/tasks/library-34/control", "POST")), 422);
  assert.equal(await status(answers.answer("/v1/anchor")), 422);
});

test("a search finds each event once, in the lineage that recorded it", async () => {
  const answers = shared("library-34");
  const task = store.tasks.get("library-34")!;
  const found: string[] = [];
  let cursor: string | null = null;
  let events = 0;
  do {
    const at = cursor === null ? "" : `&cursor=${cursor}`;
    const page = await answers.answer(`/v1/search?text=maps%20of&limit=3${at}`);
    const {
      items,
      next,
      events: read,
    } = page as {
      items: { address: string }[];
      next: string | null;
      events: number;
    };
    found.push(...items.map((one) => one.address));
    events += read;
    cursor = next;
  } while (cursor !== null);
  assert.equal(
    events,
    task.lanes.reduce((all, lane) => all + lane.events.length - lane.fork, 0),
  );
  assert.equal(new Set(found).size, found.length);
  const own = task.lanes.flatMap((lane) =>
    lane.events.flatMap((event, i) => {
      const has = JSON.stringify(event.body).toLowerCase().includes("maps of");
      return has && i >= lane.fork ? [`library-34/${lane.id}@${i}`] : [];
    }),
  );
  assert.deepEqual(found.sort(), own.sort());
});

test("names of fields are data", async () => {
  const answers = shared([...store.tasks.keys()].find((id) => id.startsWith("hostile"))!);
  const history = await answers.history;
  const { head } = history.lineage(null);
  for (let offset = 0; offset < head; offset++) await history.line(history.lineage(null), offset);
  const before = JSON.parse('{"__proto__": {"a": 1}, "b": 2}');
  const found: Change[] = [];
  compare("", before, JSON.parse('{"b": 2, "constructor": 1}'), found);
  assert.deepEqual(
    found.map((one) => [one.path, one.kind]),
    [
      ["/__proto__", "remove"],
      ["/constructor", "add"],
    ],
  );
});

test("lines are found by log and offset, and bodies in them", () => {
  const one = '{"log":"control","at":"0","hash":"1","body":{"kind":"x"}}';
  const two = '{"log":"0","at":"12","actor":"\\"body\\":{","withheld":"a","shown":{"kind":"m"}}';
  const { text, events } = linesOf(`{"task":"a"}\n${one}\n${two}\n`);
  const at = (key: string) => text.slice(...(events.get(key) ?? [0, 0]));
  assert.deepEqual([at("control 0"), at("0 12"), at("0 1")], [one, two, ""]);
  assert.equal(bodyText(one), '"body":{"kind":"x"}}');
  assert.equal(bodyText(two), '"shown":{"kind":"m"}}');
});

test("long texts are cut between characters, as the service does", () => {
  const text = "é".repeat(300);
  const cut = { cut: "é".repeat(128), bytes: 600, pointer: "/a~1b/0" };
  assert.deepEqual(cutTexts({ "a/b": [text] }, 257), { "a/b": [cut] });
  assert.deepEqual(cutTexts(text.slice(0, 150), 257), text.slice(0, 150));
  assert.equal(timeOf("0"), "1970-01-01T00:00:00.000000Z");
  assert.equal(timeOf("9999999999999999999999"), "");
});

test("the pieces that were not used for longest are dropped", async () => {
  const loaded: number[] = [];
  const lately = new Lately(10, async (key: number) => {
    loaded.push(key);
    return { value: key, weight: 4 };
  });
  for (const key of [1, 2, 1, 3, 1, 2]) assert.equal(await lately.get(key), key);
  assert.deepEqual(loaded, [1, 2, 3, 2]);
  await Promise.all([lately.get(7), lately.get(7)]);
  assert.equal(loaded.filter((key) => key === 7).length, 1);
});

test("other files are no shares", () => {
  for (const text of [null, "", "{}", '{"share":2}', '{"share":1,"task":"a"}']) {
    assert.equal(readContents(text), null);
  }
});
