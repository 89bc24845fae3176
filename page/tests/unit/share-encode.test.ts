import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { blake3 } from "@noble/hashes/blake3.js";
import { Blake3, blake3 as own } from "../../src/share/verify/blake3.ts";
import { ByteWriter } from "../../src/share/verify/bytes.ts";
import { byBytes } from "../../src/share/verify/encode.ts";
import { encodeBody, eventOf } from "../../src/share/verify/event.ts";
import { Chain, bodyHash, checkpointId, chunkedBody } from "../../src/share/verify/hash.ts";
import { CONTROL, Line } from "../../src/share/verify/line.ts";
import { sha256 } from "../../src/share/verify/sha256.ts";
import { Splitter, stringAt } from "../../src/share/verify/split.ts";
import { fromBase64, fromHex, hex } from "../../src/share/verify/text.ts";

/** Lines `NAME: VALUE` of a golden file. */
function golden(name: string): [name: string, value: string][] {
  const text = readFileSync(`../codec/tests/golden/${name}`, "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
}

function encoded(json: string, log: number) {
  const { kind, payload } = encodeBody(Line.of(`{"body":${json}}`, "body"), log, "body");
  return { kind, payload: hex(payload) };
}

const refused = (json: string, log = 0) =>
  assert.throws(() => encoded(json, log), { name: "Invalid" });

test("each body and control event has the bytes of the golden files", () => {
  const json = new Map(golden("json.txt"));
  let seen = 0;
  for (const file of ["bodies.hex", "controls.hex"]) {
    for (const [name, bytes] of golden(file)) {
      const [number, , values] = name.split(" ");
      if (number === "9999") continue;
      const text = json.get(`${number} ${values}`);
      assert.ok(text, name);
      const log = file === "controls.hex" ? CONTROL : 0;
      assert.deepEqual(encoded(text, log), { kind: Number(number), payload: bytes }, name);
      seen++;
    }
  }
  assert.ok(seen > 60, String(seen));
});

test("headers have the bytes of the golden file", () => {
  const lines: Record<string, string> = {
    all: '"time_us":"1731753045000000","actor":"planner","user":"wang1","correlation":"req-1","key":"k","batch":2',
    none: '"time_us":"0"',
  };
  const numbers: Record<string, number> = { all: 13, none: 2 };
  for (const [name, bytes] of golden("header.hex")) {
    let fields = lines[name]!;
    if (name === "all") {
      const view = Buffer.from(bytes, "hex");
      fields = fields.replace("1731753045000000", String(view.readBigUInt64LE(2)));
    }
    const hash = "00".repeat(32);
    const text = `{"log":"0","at":"0",${fields},"hash":"${hash}","number":${numbers[name]},"erased":"${hash}"}`;
    assert.equal(hex(eventOf(Line.of(text), 0, 1, () => {}).header), bytes, name);
    // The same bytes as `header`.
    const base64 = Buffer.from(bytes, "hex").toString("base64");
    const other = text.replace(fields, `"header":"${base64}"`);
    assert.equal(hex(eventOf(Line.of(other), 0, 1, () => {}).header), bytes, name);
    assert.throws(() =>
      eventOf(Line.of(other.replace(/"number":\d+/, '"number":1')), 0, 1, () => {}),
    );
  }
});

test("hashes are those of the tests of the codec", () => {
  const of = (byte: number, length: number) => new Uint8Array(length).fill(byte);
  const utf8 = (text: string) => new TextEncoder().encode(text);
  assert.equal(
    hex(bodyHash(of(0x11, 16), 1, utf8("body"))),
    "69cd91e25fb8a9ad2b7dadfb9ee977b99d207e27659a49cfc4b54228b4515aea",
  );
  const chain = new Chain(of(0x0a, 16), 3);
  assert.equal(
    hex(chain.root()),
    "fd36729a0357cdeeb55e70174ed0585c6642f1641c979f4bb6b0fb9882b33ee4",
  );
  assert.equal(
    hex(chain.next({ next: 40, hash: of(0x44, 32) }, utf8("header"), of(0xee, 32))),
    "bacba4419021aab0172b76538b9f7a86a94fea8a4a31400a464d0c53bc5e6fcc",
  );
  const mark = JSON.stringify({
    kind: "checkpoint_marked",
    at: { next: 40, hash: "44".repeat(32) },
    parent: "bb".repeat(32),
    label: "lunch",
    cause: "before_tool",
    status: "failure",
    metadata: { a: 1 },
    aliases: ["x"],
  });
  const { payload } = encodeBody(Line.of(`{"body":${mark}}`, "body"), 0, "body");
  assert.equal(
    hex(checkpointId(chain, { next: 41, hash: of(0x45, 32) }, 1000, payload)),
    "e884f4a10bb882e1b6cc6d44d1814f9a840daa9ef942fe1f8c8b58917a938c72",
  );
});

test("a chunked body has its ends, and the length and the id of each 256 KiB between them", () => {
  const content = new Uint8Array(600_000).map((_, i) => i % 251);
  const ids = [0, 262_144, 524_288].map((at) => hex(blake3(content.subarray(at, at + 262_144))));
  assert.equal(hex(chunkedBody(content, [0, 0])), `00fcc027090003${ids.join("")}00`);
  const whole = new Uint8Array(600_003);
  whole.set([7, 8]);
  whole.set(content, 2);
  whole.set([9], 600_002);
  assert.equal(hex(chunkedBody(whole, [2, 1])), `020708fcc027090003${ids.join("")}0109`);
  assert.equal(hex(chunkedBody(new Uint8Array(), [0, 0])), "00000000");
  assert.throws(() => chunkedBody(Uint8Array.of(1, 2), [2, 1]), /ends of more bytes/);
});

test("absent fields have their values, null is absent", () => {
  const pairs: [string, string][] = [
    ['{"kind":"tool_returned","call":"c"}', '{"kind":"tool_returned","call":"c","ok":true}'],
    [
      '{"kind":"variables_patched","patch":{}}',
      '{"kind":"variables_patched","form":"merge","patch":{}}',
    ],
    [
      '{"kind":"checkpoint_marked"}',
      '{"kind":"checkpoint_marked","cause":"manual","status":"success"}',
    ],
    ['{"kind":"step_finished","step":1,"result":null}', '{"kind":"step_finished","step":1}'],
    ['{"kind":"step_finished","step":1,"metrics":{}}', '{"kind":"step_finished","step":1}'],
    ['{"step" : 1 , "kind":"step_started" }', '{"kind":"step_started","step":1}'],
    ['{"\\u006bind":"message","ro\\u006ce":"\\u0061"}', '{"kind":"message","role":"a"}'],
  ];
  for (const [short, long] of pairs) assert.deepEqual(encoded(short, 0), encoded(long, 0), short);
});

test("other fields of a message are kept word for word", () => {
  const line =
    '{"kind":"message","role":"u","z":1.0,"":[ 1 ],"a\\u00e9\\n":"\\u00e9", "x" : {"x":1e400} }';
  const extra = '{"z":1.0,"":[ 1 ],"aé\\n":"\\u00e9","x":{"x":1e400}}';
  const out = new ByteWriter();
  out.text("u");
  for (const byte of [0, 0, 1]) out.u8(byte);
  out.text(extra);
  assert.equal(encoded(line, 0).payload, hex(out.from(0)));
});

test("an unknown kind is an application event, in a control log it is refused", () => {
  const line = '{"kind":"tea_break", "minutes": 1.50 }';
  const out = new ByteWriter();
  out.text("tea_break");
  out.u8(0);
  out.text(line);
  assert.deepEqual(encoded(line, 0), { kind: 21, payload: hex(out.from(0)) });
  refused(line, CONTROL);
  refused('{"kind":"step_started","step":1}', CONTROL);
});

test("bodies of another form are refused", () => {
  const bodies = [
    "[1]",
    "{}",
    '{"kind":1}',
    '{"kind":"step_failed","step":1}',
    '{"kind":"step_failed","step":1,"error":"x","why":2}',
    '{"kind":"step_failed","step":1,"step":1,"error":"x"}',
    '{"kind":"step_failed","kind":"step_failed","step":1,"error":"x"}',
    '{"kind":"step_failed","step":1,"error":"\\ud800"}',
    '{"kind":"step_failed","step":1,"error":null}',
    '{"kind":"message","role":"a","role":"b"}',
    '{"kind":"tool_returned","call":"c","ok":1}',
    '{"kind":"tool_returned","call":"c","ok":null}',
    '{"kind":"variables_patched","form":"other","patch":{}}',
    '{"kind":"checkpoint_unmarked","checkpoint":"cc","mark":1}',
    `{"kind":"checkpoint_unmarked","checkpoint":"${"cg".repeat(32)}","mark":1}`,
    `{"kind":"lineage_opened","lineage_type":"root","parent":{"lineage":1,"offset":2,"hash":"${"cc".repeat(32)}","x":1}}`,
    '{"kind":"step_finished","step":1,"metrics":{"a":1e400}}',
    '{"kind":"step_finished","step":1,"metrics":{"a":"1"}}',
    '{"kind":"step_finished","step":1,"metrics":{"a":true}}',
  ];
  for (const step of ["-1", "1.0", "1e3", "18446744073709551616", '"1"', "-0", "[1]"]) {
    bodies.push(`{"kind":"step_started","step":${step}}`);
  }
  for (const body of bodies) refused(body);
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const nested = (levels: number) => `{"kind":"rules_changed","rules":${deep(levels)}}`;
  assert.equal(encoded(nested(100), 0).kind, 9);
  refused(nested(101));
  refused(nested(100_000));
  refused(`{"kind":"message","role":"u","x":${deep(100)}}`);
});

test("numbers take the shortest form at each border", () => {
  const varint = (value: number | bigint) => {
    const out = new ByteWriter();
    out.varint(value);
    return hex(out.from(0));
  };
  const borders: [number | bigint, string][] = [
    [0, "00"],
    [250, "fa"],
    [251, "fbfb00"],
    [65_535, "fbffff"],
    [65_536, "fc00000100"],
    [2 ** 32 - 1, "fcffffffff"],
    [2 ** 32, "fd0000000001000000"],
    [2 ** 53 - 1, "fdffffffffffff1f00"],
    [2n ** 64n - 1n, "fdffffffffffffffff"],
  ];
  for (const [value, bytes] of borders) assert.equal(varint(value), bytes);
  const index = (value: string) =>
    encoded(`{"kind":"data_attached","writer":"","index":${value},"name":"","data":0}`, 0).payload;
  assert.equal(index("-1"), "0001000001" + "30");
  assert.equal(index("-9223372036854775808"), "00fdffffffffffffffff000001" + "30");
  assert.equal(index("9223372036854775807"), "00fdfeffffffffffffff000001" + "30");
  refused('{"kind":"data_attached","writer":"","index":9223372036854775808,"name":"","data":0}');
});

test("texts of each length and alphabet have their UTF-8", () => {
  for (const unit of ["a", "é", "中", "😀", "aé"]) {
    for (const count of [0, 1, 20, 47, 48, 49, 83, 84, 125, 126, 250, 251, 5000, 30_000]) {
      const text = unit.repeat(count);
      const bytes = Buffer.from(text);
      const out = new ByteWriter();
      out.varint(bytes.length);
      const length = hex(out.from(0));
      out.length = 0;
      out.text(`<${text}>`, 1, text.length + 1);
      assert.equal(hex(out.from(0)), length + bytes.toString("hex"), `${count} of ${unit}`);
    }
  }
});

test("names are in the order of their bytes", () => {
  const names = ["𐀀", "\uffff", "é", "", "b", "a", "ab", "\ue000", "\ud7ff"];
  const expected = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual([...names].sort(byBytes), expected);
});

test("base64 and digits are read strictly", () => {
  for (const text of ["", "AP8=", "AA==", "////", "YQ==Yg=="]) {
    const parts = text === "YQ==Yg==" ? "6162" : Buffer.from(text, "base64").toString("hex");
    assert.equal(hex(fromBase64(text)!), parts, text);
  }
  for (const text of [
    "A",
    "AP8",
    "AP9=",
    "AB==",
    "A===",
    "====",
    "AP_=",
    "AP8=\n",
    "é===",
    "AAA=A",
  ]) {
    assert.equal(fromBase64(text), null, text);
  }
  assert.equal(hex(fromHex("00fFA5", 3)), "00ffa5");
  for (const text of ["", "00ff", "00ffa", "00ffag", "00ffa55", "é0ffa5"]) {
    assert.throws(() => fromHex(text, 3), text);
  }
});

test("objects and lists are split word for word", () => {
  const text =
    ' { "a" : [1, {"x":"]}"}] , "b\\"\\\\":"\\\\\\"" ,"c":-1.50e+3,"d":{ },"":null,"a":true } ';
  const fields = new Splitter(text).object("d");
  assert.deepEqual(
    fields.map(({ name, from, to, depth }) => [name, text.slice(from, to), depth]),
    [
      ["a", '[1, {"x":"]}"}]', 2],
      ['b"\\', '"\\\\\\""', 0],
      ["c", "-1.50e+3", 0],
      ["d", "{ }", 1],
      ["", "null", 0],
      ["a", "true", 0],
    ],
  );
  assert.deepEqual(fields[3]!.fields, []);
  const list = ' [ 1 ,"a,b",[ ] , {"x":[[]]}]';
  const items = new Splitter(list).list();
  assert.deepEqual(
    items.map(({ from, to }) => list.slice(from, to)),
    ["1", '"a,b"', "[ ]", '{"x":[[]]}'],
  );
  assert.deepEqual(
    items.map(({ depth }) => depth),
    [0, 0, 1, 3],
  );
  assert.equal(stringAt('"\\u00e9\\/"', 0, 10), "é/");
  // Each backslash is passed once.
  const long = `{"a":"${"\\\\".repeat(500_000)}${'\\"'.repeat(500_000)}"}`;
  assert.equal(new Splitter(long).object()[0]!.to, long.length - 1);
});

test("BLAKE3 is that of another implementation, in one part and in several", () => {
  const all = new Uint8Array(140_000).map((_, i) => (i * 7919) >> 3);
  const lengths = [...Array(2200).keys(), 3072, 4096, 4097, 7168, 8191, 8192, 8193, 16_384, 31_744];
  for (const length of [...lengths, 32_768, 65_536, 65_537, 100_000, 131_072, 140_000]) {
    const bytes = all.subarray(0, length);
    const expected = hex(blake3(bytes));
    assert.equal(hex(own(bytes)), expected, String(length));
    const parts = new Blake3();
    for (let at = 0, step = 1; at < length; at += step, step = ((at * 31) % 3000) + 1) {
      parts.update(all.subarray(at, Math.min(at + step, length)));
    }
    assert.equal(hex(parts.digest()), expected, `${length} in parts`);
  }
  // From the test vectors of BLAKE3.
  const empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
  assert.equal(hex(own(new Uint8Array())), empty);
});

test("SHA-256 is that of Node.js, for each length around its blocks", () => {
  for (const length of [...Array(200).keys(), 1_000, 4_095, 100_000]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 131 + length * 7) % 256);
    const expected = createHash("sha256").update(bytes).digest("hex");
    assert.equal(hex(sha256(bytes)), expected, String(length));
  }
});
