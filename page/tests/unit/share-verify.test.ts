import assert from "node:assert/strict";
import { test } from "node:test";
import type { Verdict } from "../../src/share/verify/verifier.ts";
import { CONTROL, Line } from "../../src/share/verify/line.ts";
import { encodeBody } from "../../src/share/verify/event.ts";
import {
  eventIn,
  lineWith,
  linesOf,
  replaced,
  sealed,
  sparse,
  verify,
  withoutBody,
} from "./share-export.ts";
import type { Fields } from "./share-export.ts";

const life = linesOf("life.jsonl");

function whole(verdict: Verdict, events: number) {
  const { faults, faultsMore, digest } = verdict;
  assert.deepEqual({ faults, faultsMore, digest }, { faults: [], faultsMore: 0, digest: true });
  assert.deepEqual([verdict.events, verdict.whole], [events, events]);
}

/** Asserts that there are faults, and that the first one says this of this line. */
function fault(lines: readonly string[], what: RegExp, line?: number) {
  const { faults } = verify(lines);
  assert.ok(faults[0], `no fault: ${what}`);
  assert.match(faults[0].what, what);
  if (line !== undefined) assert.equal(faults[0].line, line);
}

/** Changes a line of `life` and seals the file again. */
function changed(line: number, from: string | RegExp, to: string): string[] {
  const text = life[line - 1]!.replace(from, to);
  assert.notEqual(text, life[line - 1]);
  return replaced(life, { [line]: text });
}

test("exports are whole, and end as their task states", () => {
  for (const name of [
    "weird.jsonl",
    "life.jsonl",
    "life-files.jsonl",
    "trimmed.jsonl",
    "long.jsonl.gz",
  ]) {
    const lines = linesOf(name);
    const verdict = verify(lines);
    whole(verdict, lines.filter((line) => line.startsWith('{"log":')).length);
    const task = JSON.parse(lines[1]!) as { heads: Verdict["heads"]; active: string };
    assert.deepEqual(verdict.heads, task.heads, name);
    assert.equal(verdict.head, task.heads.find(({ log }) => log === task.active)!.hash, name);
    assert.deepEqual(sealed(lines), lines, name);
  }
  assert.equal(verify(life).keyed, false);
});

test("a share has one task: another one with the sender's head proves nothing of the first", () => {
  const [weird, trimmed] = [linesOf("weird.jsonl"), linesOf("trimmed.jsonl")];
  const header = weird[0]!.replace('"tasks":"1"', '"tasks":"2"');
  const tasks = [...weird.slice(1, -1), ...trimmed.slice(1, -1)];
  fault(sealed([header, ...tasks, ""]), /a second task: a share has one/);
  fault(sealed([weird[0]!, ...tasks, ""]), /a second task: a share has one/);
});

test("the file of a keyed store has no hash to compare, all else is compared", () => {
  const lines = linesOf("keyed.jsonl");
  const verdict = verify(lines);
  assert.deepEqual(
    [verdict.faults, verdict.keyed, verdict.whole, verdict.digest],
    [[], true, 0, true],
  );
  const mark = lineWith(lines, '"label":"one"');
  const other = (from: string | RegExp, to: string) =>
    replaced(lines, { [mark]: lines[mark - 1]!.replace(from, to) });
  fault(other('"label":"one"', '"label":"two"'), /the checkpoint that it marks/, mark);
  fault(other(/"at":"\d+"/, '"at":"7"'), /comes next/, mark);
});

