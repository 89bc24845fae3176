import "./browser-globals.ts";
import assert from "node:assert/strict";
import { test } from "node:test";

const { aligned, float, linesOf, nearest, placeAt } = await import("../../src/metrics/lines.ts");
const { placeOf } = await import("../../src/metrics/ticks.tsx");
const { pointerTo, valueAt } = await import("../../src/pointer.ts");
const { nextSort } = await import("../../src/tasks/TableHead.tsx");
const { withCondition } = await import("../../src/tasks/Tasks.tsx");
const { whenOf } = await import("../../src/dialogs/FirstWhere.tsx");
const { askedOf, fileOf } = await import("../../src/dialogs/ShareTask.tsx");
const { sharePath } = await import("../../src/api/calls.ts");
const { setAnswerer } = await import("../../src/api/link.ts");
const { eventsOf } = await import("../../src/dialogs/Fork.tsx");
const { guideEvents } = await import("../../src/dialogs/Guide.tsx");
const { Hits, nextOf } = await import("../../src/task/hits.ts");
const format = await import("../../src/format.ts");

test("pointers name a value and find it again", () => {
  const value = { "a/b": [{ "~c": 1 }] };
  const pointer = pointerTo(pointerTo(pointerTo("", "a/b"), "0"), "~c");
  assert.equal(pointer, "/a~1b/0/~0c");
  assert.equal(valueAt(value, pointer), 1);
  assert.equal(valueAt(value, "/none/x"), undefined);
});

test("the number of a step over 2^53 is a number on the axis", () => {
  const bucket = { x: "1796142496624643550", first: 1, last: 1, min: 1, max: 1, count: 1 };
  const series = { items: [{ address: "a/0@9", buckets: [bucket] }] };
  const [line] = linesOf(series as unknown as Parameters<typeof linesOf>[0]);
  assert.equal(line!.places[0]!.x, 1796142496624643550);
});

test("a condition is written from a value", () => {
  assert.equal(whenOf("/metrics/loss", 0.5), "/metrics/loss == 0.5");
  assert.equal(whenOf("/a b", "x"), '"/a b" == "x"');
  assert.equal(whenOf("/list", [1]), "exists /list");
});

test("edits become events, wrong JSON is refused", () => {
  const none = { prompt: "", variables: "", guidance: "" };
  assert.deepEqual(eventsOf(none), []);
  assert.deepEqual(eventsOf({ ...none, guidance: "slower" }), [
    { kind: "guidance_given", body: { text: "slower" } },
  ]);
  assert.throws(() => eventsOf({ ...none, variables: "{" }));
});

test("a share asks for what was given, and has a name that each system accepts", () => {
  const given = { redact: true, withhold: "ACME-[0-9]+\r\n\n a b ", max: "0.5" };
  const asked = askedOf(given)!;
  assert.deepEqual(asked, { redact: true, withhold: ["ACME-[0-9]+", " a b "], max: 524_288 });
  assert.equal(
    sharePath("a/b", asked, "/plan"),
    "/v1/tasks/a%2Fb/share/plan?withhold=ACME-%5B0-9%5D%2B&withhold=+a+b+&redact=true&max=524288",
  );
  for (const max of ["", " ", "0", "-1", "65", "32 MiB", "NaN"]) {
    assert.equal(askedOf({ ...given, max }), null, max);
  }
  assert.equal(askedOf({ ...given, max: "64" })!.max, 67_108_864);
  assert.equal(fileOf("春雨"), "春雨.html");
  assert.equal(fileOf("../a b\u202e/<c>.."), "a-b-c.html");
  assert.equal(fileOf("x".repeat(200)), `${"x".repeat(80)}.html`);
  assert.equal(fileOf("..."), "task.html");
});

