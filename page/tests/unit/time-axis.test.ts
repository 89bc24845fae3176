import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bucket } from "../../src/api/types.ts";
import { along, timeAxis, timesOf } from "../../src/task/time-axis.ts";

function buckets(...times: number[]): Bucket[] {
  return times.map((time, i) => ({
    from: i * 2,
    events: 2,
    steps: 0,
    calls: 0,
    failed: 0,
    marks: 0,
    time_us: time,
  }));
}

const OPENED = { at: 7, time: 55 };

test("a lineage without buckets has the time of its opening", () => {
  assert.deepEqual(timesOf([], OPENED), { offsets: [7], times: [55] });
});

test("a clock that was set back takes no event back", () => {
  const { offsets, times } = timesOf(buckets(10, 30, 20, 40), OPENED);
  assert.deepEqual(offsets, [0, 2, 4, 6]);
  assert.deepEqual(times, [10, 30, 30, 40]);
});

test("a value between two points is on the line between them", () => {
  const value = (x: number) => along([0, 2, 4, 10], [10, 20, 20, 50], x);
  assert.deepEqual([-1, 0, 1, 2, 3, 4, 7, 10, 99].map(value), [
    10, 10, 15, 20, 20, 20, 35, 50, 50,
  ]);
});

test("an axis of times has all of them, as far apart as they are", () => {
  const lanes = [timesOf(buckets(100, 110, 130), OPENED), timesOf(buckets(105, 5_000), OPENED)];
  const axis = timeAxis(lanes, false);
  assert.equal(axis.length, 4_900);
  assert.deepEqual(axis.breaks, []);
  assert.deepEqual([100, 105, 130, 5_000].map(axis.placeOf), [0, 5, 30, 4_900]);
  assert.deepEqual([0, 5, 30, 4_900].map(axis.timeAt), [100, 105, 130, 5_000]);
});

test("idle time is a gap of over twenty times the median, and takes the room of a break", () => {
  // Gaps of 10, and three longer ones.
  const times = [0, 10, 20, 220, 230, 431, 441, 1_000_441];
  const axis = timeAxis([timesOf(buckets(...times), OPENED)], true);
  assert.deepEqual(
    axis.breaks.map((one) => one.time),
    [201, 1_000_000],
  );
  // What is left is 240, of which a break is a fiftieth.
  assert.ok(Math.abs(axis.length - 240 - 2 * 4.8) < 1e-9);
  assert.equal(axis.placeOf(220), 220);
  for (const time of times) assert.ok(Math.abs(axis.timeAt(axis.placeOf(time)) - time) < 1e-3);
});

test("many breaks leave most of the room to the events", () => {
  const times = Array.from({ length: 900 }, (_, i) => i * 10 + (i % 6 === 5 ? 1e6 * i : 0));
  times.sort((a, b) => a - b);
  const axis = timeAxis([timesOf(buckets(...times), OPENED)], true);
  const cut = axis.breaks.reduce((sum, one) => sum + one.to - one.from, 0);
  assert.ok(axis.breaks.length > 100);
  assert.ok(cut < axis.length * 0.24, `${cut} of ${axis.length}`);
});

test("an axis of one time has no length and no gap", () => {
  const axis = timeAxis([timesOf(buckets(5), OPENED)], true);
  assert.deepEqual([axis.length, axis.placeOf(5), axis.timeAt(0)], [0, 0, 5]);
});
