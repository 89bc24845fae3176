import "./browser-globals.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlignItem, Turn } from "../../src/api/types.ts";
import { linesOf } from "../../src/compare/lines.ts";
import { isSame, merged } from "../../src/compare/merge.ts";
import type { Row } from "../../src/compare/merge.ts";

function turn(name: string, at: number): Turn {
  const call = { call: String(at), tool: name, arguments: "", at };
  return { number: at, turn: 0, first: at, next: at, time_us: 0, calls: [call] };
}

/** Items of an alignment: `=x` is in both, `-x` in the first only, `+x` in the other only. */
function items(text: string): AlignItem[] {
  const counts = { a: 0, b: 0 };
  const next = (side: "a" | "b", name: string) => turn(name, counts[side]++);
  return text
    .split(" ")
    .filter(Boolean)
    .map((word): AlignItem => {
      const name = word.slice(1);
      if (word[0] === "-") return { op: "only_a", a: next("a", name), b: null };
      if (word[0] === "+") return { op: "only_b", a: null, b: next("b", name) };
      const op = word[0] === "~" ? "changed" : "same";
      return { op, a: next("a", name), b: next("b", name) };
    });
}

const of = (text: string, whole = true) => ({ items: items(text), whole });

/** Rows as text: the tool of each history, or a dot. */
function shown(rows: readonly Row[]): string[] {
  return rows.map(({ a, others }) =>
    [a, ...others.map((one) => one?.b ?? null)].map((one) => one?.calls[0]!.tool ?? ".").join(""),
  );
}

test("one alignment is its own rows", () => {
  assert.deepEqual(shown(merged([of("=a -b +c =d +e")])), ["aa", "b.", ".c", "dd", ".e"]);
});

test("alignments meet in the turns of the first history, others are between them", () => {
  const rows = merged([of("=a +x =b =c"), of("=a -b =c +y"), of("+z ~a =b -c")]);
  assert.deepEqual(shown(rows), ["...z", "aaaa", ".x..", "bb.b", "ccc.", "..y."]);
  assert.deepEqual(rows.map(isSame), [false, false, false, false, false, false]);
});

test("a turn that several others have is one row, also behind one of theirs", () => {
  assert.deepEqual(shown(merged([of("=a +x =b"), of("=a +x =b")])), ["aaa", ".xx", "bbb"]);
  assert.deepEqual(shown(merged([of("+x =b"), of("+y +x =b")])), ["..y", ".xx", "bbb"]);
  assert.deepEqual(shown(merged([of("+x +y"), of("+y +x")])), [".x.", ".yy", "..x"]);
});

test("rows reach as far as all alignments are known", () => {
  assert.deepEqual(shown(merged([of("=a =b =c"), of("=a", false)])), ["aaa"]);
  assert.deepEqual(shown(merged([of("=a +x", false)])), ["aa", ".x"]);
  assert.deepEqual(shown(merged([of("", false), of("=a")])), []);
});

test("a history without an alignment leaves the others as they are", () => {
  const rows = merged([null, of("=a +x")]);
  assert.deepEqual(shown(rows), ["a.a", "..x"]);
  assert.deepEqual(rows.map(isSame), [true, false]);
  assert.deepEqual(merged([null]), []);
});

test("each turn of each history is in one row, in its order", () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  for (let round = 0; round < 300; round++) {
    const first = Array.from({ length: random(12) }, () => "abc"[random(3)]!);
    const texts = Array.from({ length: 1 + random(5) }, () => {
      const own = () => Array.from({ length: random(3) }, () => `+${"xyz"[random(3)]}`);
      return [...first.flatMap((name) => [...own(), "=-~"[random(3)]! + name]), ...own()].join(" ");
    });
    const rows = merged(texts.map((text) => of(text)));
    assert.equal(shown(rows).join("").length, rows.length * (texts.length + 1));
    const ofFirst = rows.flatMap((row) => (row.a ? [row.a.calls[0]!.tool] : []));
    assert.deepEqual(ofFirst, texts[0] === "" ? [] : first);
    texts.forEach((text, k) => {
      const found = rows.flatMap((row) => row.others[k]?.b ?? []);
      const theirs = items(text).flatMap((item) => item.b ?? []);
      assert.deepEqual(found, theirs, text);
    });
  }
});

test("equal runs fold, their number stays", () => {
  const lines = linesOf(merged([of("=a =b -c =d")]), true);
  assert.deepEqual(
    lines.map((line) => ("run" in line ? line.run : "row")),
    [2, "row", 1],
  );
});
