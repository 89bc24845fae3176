"""Makes `milepost/_sync.py` of `milepost/_async.py`. `--check` tells whether it is up to date."""

from __future__ import annotations

import io
import pathlib
import re
import sys
import tokenize

PACKAGE = pathlib.Path(__file__).parent.parent / "milepost"

NAMES = {
    "AsyncStore": "Store",
    "AsyncTask": "Task",
    "AsyncIterator": "Iterator",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "async_ask": "ask",
    "async_pages": "pages",
    "async_lines": "lines",
    "async_next_followed": "next_followed",
    "branch_ticket": "branch",
    "attach_ticket": "attach",
    "attached_ticket": "attached",
}

HEAD = (
    '"""Stores and tasks for programs without asyncio. Made of `_async.py` by `tools/sync.py`."""'
)


def sync(source: str) -> str:
    """Returns the source without `async` and `await`."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = source.splitlines(keepends=True)
    edits: list[tuple[int, int, int, str]] = []
    for token in tokens:
        row, begin = token.start
        end = token.end[1]
        if token.type != tokenize.NAME:
            continue
        if token.string in ("async", "await"):
            edits.append((row, begin, end + 1, ""))
        elif token.string in NAMES:
            edits.append((row, begin, end, NAMES[token.string]))
    for row, begin, end, text in reversed(edits):
        line = lines[row - 1]
        lines[row - 1] = line[:begin] + text + line[end:]
    text = "".join(lines)
    # An append waits in place of its ticket.
    text = re.sub(r"added = self\._native\.submit\(", "added = self._native.append(", text)
    text = re.sub(
        r"        if hasattr\(result, \"__await__\"\):\n            result = result\n", "", text
    )
    return HEAD + text[text.index("\n\n") :]


def main() -> int:
    made = sync((PACKAGE / "_async.py").read_text())
    target = PACKAGE / "_sync.py"
    if "--check" in sys.argv:
        if target.read_text() != made:
            print("milepost/_sync.py is not made of _async.py: run tools/sync.py", file=sys.stderr)
            return 1
        return 0
    target.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
