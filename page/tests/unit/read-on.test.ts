import assert from "node:assert/strict";
import { test } from "node:test";
import { readWhole } from "../../src/api/read-on.ts";

interface Answer {
  read: number;
  head: number;
}

function answers(...all: [read: number, head: number][]) {
  const given: Answer[] = [];
  const load = () => {
    const [read, head] = all[Math.min(given.length, all.length - 1)]!;
    given.push({ read, head });
    return Promise.resolve(given.at(-1)!);
  };
  return { given, load };
}

test("a history is asked for until the service has read all events", async () => {
  const { given, load } = answers([100, 300], [250, 300], [301, 301]);
  assert.deepEqual(await readWhole(load, (found) => [found]), { read: 301, head: 301 });
  assert.equal(given.length, 3);
});

test("a history that is known is asked for once", async () => {
  const { given, load } = answers([300, 300]);
  await readWhole(load, (found) => [found]);
  assert.equal(given.length, 1);
});

test("an answer with several histories is whole when each of them is", async () => {
  const { given, load } = answers([1, 9], [5, 9], [9, 9]);
  const done = { read: 4, head: 4 };
  await readWhole(load, (found) => [done, found]);
  assert.equal(given.length, 3);
});

test("reading ends when the service reads no further", async () => {
  const { given, load } = answers([5, 9]);
  assert.deepEqual(await readWhole(load, (found) => [found], 0), { read: 5, head: 9 });
  assert.equal(given.length, 21);
});