for (const stride of [1, 3, 100]) {
  const lines = sparse(life, stride);
  test(`a changed byte of an export is found, with each hash ${stride} of a log`, () => {
    // No hash covers the name, the user and the time of a task.
    const free = /^\{"task":"(\w+)","user":"(\w+)","created_us":"(\d+)"/d.exec(lines[1]!)!;
    const isFree = (line: number, at: number) =>
      line === 2 && free.indices!.slice(1).some(([from, to]) => at >= from && at < to);
    let [found, notFound] = [0, 0];
    for (let line = 1; line < lines.length; line++) {
      const text = lines[line - 1]!;
      for (let at = line % 5; at < text.length; at += 5) {
        const other = String.fromCharCode(text.charCodeAt(at) ^ 1);
        const bad = replaced(lines, { [line]: text.slice(0, at) + other + text.slice(at + 1) });
        const { faults, digest, whole } = verify(bad);
        const where = `line ${line}: ${text.slice(0, at)}[${other}]`;
        assert.equal(digest, true, where);
        assert.equal(faults.length > 0, !isFree(line, at), where);
        assert.ok(whole < 33 || !text.startsWith('{"log"'), where);
        if (faults.length > 0) found++;
        else notFound++;
      }
    }
    assert.ok(found > 1000 && notFound > 2, `${found} ${notFound}`);
  });
}

test("with the hashes of some events a change is found at the next hash", () => {
  for (const stride of [2, 5, 100]) {
    const { heads } = verify(life);
    const lines = sparse(life, stride);
    whole(verify(lines), 33);
    assert.deepEqual(verify(lines).heads, heads);
    const line = lineWith(life, '"text":"in the branch"');
    const text = lines[line - 1]!.replace("in the branch", "in the bramch");
    const verdict = verify(replaced(lines, { [line]: text }));
    const own = (one: string) => (JSON.parse(one) as Fields)["log"] === "1";
    const has = (field: string) => (one: string, at: number) =>
      own(one) && field in (JSON.parse(one) as Fields) && at >= line - 1;
    const next = lines.findIndex(has("hash"));
    // A mark's id has the hash before it.
    const mark = lines.findIndex(has("checkpoint"));
    const found = [next, mark].filter((at) => at >= 0).map((at) => at + 1);
    assert.equal(verdict.faults[0]!.line, found.length > 0 ? Math.min(...found) : 2);
    const before = lines
      .slice(0, line - 1)
      .findLastIndex((one) => own(one) && "hash" in (JSON.parse(one) as Fields));
    const end = next < 0 ? lines.length : next + 1;
    const open = lines.slice(before + 1, end).filter(own);
    assert.equal(verdict.whole, 33 - open.length);
  }
});

test("events before one on trust are compared with what it states", () => {
  const share = sparse(linesOf("share.jsonl"), 1);
  const verdict = verify(share);
  const lines = sparse(share, 100);
  assert.deepEqual(verify(lines), { ...verdict, digest: true });
  const line = lineWith(lines, '"previous"');
  const fields = JSON.parse(lines[line - 1]!) as Fields;
  const { previous, ...rest } = fields;
  fault(replaced(lines, { [line]: JSON.stringify(rest) }), /`previous` is missing/, line);
  const other = String(previous).replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
  const otherLine = JSON.stringify({ ...rest, previous: other });
  fault(replaced(lines, { [line]: otherLine }), /the chain hash is/, line);
  const whole = lineWith(lines, '"salt"');
  const misplaced = lines[whole - 1]!.replace('"salt"', `"previous":"${other}","salt"`);
  fault(replaced(lines, { [whole]: misplaced }), /`previous` of an event/, whole);
});

test("a change without a new last line is found by the digest alone", () => {
  const lines = life.with(1, life[1]!.replace('"user":"ana"', '"user":"eve"'));
  const verdict = verify(lines);
  assert.equal(verdict.digest, false);
  assert.deepEqual(
    verdict.faults.map(({ what }) => what),
    ["its digest is not that of the lines before it"],
  );
});

test("lines that are left out, doubled or moved are found", () => {
  for (let line = 2; line < life.length; line++) {
    assert.ok(verify(sealed(life.toSpliced(line - 1, 1))).faults.length > 0, `${line} left out`);
    assert.ok(
      verify(sealed(life.toSpliced(line, 0, life[line - 1]!))).faults.length > 0,
      `${line} twice`,
    );
  }
  fault([...life, life[4]!], /behind the end/, life.length + 1);
  fault(life.slice(0, -1), /no end/, life.length - 1);
  fault(life.slice(1), /begins with what is in it/, 1);
  fault([], /no end/);
  const cut = life.slice(0, -4);
  fault(sealed([...cut, life.at(-1)!]), /it ends at offset|not in the file/);
});

test("a fault has its place, and those after it are compared with what is stated", () => {
  const line = lineWith(life, '"text":"in the branch"');
  const { faults } = verify(changed(line, "in the branch", "in the bramch"));
  assert.deepEqual(
    faults.map(({ line, log, at }) => ({ line, log, at })),
    [{ line, log: "1", at: "6" }],
  );
});

test("a history with other hashes after a fork does not pass for the same", () => {
  const registered = lineWith(life, "lineage_registered", '"lineage":1,');
  const hash = /"offset":5,"hash":"(\w+)"/.exec(life[registered - 1]!)![1]!;
  const other = hash.replaceAll(/^./g, (digit) => (digit === "0" ? "1" : "0"));
  const { faults } = verify(changed(registered, hash, other));
  assert.ok(faults.some(({ what, log }) => log === "1" && /forks from lineage 0/.test(what)));
});

test("a fork needs the events before it", () => {
  // Lineage 0 ends before the others fork from it; its head is the one after its last event.
  const at = (line: string) => Number((JSON.parse(line) as Fields)["at"]);
  const cut = life.filter((line) => !line.startsWith('{"log":"0"') || at(line) < 4);
  const last = JSON.parse(cut.findLast((line) => line.startsWith('{"log":"0"'))!) as Fields;
  const task = JSON.parse(cut[1]!) as { heads: Fields[] };
  const heads = task.heads.map((head) =>
    head["log"] === "0" ? { ...head, next: "4", hash: last["hash"] } : head,
  );
  fault(
    sealed(cut.with(1, JSON.stringify({ ...task, heads }))),
    /it forks from events of lineage 0 that are not there/,
  );
});

test("a lineage, an activation and a base are those of the control log", () => {
  fault(changed(2, '"active":"2"', '"active":"1"'), /active lineage is 2, and not 1/);
  const trimmed = linesOf("trimmed.jsonl");
  const task = trimmed[1]!.replace(/"begins":\[.*\]/, '"begins":[]');
  const texts = verify(replaced(trimmed, { 2: task })).faults.map(({ what }) => what);
  assert.ok(texts.includes("it begins elsewhere than where it was trimmed"), texts.join());
});

test("a base is in the file", () => {
  const trimmed = linesOf("trimmed.jsonl");
  const base = /"base":"(\w+)"/.exec(trimmed.join())![1]!;
  const without = trimmed.filter((line) => !line.startsWith(`{"chunk":"${base}"`));
  assert.equal(without.length, trimmed.length - 1);
  fault(sealed(without), /its base is missing/, 2);
});

test("bodies as bytes have the same hashes", () => {
  const lines: Record<number, string> = {};
  life.forEach((line, at) => {
    if (!line.includes('"body":')) return;
    const { fields, body, payload, kind, header } = eventIn(line);
    const { body: _body, time_us: _time, ...left } = fields;
    const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
    // Every other line has the body for people.
    const shown = at % 2 === 0 ? `"body":${body},` : "";
    const other = { ...left, header: base64(header), number: kind };
    lines[at + 1] = `${JSON.stringify(other).slice(0, -1)},${shown}"raw":"${base64(payload)}"}`;
  });
  whole(verify(replaced(life, lines)), 33);
});

test("a body for people is the one of the bytes", () => {
  const line = lineWith(life, '"text":"in the branch"');
  const { fields } = eventIn(life[line - 1]!);
  // The file has bytes of another body, so its hash is another: that is not what is compared here.
  const whats = (body: unknown, raw: string, number: number) => {
    const other = { ...fields, number, body, raw: Buffer.from(raw, "hex").toString("base64") };
    return verify(replaced(life, { [line]: JSON.stringify(other) })).faults[0]!.what;
  };
  const message = { kind: "message", role: "user" };
  const hash = /the chain hash is/;
  assert.match(whats(message, "0475736572000000", 13), hash);
  assert.match(whats({ ...message, content: null }, "047573657201046e756c6c0000", 13), hash);
  assert.match(whats({ ...message, content: [] }, "047573657201025b5d0000", 13), hash);
  // [newline] is [space] in the body.
  const spaced = JSON.stringify({ ...message, content: 0 }).replace("0", "[ ]");
  const raw = Buffer.from("047573657201035b0a5d0000", "hex").toString("base64");
  const text = JSON.stringify({ ...fields, number: 13, body: 0, raw }).replace(
    '"body":0',
    `"body":${spaced}`,
  );
  assert.match(verify(replaced(life, { [line]: text })).faults[0]!.what, hash);
  const data = { kind: "application", name: "a", data: { base64: "AP8=" } };
  const json = Buffer.from('{"base64":"AP8="}').toString("hex");
  assert.match(whats(data, "016101" + "0200ff", 21), hash);
  assert.match(whats(data, "016100" + "11" + json, 21), hash);
  const other = /its `body` is not what `raw` holds/;
  assert.match(whats({ ...message, role: "uses" }, "0475736572000000", 13), other);
  assert.match(whats(message, "047573657200000000", 13), other);
  assert.match(whats({ kind: "prompt_changed", prompt: "user" }, "0475736572", 4), other);
});

test("the worker answers each part, and gives the verdict", async () => {
  const answers: unknown[] = [];
  const global = globalThis as Record<string, unknown>;
  global.postMessage = (answer: unknown) => answers.push(answer);
  global.onmessage = null;
  await import("../../src/share/verify/worker.ts");
  const send = global.onmessage as unknown as (message: { data: unknown }) => void;
  send({ data: { lines: life.slice(0, 10) } });
  send({ data: { lines: life.slice(10) } });
  send({ data: { end: true } });
  const [first, second, last] = answers as { progress: number; events: number; verdict: Verdict }[];
  assert.deepEqual([first!.events, second!.events], [8, 33]);
  const bytes = (lines: string[]) => Buffer.byteLength(lines.join("\n")) + 1;
  assert.equal(first!.progress, bytes(life.slice(0, 10)));
  assert.equal(second!.progress, bytes(life.slice(0, -1)));
  assert.deepEqual(last!.verdict, verify(life));
});

test("a list of chunks needs its chunks", () => {
  const long = linesOf("long.jsonl.gz");
  const at = lineWith(long, '"chunked":[');
  const { fields, payload, form } = eventIn(long[at - 1]!);
  assert.equal(form, 1);
  const { body: _body, chunked, ...left } = fields;
  const line = JSON.stringify({
    ...left,
    number: 13,
    list: Buffer.from(payload).toString("base64"),
  });
  const split = Line.of(long[at - 1]!, "body");
  const [start, tail] = chunked as [number, number];
  const content = encodeBody(split, 0, "body").payload.slice(start, -tail);
  const count = Math.ceil(content.length / 262_144);
  const first = payload.length - tail - 1 - 32 * count;
  const ids = [...Array(count).keys()].map((part) => ({
    chunk: Buffer.from(payload.subarray(first + 32 * part).subarray(0, 32)).toString("hex"),
    base64: Buffer.from(content.subarray(262_144 * part, 262_144 * (part + 1))).toString("base64"),
  }));
  const chunks = ids.map((chunk) => JSON.stringify(chunk));
  const before = long.with(at - 1, line);
  whole(verify(sealed(before.toSpliced(2, 0, ...chunks))), 5);
  fault(sealed(before.toSpliced(2, 0, ...chunks.slice(1))), /did not come before/);
  fault(sealed(before), /did not come before/);
  const other = chunks.with(0, chunks[0]!.replace('"base64":"', '"base64":"AAAA'));
  fault(sealed(before.toSpliced(2, 0, ...other)), /the chunk has the id/, 3);
});

/** `life` in version 2. */
function version2(by: Record<number, string>): string[] {
  return replaced(life, {
    1: life[0]!.replace('"milepost_export":1', '"milepost_export":2'),
    ...by,
  });
}

test("withheld events are in the chain, trusted ones are taken", () => {
  whole(verify(version2({})), 33);
  const lines: Record<number, string> = {};
  let count = 0;
  life.forEach((line, at) => {
    if (!line.includes('"body":')) return;
    const { hash, body } = eventIn(line);
    // What the control log says of lineages is shown.
    const shown = line.includes('"log":"control"') ? { shown: JSON.parse(body) as unknown } : {};
    lines[at + 1] = withoutBody(line, { withheld: hash, ...shown });
    count++;
  });
  const verdict = verify(version2(lines));
  whole(verdict, 33);
  assert.deepEqual([verdict.withheld, verdict.trusted], [count, 0]);
  assert.equal(verdict.head, verify(life).head);

  const line = lineWith(life, '"text":"in the branch"');
  const { hash } = eventIn(life[line - 1]!);
  const other = hash.startsWith("0") ? `1${hash.slice(1)}` : `0${hash.slice(1)}`;
  fault(
    version2({ [line]: withoutBody(life[line - 1]!, { withheld: other }) }),
    /chain hash/,
    line,
  );
  const trusted = withoutBody(life[line - 1]!, { trusted: true, actor: "[redacted:api-key]" });
  const taken = verify(version2({ [line]: trusted }));
  assert.deepEqual([taken.faults, taken.whole, taken.withheld, taken.trusted], [[], 32, 0, 1]);
  // The end of the log is the one that is stated.
  const otherEnd = trusted.replace(/"hash":"./, (text) =>
    text.endsWith("0") ? '"hash":"1' : '"hash":"0',
  );
  assert.ok(verify(version2({ [line]: otherEnd })).faults.length > 0);
});

test("the export of a share is whole but for what is on trust", () => {
  const lines = linesOf("share.jsonl");
  const { faults, digest, events, whole, withheld, trusted, head } = verify(lines);
  assert.deepEqual({ faults, digest }, { faults: [], digest: true });
  const count = (...texts: string[]) =>
    lines.filter((l) => texts.every((t) => l.includes(t))).length;
  assert.equal(withheld, count('"withheld":"'));
  assert.equal(trusted, count('"trusted":true'));
  assert.ok(withheld > 5 && trusted > 1, `${withheld} ${trusted}`);
  assert.equal(whole, events - trusted);
  assert.match(lines[1]!, new RegExp(head));
  // Each hash is compared: that of a body, and that after the event.
  lines.forEach((line, at) => {
    const hashes = /"(?:withheld|hash)":"./g;
    if (!line.startsWith('{"log"') || line.includes('"trusted"')) return;
    for (const { index, 0: text } of line.matchAll(hashes)) {
      const other = text.slice(0, -1) + (text.endsWith("0") ? "1" : "0");
      const changed = line.slice(0, index) + other + line.slice(index + text.length);
      assert.ok(verify(replaced(lines, { [at + 1]: changed })).faults.length > 0, changed);
    }
  });
});

test("forms of version 2 have their rules", () => {
  const line = lineWith(life, '"text":"in the branch"');
  const text = life[line - 1]!;
  const { hash, fields } = eventIn(text);
  const withheld = withoutBody(text, { withheld: hash });
  fault(replaced(life, { [line]: withheld }), /of version 2/, line);
  const of = (more: Record<string, unknown>) => version2({ [line]: withoutBody(text, more) });
  fault(of({ withheld: hash, salt: fields.salt }), /`salt` of a body/, line);
  fault(of({ withheld: hash, trusted: true }), /one of/, line);
  fault(of({ trusted: false }), /one of/, line);
  fault(of({ withheld: hash, body: fields.body }), /one of/, line);
  fault(
    version2({ [line]: JSON.stringify({ ...fields, shown: {} }) }),
    /`shown` of an event/,
    line,
  );
  const mark = lineWith(life, '"label":"two"');
  const marked = withoutBody(life[mark - 1]!, {
    withheld: eventIn(life[mark - 1]!).hash,
    checkpoint: "ab".repeat(32),
  });
  assert.deepEqual(verify(version2({ [mark]: marked })).faults, []);
  // A lineage whose registration is not shown opens where its first event says.
  const registered = lineWith(life, "lineage_registered", '"lineage":1,');
  const hidden = withoutBody(life[registered - 1]!, {
    withheld: eventIn(life[registered - 1]!).hash,
  });
  assert.deepEqual(verify(version2({ [registered]: hidden })).faults, []);
  assert.equal(eventIn(life[registered - 1]!).kind, 259);
  assert.equal(CONTROL, 4_294_967_295);
});

test("lines that are none of an export are faults with their number, and nothing throws", () => {
  const event = life[5]!;
  const lines = [
    "",
    " ",
    "{",
    "null",
    "[]",
    '"log"',
    '{"log"',
    '{"log":}',
    '{"nothing":1}',
    '{"milepost_export":1}',
    '{"task":"x"}',
    '{"chunk":"","base64":""}',
    '{"log":"0"}',
    '{"log":0,"at":"1"}',
    '{"log":"-1","at":"1"}',
    '{"log":"4294967295","at":"1"}',
    '{"log":"00","at":"1"}',
    '{"log":"9","at":"0","time_us":"1","salt":"","body":{}}',
    '{"log":"0","at":"18446744073709551615"}',
    '{"log":"0","at":"18446744073709551616"}',
    '{"end":{},"digest":""}',
    '{"end":{"tasks":"1","events":"1","chunks":"0"}}',
    "\ud800",
    "\0",
    `{"log":"0","x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
    `{"log":"0",${"[".repeat(100_000)}`,
    `{"task":"a","heads":${'[{"log":'.repeat(100)}`,
    `${event}${event}`,
    event.replace("{", '{"log":"0",'),
    event.replace("{", '{"__proto__":1,'),
    event.replace('"body":', '"body":1,"body":'),
    event.replace(/"body":.*/, '"body":{"kind":"__proto__"}}'),
    event.replace(/"body":.*/, '"body":[]}'),
    event.replace(/"hash":"\w+",/, ""),
    event.replace(/"salt":"\w+"/, '"salt":null'),
    life[1]!.replace(/"heads":.*/, '"heads":{}}'),
    life[1]!.replace(/"origin":"\w+"/, '"origin":""'),
  ];
  for (const [at, line] of lines.entries()) {
    const { faults } = verify(sealed([...life.slice(0, 12), line, ...life.slice(12)]));
    const said = `${at}: ${line.slice(0, 80)}: ${JSON.stringify(faults[0])}`;
    assert.ok(
      faults.some((fault) => fault.line === 13),
      said,
    );
    assert.ok(verify([line]).faults.length > 0);
    assert.ok(verify([life[0]!, line, life[1]!]).faults.length > 0);
  }
  const many = verify([life[0]!, ...Array<string>(250).fill("x")]);
  assert.deepEqual([many.faults.length, many.faultsMore], [100, 151]);
});

test("random changes never throw, and never pass", () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const weird = linesOf("weird.jsonl");
  for (let round = 0; round < 400; round++) {
    const line = 2 + random(weird.length - 3);
    const text = weird[line]!;
    const [from, length] = [random(text.length), random(12)];
    const put = ['"', "\\", "{", "[", "]", "}", ",", "\\u0000", "1", "é", "😀"][random(11)]!;
    const other = text.slice(0, from) + put + text.slice(from + length);
    if (other === text) continue;
    const { faults } = verify(replaced(weird, { [line + 1]: other }));
    assert.ok(faults.length > 0, other);
  }
});
