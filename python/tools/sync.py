"""Makes the modules for programs without asyncio. `--check` tells whether they are up to date."""

from __future__ import annotations

import io
import pathlib
import re
import sys
import tokenize

PACKAGE = pathlib.Path(__file__).parent.parent / "milepost"

NAMES = {
    "AsyncRun": "Run",
    "AsyncSpool": "Spool",
    "AsyncDue": "Due",
    "AsyncStore": "Store",
    "AsyncTask": "Task",
    "AsyncIterator": "Iterator",
    "_async": "_sync",
    "_run_async": "_run",
    "_spool_async": "_spool",
    "_due_async": "_due",
    "asynccontextmanager": "contextmanager",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "async_sleep": "sleep",
    "async_reopen": "reopen",
    "async_content": "content",
    "async_lock": "lock",
    "async_ask": "ask",
    "async_pages": "pages",
    "async_lines": "lines",
    "async_next_followed": "next_followed",
    "branch_ticket": "branch",
    "attach_ticket": "attach",
    "attached_ticket": "attached",
}

MADE = {
    "_due_async.py": ("_due.py", "Counts since the last checkpoint of a run"),
    "_spool_async.py": ("_spool.py", "Appends that a store does not accept for a time"),
    "_run_async.py": ("_run.py", "Runs"),
    "_async.py": ("_sync.py", "Stores and tasks"),
}


def sync(name: str) -> str:
    """Returns a source without `async` and `await`."""
    source = (PACKAGE / name).read_text()
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
    waits = r"^( *)if hasattr\(result, \"__await__\"\):\n +result = result\n"
    text = re.sub(waits, r"\1t.no_awaitable(result)\n", text, flags=re.MULTILINE)
    what = MADE[name][1]
    head = f'"""{what} for programs without asyncio. Made of `{name}` by `tools/sync.py`."""'
    return head + text[text.index("\n\n") :]


def main() -> int:
    for name, (target, _) in MADE.items():
        made, path = sync(name), PACKAGE / target
        if "--check" not in sys.argv:
            path.write_text(made)
        elif path.read_text() != made:
            print(f"milepost/{target} is not made of {name}: run tools/sync.py", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
