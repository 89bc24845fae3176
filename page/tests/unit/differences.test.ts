import "./browser-globals.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json, LineageSummary } from "../../src/api/types.ts";
import { canonical, differencesOf } from "../../src/compare/differences.ts";
import type { DiffRow, History } from "../../src/compare/differences.ts";

function history(
  address: string,
  state: { [name: string]: Json },
  lineage: Partial<LineageSummary> = {},
): History {
  const none = { steps: 3, calls: 1200, failed: 0 };
  return { address, state, lineage: { id: 0, head: 9, outcome: {}, ...none, ...lineage } };
}

const shown = (rows: readonly DiffRow[]) =>
  rows.map(({ name, cells }) => [name, ...cells.map((one) => one?.text ?? null)]);

test("rows that differ are apart from those that are equal in all histories", () => {
  const { differing, equal } = differencesOf([
    history("a", { metrics: { loss: 0.5, size: 2 }, variables: { "a/b": [1], score: null } }),
    history(
      "b",
      { metrics: { loss: 0.25, size: 2 }, variables: { "a/b": [1] } },
      { failed: 2, usage: { input: 1, output: 2 }, outcome: { value: 1 } },
    ),
  ]);
  assert.deepEqual(shown(differing), [
    ["outcome", null, "1"],
    ["Failed", "0", "2"],
    ["Tokens", null, "3"],
    ["/metrics/loss", "0.5", "0.25"],
    ["/variables/score", "null", null],
  ]);
  assert.deepEqual(shown(equal), [
    ["Steps", "3", "3"],
    ["Calls", "1,200", "1,200"],
    ["Cost", null, null],
    ["/metrics/size", "2", "2"],
    ["/variables/a~1b", "[1]", "[1]"],
  ]);
});

test("the order of names does not count, that of items does", () => {
  assert.equal(canonical({ b: [1, { d: 1, c: 2 }], a: "" }), '{"a":"","b":[1,{"c":2,"d":1}]}');
  assert.notEqual(canonical([1, 2]), canonical([2, 1]));
  assert.notEqual(canonical("1"), canonical(1));
  assert.notEqual(canonical(null), canonical(undefined));
});

test("long values that differ only at their ends differ, and say how long they are", () => {
  const [a, b] = ["x", "y"].map((end) => "书".repeat(400) + end);
  const { differing } = differencesOf([
    history("a", { variables: { text: a! } }),
    history("b", { variables: { text: b! } }),
  ]);
  assert.deepEqual(differing[0]!.cells[0], {
    text: `${"书".repeat(120)}…`,
    cut: 401,
    pointer: "/variables/text",
  });
});

test("a state without variables, or with others than an object, has no rows of them", () => {
  const { differing } = differencesOf([
    history("a", { variables: { toString: 1 } }),
    history("b", { variables: [1] }),
    history("c", {}),
  ]);
  assert.deepEqual(shown(differing), [["/variables/toString", "1", null, null]]);
});
