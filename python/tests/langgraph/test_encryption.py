"""Threads with a serializer that encrypts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import graphs
import pytest
from graphs import SCENARIOS, THREAD, Run, played
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command
from test_graphs import expected, same

import milepost
from milepost.langgraph import MilepostSaver

pytest.importorskip("Crypto")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Longer than what a compressed file may have by chance, and not shortened by a compression.
SECRET = "Wq7!kTz3-secret"
NAMES = ["conversation", "interrupted", "forked", "deltas with snapshots", "values"]


def serializer() -> EncryptedSerializer:
    return EncryptedSerializer.from_pycryptodome_aes(
        graphs.serializer(), key=b"0123456789abcdef" * 2
    )


def bytes_of(folder: Path) -> bytes:
    """Returns the bytes of all files, and those in them that are compressed."""
    import zstandard

    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            found.append(content)
            at = content.find(b"\x28\xb5\x2f\xfd")
            while at >= 0:
                try:
                    unpacked = zstandard.ZstdDecompressor().decompressobj()
                    found.append(unpacked.decompress(content[at:]))
                except zstandard.ZstdError:
                    pass
                at = content.find(b"\x28\xb5\x2f\xfd", at + 4)
    return b"\n".join(found)


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
@pytest.mark.parametrize("name", NAMES)
def test_a_graph_says_what_it_says_without(name, is_async, shared):
    run = Run(MilepostSaver(shared, serde=serializer()), "sync", is_async)
    if is_async:
        asyncio.run(SCENARIOS[name](run))
    else:
        played(SCENARIOS[name], run)
    same(run.facts, expected(SCENARIOS[name], "sync"))


@pytest.mark.parametrize("is_encrypted", [True, False], ids=["encrypted", "plain"])
def test_no_value_is_in_a_file(is_encrypted, mode, tmp_path):
    def used(store: Any) -> None:
        saver = MilepostSaver(store, **({"serde": serializer()} if is_encrypted else {}))
        graph = graphs.talk(saver)
        for turn in range(3):
            message = graphs.human(f"{SECRET} {turn}", f"q{turn}")
            graph.invoke({"messages": [message], "seen": [SECRET]}, THREAD)
        saver.put_writes(saver.get_tuple(THREAD).config, [("seen", [SECRET])], "task")
        asking = graphs.asking(saver)
        other: Any = {"configurable": {"thread_id": "other"}}
        asking.invoke({"seen": [SECRET]}, other)
        asking.update_state(other, {"seen": [SECRET]}, as_node="work")
        asking.invoke(Command(resume=SECRET), {"configurable": {"thread_id": "third"}})
        saver.copy_thread("other", "copy")
        saver.prune(["t"])
        assert saver.get_tuple(THREAD).checkpoint["channel_values"]["seen"][0] == SECRET

    with milepost.open(tmp_path / "store") as native:
        if mode == "native":
            used(native)
        else:
            with milepost.open(tmp_path / "store") as other:
                used(other)
        assert (SECRET.encode() in bytes_of(tmp_path)) != is_encrypted
    # Closed, with what is written then.
    assert (SECRET.encode() in bytes_of(tmp_path)) != is_encrypted
    with MilepostSaver.from_path(tmp_path / "store", serde=serializer()) as saver:
        if is_encrypted:
            values = graphs.talk(saver).get_state(THREAD).values
            assert values["messages"][-2].content == f"{SECRET} 2"


class Masking(JsonPlusSerializer):
    """Stores another name, and keeps the form of the values."""

    def dumps_typed(self, obj):
        encoding, content = super().dumps_typed(obj)
        return encoding, content.replace(b"alice", b"*****")

    def loads_typed(self, data):
        return super().loads_typed((data[0], data[1].replace(b"*****", b"alice")))


def test_a_serializer_made_of_the_default_one_reads_each_value(shared):
    saver = MilepostSaver(shared, serde=Masking())
    checkpoint = empty_checkpoint()
    values = {"name": "alice", "names": ["alice", "bob"], "mixed": ["alice", 1]}
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = versions = dict.fromkeys(values, "1")
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    stored = saver.put(config, checkpoint, {"source": "loop", "step": 1}, versions)
    assert saver.get_tuple(stored).checkpoint["channel_values"] == values
