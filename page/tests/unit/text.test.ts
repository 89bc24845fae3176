import "./browser-globals.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsOf } from "../../src/parts/Changes.tsx";
import { Parser } from "../../src/api/stream.ts";
import { applySgr, fences, nameOf, visible } from "../../src/text/visible.ts";

const plain = (text: string) =>
  visible(text)
    .map((piece) => (piece.kind === "text" ? piece.text : `<${nameOf(piece.code)}>`))
    .join("");

test("colours of terminals become styles, and nothing of their sequences is left", () => {
  const pieces = visible(
    "a \u001b[1;31mred\u001b[0m b \u001b[38;5;2mgreen\u001b[39m\u001b[48;2;1;2;3m x",
  );
  assert.deepEqual(
    pieces.map((piece) => (piece.kind === "text" ? [piece.text, piece.style ?? null] : null)),
    [
      ["a ", null],
      ["red", { bold: true, colour: 1 }],
      [" b ", null],
      ["green", { colour: 2 }],
      [" x", null],
    ],
  );
  assert.deepEqual(applySgr("", { bold: true }), {});
  assert.deepEqual(applySgr("97;104", {}), { colour: 15, background: 12 });
});

test("control characters are visible, those of lines stay", () => {
  assert.equal(plain("a\u0000b\tc\nd\r\ne\u0007"), "a<␀>b\tc\nd\ne<␇>");
  assert.equal(plain("over\rwritten"), "over<␍>written");
  assert.equal(plain("\u007f\u0085"), "<␡><U+0085>");
  assert.equal(plain("\u001b]0;title\u0007"), "<␛>]0;title<␇>");
  assert.equal(plain("\u001b[2J"), "<␛>[2J");
});

test("characters that change the direction or hide are marked", () => {
  assert.equal(plain("\u202egnp.exe"), "<U+202E>gnp.exe");
  assert.equal(plain("a\u200bb\u2066c\ufeff"), "a<U+200B>b<U+2066>c<U+FEFF>");
  assert.deepEqual(visible("\u202e"), [{ kind: "bidi", code: 0x202e }]);
  assert.equal(plain("中文 émoji 🙂 text"), "中文 émoji 🙂 text");
});

test("no character of a text is lost", () => {
  for (let code = 0; code < 0x3000; code++) {
    const text = `x${String.fromCharCode(code)}y`;
    assert.ok(plain(text).length >= 3 || text === "x\u001by", code.toString(16));
  }
});

test("code fences are set apart, an open one to the end", () => {
  assert.deepEqual(fences("a\n```js\nb\n```\nc"), [
    { kind: "prose", text: "a" },
    { kind: "code", text: "b", label: "js" },
    { kind: "prose", text: "c" },
  ]);
  assert.deepEqual(fences("```\nx"), [{ kind: "code", text: "x" }]);
  assert.deepEqual(fences("plain"), [{ kind: "prose", text: "plain" }]);
});

test("an event stream is read in pieces of any size", () => {
  const text =
    'id: 0:1\nevent: message\ndata: {"a":\ndata: 1}\n\n: comment\n\r\nid: 0:2\ndata: x\n\n';
  for (let size = 1; size < text.length; size++) {
    const parser = new Parser();
    const found = [];
    for (let i = 0; i < text.length; i += size) found.push(...parser.push(text.slice(i, i + size)));
    assert.deepEqual(found, [
      { id: "0:1", event: "message", data: '{"a":\n1}' },
      { id: "0:2", event: "message", data: "x" },
    ]);
  }
});

test("words that are compared are those of the text, in scripts with and without spaces", () => {
  const text = "naïve words, 写入\n失败 ✗ \u{1f600}";
  assert.deepEqual(wordsOf("a naïve, 写入"), ["a", " ", "naïve", ",", " ", "写", "入"]);
  assert.equal(wordsOf(text).join(""), text);
  assert.deepEqual(wordsOf(""), []);
});
