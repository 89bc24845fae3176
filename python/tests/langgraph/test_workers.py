"""Two workers on one thread: one has the store open, the other is on its socket."""

from __future__ import annotations

import threading
from typing import Any

import graphs
import pytest
from graphs import THREAD, id_of
from langgraph.checkpoint.base import empty_checkpoint

import milepost
from milepost.langgraph import MilepostSaver


def child(saver: Any, parent: Any, name: str) -> Any:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"seen": [name]}
    checkpoint["channel_versions"] = {"seen": saver.get_next_version(None, None)}
    metadata = {"source": "loop", "step": 1, "parents": {}, "worker": name}
    return saver.put(parent, checkpoint, metadata, checkpoint["channel_versions"])


@pytest.mark.parametrize("first", [0, 1], ids=["native first", "socket first"])
def test_nothing_is_hidden(first, pair):
    savers = [MilepostSaver(pair[first]), MilepostSaver(pair[1 - first])]
    talks = [graphs.talk(saver) for saver in savers]
    talks[0].invoke({"messages": [graphs.human("question", "q")], "seen": []}, THREAD)
    end = talks[0].get_state(THREAD).config
    for number, graph in enumerate(talks):
        given = {"messages": [graphs.human("more", f"m{number}")], "seen": [f"worker {number}"]}
        graph.invoke(given, end)
    for graph in talks:
        seen = [
            one.values["seen"]
            for one in graph.get_state_history(THREAD)
            if one.next == () and one.parent_config is not None
        ]
        assert {part for one in seen for part in one} >= {"worker 0", "worker 1"}
        children = [one for one in graph.get_state_history(THREAD) if one.parent_config == end]
        assert len(children) == 2


@pytest.mark.parametrize("first", [0, 1], ids=["native first", "socket first"])
def test_the_second_child_is_refused_if_asked_for(first, pair):
    savers = [MilepostSaver(pair[at], on_conflict="raise") for at in (first, 1 - first)]
    root = child(savers[0], {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, "root")
    own = child(savers[0], root, "first")
    for saver in savers:
        with pytest.raises(milepost.ConflictError, match="second child"):
            child(saver, root, "second")
        assert id_of(saver.get_tuple(THREAD).config) == id_of(own)
    child(savers[1], own, "third")
    assert len(list(savers[0].list(THREAD))) == 3


def test_a_graph_of_the_second_worker_fails_and_the_first_goes_on(pair):
    graph, other = (graphs.talk(MilepostSaver(one, on_conflict="raise")) for one in pair)
    graph.invoke({"messages": [graphs.human("question", "q")], "seen": []}, THREAD)
    end = graph.get_state(THREAD).config
    graph.update_state(end, {"seen": ["first"]}, as_node="answer")
    with pytest.raises(milepost.ConflictError, match="second child"):
        other.invoke({"messages": [graphs.human("more", "m")], "seen": []}, end)
    assert graph.get_state(THREAD).values["seen"][-1] == "first"
    graph.invoke(None, THREAD)
    assert "first" in other.get_state(THREAD).values["seen"]


@pytest.mark.parametrize("on_conflict", ["fork", "raise"])
def test_one_of_two_at_once_is_first(on_conflict, pair):
    """Puts children of one checkpoint at the same time, again and again."""
    savers = [MilepostSaver(one, on_conflict=on_conflict) for one in pair]
    parent = child(savers[0], {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, "root")
    gate = threading.Barrier(2)
    stored: list[Any] = [None, None]

    def work(number: int, parent: Any) -> None:
        gate.wait(60)
        try:
            stored[number] = child(savers[number], parent, f"worker {number}")
        except milepost.ConflictError:
            stored[number] = None

    count = 1
    for _ in range(12):
        workers = [threading.Thread(target=work, args=(number, parent)) for number in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        done = [config for config in stored if config]
        assert len(done) == (2 if on_conflict == "fork" else 1)
        count += len(done)
        for saver in savers:
            for config in done:
                assert saver.get_tuple(config).parent_config == parent
            assert len(list(saver.list(THREAD))) == count
        parent = done[-1]