test("guidance edits rules and artifacts, and says which field is wrong", () => {
  const none = { prompt: "", variables: "", guidance: "", rules: "", artifacts: "" };
  assert.deepEqual(guideEvents(none), []);
  const all = {
    prompt: "p",
    variables: "{}",
    guidance: "g",
    rules: "[1]",
    artifacts: '{"a":null}',
  };
  assert.deepEqual(guideEvents(all).slice(1), [
    { kind: "variables_patched", body: { form: "merge", patch: {} } },
    { kind: "rules_changed", body: { rules: [1] } },
    { kind: "artifacts_edited", body: { artifacts: { a: null } } },
    { kind: "guidance_given", body: { text: "g" } },
  ]);
  assert.deepEqual(guideEvents({ ...none, rules: "null" })[0]!.body, { rules: null });
  assert.throws(() => guideEvents({ ...none, rules: "{" }), /^Error: Rules \(JSON/);
  assert.throws(() => guideEvents({ ...none, variables: "{" }), /^Error: Variables/);
  for (const artifacts of ["[]", "1", "null", "{"]) {
    assert.throws(() => guideEvents({ ...none, artifacts }), /^Error: Artifacts/);
  }
});

test("sorting turns around, conditions replace each other", () => {
  assert.equal(nextSort("-changed", "failed"), "-failed");
  assert.equal(nextSort("-failed", "failed"), "failed");
  assert.equal(nextSort("", "id"), "id");
  assert.equal(withCondition("a state:idle", "state", "running"), "a state:running");
  assert.equal(withCondition("a state:idle", "state", ""), "a");
});

test("series meet on one axis and keep each spike", () => {
  const place = (x: number, min: number, max: number) => {
    return { x, first: min, last: min, min, max, count: 2, at: x, lastAt: x, minAt: x, maxAt: x };
  };
  const lines = [
    { address: "a", places: [place(1, 0, 9), place(3, 1, 1)] },
    { address: "b", places: [place(2, 5, 900)] },
  ];
  const { xs, values } = aligned(lines);
  assert.deepEqual(xs, [1, 2, 3]);
  assert.deepEqual(values[0]!.max, [9, null, 1]);
  assert.deepEqual(values[1]!.max, [null, 900, null]);
  assert.equal(placeAt(lines[0]!, 2)?.x, 1);
  assert.equal(placeAt(lines[1]!, 3), undefined);
  assert.equal(float("-inf"), -Infinity);
  assert.ok(Number.isNaN(float("NaN")));
});

test("a pointer reads the value of a bucket that is nearest to it", () => {
  const [at, lastAt, minAt, maxAt] = [10, 15, 12, 13];
  const place = { x: 1, first: 0.5, last: 0.6, min: 0.1, max: 9.25, count: 6, at, lastAt, minAt, maxAt };
  const read = [0.5, 0.59, -3, 4.5, 5].map((height) => nearest(place, height));
  assert.deepEqual(
    read.map((one) => one.value),
    [0.5, 0.6, 0.1, 0.6, 9.25],
  );
  assert.deepEqual(
    read.map((one) => one.at),
    [10, 15, 12, 15, 13],
  );
});

test("a tick stands at its time or offset, or at the step of the value before it", () => {
  const all = { first: 1, last: 1, min: 1, max: 1, count: 1, lastAt: 0, minAt: 0, maxAt: 0 };
  const place = (x: number, at: number) => ({ x, ...all, at });
  const line = { address: "a", places: [place(3, 10), place(4, 20)] };
  const row = (offset: number) => {
    return { offset, lineage: 0, kind: "guidance_given", time_us: 77, text: "" };
  };
  assert.equal(placeOf(row(15), line, "time"), 77);
  assert.equal(placeOf(row(15), line, "offset"), 15);
  assert.equal(placeOf(row(15), line, "step"), 3);
  assert.equal(placeOf(row(20), line, "step"), 4);
  assert.equal(placeOf(row(2), line, "step"), 3);
  assert.equal(placeOf(row(2), { address: "b", places: [] }, "step"), null);
});

test("numbers, sizes and times are exact where they are long", () => {
  assert.equal(format.count(2 ** 53), "9,007,199,254,740,992");
  assert.equal(format.bytes(1_234_567), "1.2 MB");
  assert.equal(format.duration(1_500_000), "1.5 s");
  assert.equal(format.duration("90000000"), "1 min 30 s");
  assert.equal(format.tokensOf({ input: 3 }), 3);
  assert.equal(format.tokensOf({ cost: 1 }), null);
  assert.equal(format.costOf({ input: 3 }), null);
});

test("hits are found in both directions", () => {
  assert.equal(nextOf([3, 7, 9], 7, 1), 9);
  assert.equal(nextOf([3, 7, 9], 7, -1), 3);
  assert.equal(nextOf([3, 7, 9], 9, 1), null);
});

test("a search that stopped before the first event goes on there", async () => {
  const pages = [
    { items: [], next: 0, head: 5 },
    { items: [{ offset: 3 }], next: null, head: 5 },
  ];
  const ask = () => Promise.resolve(pages.shift());
  setAnswerer({ ask, send: () => Promise.resolve(new Response()) });
  const hits = new Hits("a", 0, 0, { text: "x" });
  await hits.search();
  assert.deepEqual([hits.found.value, hits.read.value], [[3], 5]);
});
