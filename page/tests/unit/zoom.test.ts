import "./browser-globals.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bucket } from "../../src/api/types.ts";
import { part, within } from "../../src/task/zoom.tsx";

function buckets(count: number, width: number): Bucket[] {
  return Array.from({ length: count }, (_, i) => ({
    from: i * width,
    events: width,
    steps: 1,
    calls: 2,
    failed: i === 37 ? 1 : 0,
    marks: 0,
  }));
}

test("a part of an overview has the buckets of its range, joined if there are many", () => {
  const all = buckets(2_000, 4);
  assert.deepEqual(
    part(all, [10, 17]).map((one) => one.from),
    [8, 12, 16],
  );
  const joined = part(all, [0, 8_000]);
  assert.equal(joined.length, 200);
  assert.deepEqual(joined[3], {
    from: 120,
    events: 40,
    steps: 10,
    calls: 20,
    failed: 1,
    marks: 0,
  });
  assert.ok(part(all, [0, 7_999], 7).length <= 7);
  assert.deepEqual(part(all, [9_000, 9_100]), []);
});

test("a part stays within what there is; all of it is no part", () => {
  assert.deepEqual(within([-5, 15], 100), [0, 20]);
  assert.deepEqual(within([95, 115], 100), [80, 100]);
  assert.deepEqual(within([10.4, 20.4], 100), [10, 20]);
  assert.equal(within([-50, 200], 100), null);
  assert.equal(within([0, 100], 100), null);
});
