"""Writes that are stored before and after their checkpoint."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from typing import Any

import graphs
import pytest
from graphs import SCENARIOS, Run, played
from langgraph.checkpoint.base import empty_checkpoint
from test_graphs import expected, same

from milepost.langgraph import MilepostSaver

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
NAMES = [
    "conversation",
    "forked",
    "interrupted",
    "branches",
    "failed",
    "subgraphs",
    "deltas with snapshots",
]
SLOW = 60


def has_tasks(checkpoint: Any) -> bool:
    return any(name.startswith("branch:to:") for name in checkpoint["channel_values"])


class EarlyWrites(MilepostSaver):
    """Stores a checkpoint only when writes of its tasks are stored: put waits for them."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        # No `defaultdict` of events: two threads that miss the same id make two events.
        self.written: set[str] = set()
        self.writing = threading.Condition()
        self.awritten: Any = defaultdict(asyncio.Event)
        self.early = 0

    def put(self, config, checkpoint, metadata, new_versions):
        if has_tasks(checkpoint) and metadata["source"] == "loop":
            with self.writing:
                assert self.writing.wait_for(lambda: checkpoint["id"] in self.written, SLOW)
        return super().put(config, checkpoint, metadata, new_versions)

    async def aput(self, config, checkpoint, metadata, new_versions):
        if has_tasks(checkpoint) and metadata["source"] == "loop":
            await asyncio.wait_for(self.awritten[checkpoint["id"]].wait(), SLOW)
        return await super().aput(config, checkpoint, metadata, new_versions)

    def put_writes(self, config, writes, task_id, task_path=""):
        self.early += self.get_tuple(config) is None
        try:
            super().put_writes(config, writes, task_id, task_path)
        finally:
            with self.writing:
                self.written.add(graphs.id_of(config))
                self.writing.notify_all()

    async def aput_writes(self, config, writes, task_id, task_path=""):
        self.early += await self.aget_tuple(config) is None
        try:
            await super().aput_writes(config, writes, task_id, task_path)
        finally:
            self.awritten[graphs.id_of(config)].set()


class Deferring(MilepostSaver):
    """Does calls in another order than they came. Reads see all that came before them."""

    late: tuple[str, ...] = ()

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.waiting: list[Any] = []
        self.lock = threading.RLock()
        self.deferred = 0

    def flush(self) -> None:
        with self.lock:
            waiting, self.waiting = self.waiting, []
            for call in waiting:
                call()

    def take(self, name: str, call: Any) -> None:
        with self.lock:
            if name in self.late:
                self.deferred += 1
                self.waiting.append(call)
            else:
                call()

    def put(self, config, checkpoint, metadata, new_versions):
        put = super().put
        self.take("put", lambda: put(config, checkpoint, metadata, new_versions))
        configurable = {**config["configurable"], "checkpoint_id": checkpoint["id"]}
        return {"configurable": configurable}

    def put_writes(self, config, writes, task_id, task_path=""):
        put_writes, writes = super().put_writes, list(writes)
        self.take("put_writes", lambda: put_writes(config, writes, task_id, task_path))

    def get_tuple(self, config):
        self.flush()
        return super().get_tuple(config)

    def list(self, config, **options):
        self.flush()
        yield from super().list(config, **options)


class WritesFirst(Deferring):
    """Stores all writes of a run before the first of its checkpoints."""

    late = ("put",)


class CheckpointsFirst(Deferring):
    """Stores the writes of a checkpoint only when its child is stored."""

    late = ("put_writes",)

    def put(self, config, checkpoint, metadata, new_versions):
        with self.lock:
            waiting, self.waiting = self.waiting, []
        config = super().put(config, checkpoint, metadata, new_versions)
        for call in waiting:
            call()
        return config


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_may_come_when_its_tasks_are_done(name, is_async, shared):
    saver = EarlyWrites(shared)
    run = Run(saver, "async", is_async)
    if is_async:
        asyncio.run(SCENARIOS[name](run))
    else:
        played(SCENARIOS[name], run)
    same(run.facts, expected(SCENARIOS[name], "async"))
    assert saver.early > 0


@pytest.mark.parametrize("name", NAMES)
def test_all_writes_may_come_before_all_checkpoints(name, shared):
    saver = WritesFirst(shared)
    same(played(SCENARIOS[name], Run(saver, "async", False)), expected(SCENARIOS[name], "async"))
    assert saver.deferred > 0


@pytest.mark.parametrize("name", NAMES)
def test_writes_may_come_behind_the_next_checkpoint(name, shared):
    saver = CheckpointsFirst(shared)
    same(played(SCENARIOS[name], Run(saver, "async", False)), expected(SCENARIOS[name], "async"))
    assert saver.deferred > 0


def put(saver: Any, id: str, parent: str | None = None, thread: Any = "t") -> Any:
    checkpoint = empty_checkpoint()
    checkpoint["id"] = id
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    if parent:
        config["configurable"]["checkpoint_id"] = parent
    return saver.put(config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {})


def at(id: str, thread: Any = "t") -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": id}}


def test_a_write_is_stored_once_but_a_special_one_is_replaced(shared):
    saver = MilepostSaver(shared)
    for _ in range(2):
        for value in ("first", "second"):
            saver.put_writes(at("a"), [("channel", value), ("__error__", value)], "task")
        put(saver, "a")
    writes = saver.get_tuple(at("a")).pending_writes
    assert sorted(writes) == [("task", "__error__", "second"), ("task", "channel", "first")]


def test_a_thread_may_be_forked_again_and_again(shared):
    """A fork makes its lineage the active one, while writes of its tasks are stored beside it."""
    graph = graphs.talk(MilepostSaver(shared))
    for turn in range(2):
        graph.invoke({"messages": [graphs.human("text", f"q{turn}")], "seen": []}, graphs.THREAD)
    found = list(graph.get_state_history(graphs.THREAD))
    middle = next(one for one in found if one.next == ("answer",))
    for _ in range(40):
        end = graph.invoke(None, middle.config, durability="async")
        assert [message.id for message in end["messages"]] == ["q0", "q1", "a3"]
    assert len(list(graph.get_state_history(graphs.THREAD))) == len(found) + 40 * 3
