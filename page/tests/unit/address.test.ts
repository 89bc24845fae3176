import assert from "node:assert/strict";
import { test } from "node:test";
import { formatPoint, formatRoute, parseCode, parsePoint, parseRoute } from "../../src/address.ts";

const FRAGMENTS = [
  "#/tasks",
  "#/tasks?q=has:failure%20outcome:0&sort=-failed",
  "#/task/essay",
  "#/task/essay/2@41?tab=state&pointer=/score",
  "#/task/essay/2@41?view=events",
  "#/task/春雨/0@3",
  "#/compare?a=essay/0&b=essay/2&only=1",
  "#/compare?a=t/0&b=t/1&c=t/2&d=t/3&e=t/4&f=t/5&at=t/6&at=t/7&texts=1",
  "#/metrics?at=essay/0&at=essay/2&metric=loss&x=time",
  "#/store",
];

test("an address is read and written as it was", () => {
  for (const fragment of FRAGMENTS) {
    assert.equal(formatRoute(parseRoute(fragment)), fragment);
  }
});

test("a comparison may name its histories by letters or all by `at`", () => {
  const route = parseRoute("#/compare?at=t/0&at=u");
  assert.deepEqual(route, { screen: "compare", of: ["t/0", "u"], only: false, texts: false });
  assert.equal(formatRoute(route), "#/compare?a=t/0&b=u");
});

test("an address with characters of any kind comes back", () => {
  for (const address of [
    "a?b#c%d&e",
    "x y/0@1",
    "e\u0301\u202e",
    "a%2Fb@l=m",
    '"<>`',
    "a+b",
    "%",
  ]) {
    const route = parseRoute("#/task/x");
    assert.equal(route.screen, "task");
    const there = { ...route, address, pointer: address };
    assert.deepEqual(parseRoute(formatRoute(there as typeof route)), there);
  }
});

test("an unknown address is kept", () => {
  assert.deepEqual(parseRoute("#/nothing?x"), { screen: "unknown", text: "/nothing?x" });
  assert.equal(parseRoute("").screen, "tasks");
  assert.equal(parseRoute("#/task/%E0%A4%A").screen, "task");
});

test("a point has a task, a lineage, and an offset or a selector", () => {
  const point = (task: string, lineage: number | null, offset: number | null, selector = null) => ({
    task,
    lineage,
    offset,
    selector: selector as string | null,
  });
  assert.deepEqual(parsePoint("essay"), point("essay", null, null));
  assert.deepEqual(parsePoint("essay/2"), point("essay", 2, null));
  assert.deepEqual(parsePoint("essay@7"), point("essay", null, 7));
  assert.deepEqual(parsePoint("a/b/2@41"), point("a/b", 2, 41));
  assert.deepEqual(parsePoint("essay/02@1"), point("essay/02", null, 1));
  assert.equal(parsePoint("essay@step-3").selector, "step-3");
  assert.equal(parsePoint("@1f2e3d4c").selector, "1f2e3d4c");
  assert.equal(formatPoint("a/b", 2, 41), "a/b/2@41");
});

test("a code leads to its address, and to nothing else", () => {
  assert.equal(parseCode("#/tasks"), null);
  assert.deepEqual(parseCode("#code=abc&to=%2Ftask%2Fessay"), { code: "abc", to: "#/task/essay" });
  assert.deepEqual(parseCode("#code=abc"), { code: "abc", to: "#/tasks" });
});
