// No control character of a log is drawn as it is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { h, options } from "preact";
import { marked, markTexts } from "../../src/text/marks.ts";

test("control and bidi characters have names, other texts are unchanged", () => {
  assert.equal(marked("m\u202eabc"), "mU+202Eabc");
  assert.equal(marked("a\u001b[31mb"), "a␛[31mb");
  assert.equal(marked("a\tb\nc 漢字 é"), "a\tb\nc 漢字 é");
});

test("each text and each name that is drawn is marked", () => {
  const before = options.vnode;
  markTexts();
  const made = h("span", { title: "a\u202eb", "aria-label": "\u001b", "data-of": "a\u202eb" });
  const props: object = made.props;
  assert.deepEqual(
    Object.values(props).slice(0, 3),
    ["aU+202Eb", "␛", "a\u202eb"],
  );
  if (before) options.vnode = before;
});
