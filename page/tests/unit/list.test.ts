import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Layout,
  ROWS_LIMIT,
  SCROLL_LIMIT,
  clampTop,
  scaleOf,
  topFor,
  windowOf,
} from "../../src/list/geometry.ts";
import { Paged } from "../../src/list/paged.ts";

test("a layout finds each row by its place, its top and back", () => {
  const layout = new Layout(1000, 46, [
    { item: 3, rows: 4 },
    { item: 0, rows: 1 },
    { item: 999, rows: 2 },
    { item: 2000, rows: 9 },
  ]);
  assert.equal(layout.rows, 1007);
  assert.equal(layout.total, 1000 * 46 + 7 * 28);
  let top = 0;
  for (let flat = 0; flat < layout.rows; flat++) {
    const { item, sub } = layout.place(flat);
    assert.equal(layout.flatOf(item, sub), flat);
    assert.equal(layout.top(flat), top, `top of ${flat}`);
    assert.equal(layout.rowAt(top), flat);
    assert.equal(layout.rowAt(top + layout.heightOf(flat) - 1), flat);
    top += layout.heightOf(flat);
  }
  assert.equal(top, layout.total);
});

test("a layout leaves hidden items out, and asks for the others only", () => {
  const layout = new Layout(
    6000,
    46,
    [
      { item: 10, rows: 2 },
      { item: 40, rows: 9 },
      { item: 5999, rows: 1 },
    ],
    28,
    [
      { item: 5100, rows: 30 },
      { item: 20, rows: 5000 },
      { item: 5990, rows: 4 },
    ],
  );
  assert.equal(layout.shown, 6000 - 5034);
  assert.equal(layout.rows, layout.shown + 3);
  let top = 0;
  for (let flat = 0; flat < layout.rows; flat++) {
    const { item, sub } = layout.place(flat);
    assert.ok(layout.isShown(item));
    assert.equal(layout.flatOf(item, sub), flat);
    assert.equal(layout.top(flat), top, `top of ${flat}`);
    assert.equal(layout.rowAt(top), flat);
    top += layout.heightOf(flat);
  }
  assert.equal(top, layout.total);
  assert.equal(layout.flatOf(4000), layout.flatOf(20));
  assert.equal(layout.beside(20, 1), 5021);
  assert.equal(layout.beside(5021, -1), 20);
  assert.equal(layout.beside(5999, 1), 5999);
  const [first, end] = [layout.flatOf(18), layout.flatOf(5022)];
  assert.deepEqual(layout.ranges(first, end), [
    [18, 21],
    [5021, 5022],
  ]);
  assert.deepEqual(layout.ranges(0, 0), []);
  assert.equal(new Layout(5, 46, [], 28, [{ item: 2, rows: 90 }]).rows, 3);
});

test("a window has the rows in view, never more than the limit", () => {
  const layout = new Layout(3_000_000, 28);
  for (const view of [200, 900, 5000, 20_000]) {
    for (const top of [0, 1_000_003, layout.total - view]) {
      const { first, end } = windowOf(layout, top, view);
      assert.ok(end - first <= ROWS_LIMIT);
      assert.ok(first <= layout.rowAt(top));
      if (view <= 2000) assert.ok(end >= Math.min(layout.rows, layout.rowAt(top + view - 1) + 1));
    }
  }
  assert.deepEqual(windowOf(new Layout(0, 28), 0, 500), { first: 0, end: 0 });
});

test("the scroll bar is scaled beyond the limit, and reaches both ends", () => {
  assert.deepEqual(scaleOf(1000, 500), { space: 1000, ratio: 1 });
  const total = 3_000_000 * 28;
  const { space, ratio } = scaleOf(total, 900);
  assert.equal(space, SCROLL_LIMIT);
  assert.equal((space - 900) * ratio, total - 900);
  assert.equal(clampTop(-5, total, 900), 0);
  assert.equal(clampTop(total, total, 900), total - 900);
});

test("a row is brought into view by the least move", () => {
  const layout = new Layout(100, 20);
  assert.equal(topFor(layout, 10, 100, 200), 100);
  assert.equal(topFor(layout, 2, 100, 200), 40);
  assert.equal(topFor(layout, 20, 100, 200), 220);
});

test("pages are asked for once, and given up when they are out of view", async () => {
  const asked: number[] = [];
  const given: AbortSignal[] = [];
  const list = new Paged<number>(async (from, limit, signal) => {
    asked.push(from);
    given.push(signal);
    await new Promise((done) => setTimeout(done, 5));
    return Array.from({ length: limit }, (_, i) => from + i);
  }, 10);
  list.want([3, 12]);
  list.want([4, 13]);
  assert.deepEqual(asked, [0, 10]);
  list.want([500, 505]);
  assert.deepEqual(
    given.map((signal) => signal.aborted),
    [true, true, false],
  );
  await new Promise((done) => setTimeout(done, 20));
  assert.equal(list.get(503), 503);
  assert.equal(list.get(3), undefined);
  list.want([500, 505]);
  assert.deepEqual(asked, [0, 10, 500]);
  list.dropFrom(503);
  assert.equal(list.get(502), 502);
  assert.equal(list.get(503), undefined);
});

test("a list that grows keeps some items, with those in view and those that came last", async () => {
  const list = new Paged<number>(async (from, limit) => {
    return Array.from({ length: limit }, (_, i) => from + i);
  });
  list.want([200, 220]);
  await new Promise((done) => setTimeout(done));
  for (let from = 1_000; from < 9_000; from += 50) {
    list.put(
      from,
      Array.from({ length: 50 }, (_, i) => from + i),
    );
  }
  const kept = Array.from({ length: 9_000 }, (_, i) => i).filter((i) => list.get(i) === i);
  assert.ok(kept.length <= 1_050, String(kept.length));
  assert.ok([200, 219, 8_950, 8_999].every((i) => kept.includes(i)));
});
