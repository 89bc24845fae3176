// Numbers of JSON stay as they were written.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isExact, parse, stringify } from "../../src/api/numbers.ts";
import type { Json } from "../../src/api/types.ts";

const ODD = [
  "9007199254740993",
  "-9007199254740993",
  "12345678901234567890",
  "1e400",
  "-1E+400",
  "0.1234567890123456789",
  "1".repeat(400),
  "1e-400",
  "-0",
];

test("a number that is rounded is shown as it was written, wherever it is", () => {
  for (const number of ODD) {
    for (const json of [number, `[${number}]`, `{"a":{"b\\"":[1,${number},"x"]},"c":${number}}`]) {
      assert.equal(stringify(parse(json)), json);
    }
    assert.ok(isExact(parse(number) as Json));
  }
});

test("a number that is held exactly stays a number, and a text a text", () => {
  for (const [json, value] of [
    ["1.50", 1.5],
    ["1e3", 1000],
    ["0.1", 0.1],
    ["9007199254740992", 9007199254740992],
    ["-12.25e-2", -0.1225],
    ['"9007199254740993"', "9007199254740993"],
    ['"a\\"9007199254740993\\\\"', 'a"9007199254740993\\'],
    ['["1e400",1.0]', ["1e400", 1]],
  ] as const) {
    assert.deepEqual(parse(json), value);
  }
  assert.throws(() => parse('{"a": 9007199254740993'), SyntaxError);
  assert.throws(() => parse('"9007199254740993'), SyntaxError);
});

test("random numbers have the value that was written", () => {
  const digits = (most: number) =>
    Array.from({ length: 1 + Math.floor(Math.random() * most) }, () => Math.floor(Math.random() * 10))
      .join("");
  for (let i = 0; i < 2000; i++) {
    const whole = String(BigInt(digits(24)));
    const text = `${Math.random() < 0.5 ? "-" : ""}${whole}.${digits(24)}e${digits(3)}`;
    const shown = stringify(parse(`[${text}]`)).slice(1, -1);
    assert.ok(shown === text || Number(shown) === Number(text));
    if (shown !== text) assert.ok(shown.replace(/\D/g, "").length < 30);
  }
});
