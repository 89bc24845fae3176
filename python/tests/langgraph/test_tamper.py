"""Nine edits of a store: none is accepted with the defaults, all are without key and anchor."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

pytest.importorskip("blake3")

from tamper import Journal

import milepost
from milepost.langgraph import MilepostSaver

PUTS = 6
# What the user of the store has: with the key, the anchor, or both outside of it.
WITH: dict[str, dict[str, Any]] = {
    "key and anchor": {},
    "key": {"anchor": None},
    "anchor": {"key": None},
    "nothing": {"key": None, "anchor": None},
}


def put(saver: Any, thread: str, number: int) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["id"] = f"{thread}{number:04}"
    checkpoint["channel_values"] = {"note": f"note {thread} {number}"}
    checkpoint["channel_versions"] = {"note": f"{number + 1:032}"}
    configurable = {"thread_id": thread, "checkpoint_ns": ""}
    if number:
        configurable["checkpoint_id"] = f"{thread}{number - 1:04}"
    metadata: Any = {"source": "loop", "step": number, "parents": {}, "writer": f"alice {number}"}
    versions = checkpoint["channel_versions"]
    saver.put({"configurable": configurable}, checkpoint, metadata, versions)


def seed(folder: Path, options: dict[str, Any]) -> None:
    """Makes a store of two threads, and keeps an older copy of it beside."""
    for range_, then in ((range(4), True), (range(4, PUTS), False)):
        with milepost.open(folder, **options) as store:
            saver = MilepostSaver(store)
            for number in range_:
                for thread in ("a", "b"):
                    put(saver, thread, number)
        if then:
            shutil.copytree(folder, folder.with_name("older"))


def view(saver: Any) -> list[Any]:
    return [
        (one.checkpoint["id"], one.checkpoint["channel_values"]["note"], one.metadata["writer"])
        for one in saver.list({"configurable": {"thread_id": "a"}})
    ]


class Editor:
    """Somebody who edits the thread `a`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = Journal(folder)
        self.commits = self.journal.commits
        self.a = self.journal.puts(self.journal.task(b"lg:a"))
        self.b = self.journal.puts(self.journal.task(b"lg:b"))
        assert len(self.a) == len(self.b) == PUTS

    def content(self) -> None:
        self.commits[self.a[3]] = self.commits[self.a[3]].replaced((b"note a 3", b"evil a 3"))

    def tail(self) -> None:
        """Bytes before the tail stay, so that no key is needed."""
        self.journal.cut(self.a[4])

    def middle(self) -> None:
        del self.commits[self.a[3]]

    def order(self) -> None:
        names = ((b"a0003", b"a0004"), (b"a0004", b"a0003"), (b"a0002", b"a0003"))
        three, four = (self.commits[self.a[number]] for number in (3, 4))
        # The ids stay in their order.
        self.commits[self.a[3]] = four.replaced((b"a0004", b"a0003"), (b"a0003", b"a0002"))
        self.commits[self.a[4]] = three.replaced(names[0], names[2])

    def forged(self) -> None:
        newest = self.commits[self.a[5]]
        self.commits.append(
            newest.replaced((b"a0005", b"a0006"), (b"a0004", b"a0005"), (b"note a 5", b"evil a 6"))
        )

    def other(self) -> None:
        task = self.journal.task(b"lg:a")
        names = ((b"b0005", b"a0005"), (b"b0004", b"a0004"))
        self.commits[self.a[5]] = self.commits[self.b[5]].replaced(*names, task=task)

    def older(self) -> None:
        names = ((b"a0002", b"a0005"), (b"a0001", b"a0004"))
        self.commits[self.a[5]] = self.commits[self.a[2]].replaced(*names)

    def metadata(self) -> None:
        self.commits[self.a[3]] = self.commits[self.a[3]].replaced((b"alice 3", b"mally 3"))

    def whole(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.folder.with_name("older"), self.folder)

    def edit(self, name: str) -> None:
        getattr(self, name)()
        if name not in ("tail", "whole"):
            self.journal.write()
        # The index is built anew: without the key it cannot be.
        try:
            milepost.open(self.folder, key=None, anchor=None).close()
        except (milepost.InvalidError, milepost.CorruptError):
            pass


ORIGINAL = [(f"a{n:04}", f"note a {n}", f"alice {n}") for n in reversed(range(PUTS))]


def changed(**by_number: tuple[str, str] | None) -> list[Any]:
    """Returns what is read with other values of some checkpoints."""
    found: dict[int, Any] = {int(id[1:]): (id, note, writer) for id, note, writer in ORIGINAL}
    for name, values in by_number.items():
        number = int(name[1:])
        found.pop(number, None)
        if values:
            found[number] = (f"a{number:04}", *values)
    return [found[number] for number in sorted(found, reverse=True)]


EDITS: dict[str, list[Any]] = {
    "content": changed(a3=("evil a 3", "alice 3")),
    "tail": changed(a4=None, a5=None),
    "middle": changed(a3=None),
    "order": changed(a3=("note a 4", "alice 4"), a4=("note a 3", "alice 3")),
    "forged": changed(a6=("evil a 6", "alice 5")),
    "other": changed(a5=("note b 5", "alice 5")),
    "older": changed(a5=("note a 2", "alice 2")),
    "metadata": changed(a3=("note a 3", "mally 3")),
    "whole": changed(a4=None, a5=None),
}
# Whose edits are accepted: what is behind the anchor is growth, and a key does not know the time.
ACCEPTED: dict[str, set[str]] = {
    "key and anchor": set(),
    "key": {"tail", "whole"},
    "anchor": {"forged"},
    "nothing": set(EDITS),
}


def read(folder: Path, mode: str, options: dict[str, Any]) -> list[Any] | None:
    """Returns what is read of a store, or `None` if it is refused: at opening, or by `verify`."""
    try:
        with milepost.open(folder, **options) as native:
            if mode == "native":
                return view(MilepostSaver(native)) if native.verify()["ok"] else None
            with milepost.open(folder, **options) as store:
                return view(MilepostSaver(store)) if store.verify()["ok"] else None
    except milepost.CorruptError:
        return None


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    """A folder with a store for each of what the user has."""
    folder = tmp_path_factory.mktemp("seeded")
    for name, options in WITH.items():
        (folder / name).mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_DATA_HOME", str(folder / name / "data"))
            patch.setenv("XDG_STATE_HOME", str(folder / name / "state"))
            seed(folder / name / "store", options)
    return folder


@pytest.fixture(params=list(WITH))
def having(request, seeded, tmp_path):
    """The name of what the user has, with a copy of the store, and the folders outside of it."""
    for name in ("store", "older", "data", "state"):
        if (seeded / request.param / name).exists():
            shutil.copytree(seeded / request.param / name, tmp_path / name)
    return request.param


def test_a_store_that_nobody_edited_is_read(having, mode, tmp_path):
    assert read(tmp_path / "store", mode, WITH[having]) == ORIGINAL


@pytest.mark.parametrize("having", ["anchor", "nothing"], indirect=True)
def test_an_edit_of_nothing_writes_the_same_journal(having, tmp_path):
    journal = Journal(tmp_path / "store")
    before = journal.path.read_bytes()
    journal.write()
    assert journal.path.read_bytes() == before


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_accepted_only_without_what_would_reveal_it(edit, having, mode, tmp_path):
    Editor(tmp_path / "store").edit(edit)
    found = read(tmp_path / "store", mode, WITH[having])
    if edit in ACCEPTED[having]:
        assert found == EDITS[edit]
    else:
        assert found is None
