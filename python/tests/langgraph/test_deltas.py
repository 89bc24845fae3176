"""What a `DeltaChannel` is rebuilt from: the same as by the walk of LangGraph's own base class."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint

from milepost.langgraph import MilepostSaver

CHANNELS = ["log", "notes", "never"]


def config_of(id: str | None, namespace: str = "") -> Any:
    place = {"thread_id": "t", "checkpoint_ns": namespace}
    return {"configurable": {**place, **({"checkpoint_id": id} if id else {})}}


def grow(saver: Any, chance: random.Random, count: int, namespace: str) -> list[str]:
    """Puts checkpoints behind others, mostly behind the newest, with values and writes of some
    channels. Some have a parent that is not there."""
    ids: list[str] = []
    for number in range(count):
        id = f"id-{number:03}"
        parent = (ids or [None])[-1] if chance.random() < 0.8 else chance.choice([*ids, None])
        parent = parent if chance.randrange(40) else "id-999"
        values = {name: [id, name] for name in CHANNELS[:2] if chance.random() < 0.04}
        checkpoint: Any = {**empty_checkpoint(), "id": id, "channel_values": values}
        versions = {name: saver.get_next_version(None, None) for name in values}
        checkpoint["channel_versions"] = versions
        saver.put(config_of(parent, namespace), checkpoint, {"step": number}, versions)
        for writer in range(chance.randrange(3)):
            writes = [(name, f"{id} {writer} {name}") for name in chance.sample(CHANNELS[:2], 2)]
            saver.put_writes(config_of(id, namespace), writes, f"task {writer}", f"path {-writer}")
        ids.append(id)
    return ids


@pytest.mark.parametrize("seed", range(6))
def test_the_history_is_that_of_the_base_class(seed, shared):
    saver, chance = MilepostSaver(shared), random.Random(seed)
    for namespace, count in (("", 90), ("inner:1", 20)):
        ids = grow(saver, chance, count, namespace)
        for id in [None, "id-999", *chance.sample(ids, 12)]:
            config = config_of(id, namespace)
            due = BaseCheckpointSaver.get_delta_channel_history(
                saver, config=config, channels=CHANNELS
            )
            found = saver.get_delta_channel_history(config=config, channels=CHANNELS)
            assert found == due, id
            ticket = saver.aget_delta_channel_history(config=config, channels=CHANNELS)
            assert asyncio.run(ticket) == due
    assert saver.get_delta_channel_history(config=config_of(None), channels=[]) == {}


def test_a_list_with_the_id_of_a_checkpoint_has_that_one(shared):
    saver = MilepostSaver(shared)
    ids = grow(saver, random.Random(0), 9, "") + grow(saver, random.Random(0), 9, "inner:1")
    for place, id in enumerate(ids):
        namespace = "" if place < 9 else "inner:1"
        found = list(saver.list(config_of(id, namespace)))
        assert [one.config for one in found] == [config_of(id, namespace)]
        later = list(saver.list(config_of(id, namespace), before=config_of(id, namespace)))
        assert later == []


def test_a_checkpoint_that_is_its_own_ancestor_ends_the_history(shared):
    saver = MilepostSaver(shared)
    for id, parent in (("a", "b"), ("b", "a"), ("c", "c"), ("d", "c")):
        checkpoint: Any = {**empty_checkpoint(), "id": id}
        saver.put(config_of(parent), checkpoint, {}, {})
        saver.put_writes(config_of(id), [("log", id)], "task")
    for id, due in (("a", "ab"), ("d", "c")):
        found = saver.get_delta_channel_history(config=config_of(id), channels=["log"])
        assert [value for *_, value in found["log"]["writes"]] == list(due)
