"""Graphs with the checkpointer have the states and the history that they have with SQLite."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import graphs
import pytest
from graphs import SCENARIOS, Run, played
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from milepost.langgraph import MilepostSaver

DURABILITIES = ["sync", "async", "exit"]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@functools.cache
def expected(scenario: Any, durability: str) -> list[Any]:
    """Returns what a scenario says with SQLite."""
    with SqliteSaver.from_conn_string(":memory:") as saver:
        return played(scenario, Run(saver, durability, is_async=False))


def same(found: list[Any], other: list[Any]) -> None:
    """Fails by the first fact that differs."""
    for number, (one, two) in enumerate(zip(found, other, strict=False)):
        assert one == two, f"fact {number}"
    assert len(found) == len(other)


async def said(scenario: Any, saver: Any, durability: str, is_async: bool) -> list[Any]:
    run = Run(saver, durability, is_async)
    if not is_async:
        return played(scenario, run)
    await scenario(run)
    return run.facts


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_graph_says_what_it_says_with_sqlite(name, durability, is_async, shared):
    scenario = SCENARIOS[name]
    saver = MilepostSaver(shared, serde=graphs.serializer())
    if is_async:
        found = asyncio.run(said(scenario, saver, durability, True))
    else:
        found = played(scenario, Run(saver, durability, is_async=False))
    same(found, expected(scenario, durability))


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_savers_of_langgraph_say_the_same(name, durability, is_async):
    scenario = SCENARIOS[name]

    async def asynchronous():
        memory = await said(scenario, InMemorySaver(), durability, True)
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            return memory, await said(scenario, saver, durability, True)

    if is_async:
        memory, sqlite = asyncio.run(asynchronous())
        same(sqlite, expected(scenario, durability))
    else:
        memory = played(scenario, Run(InMemorySaver(), durability, is_async=False))
    same(memory, expected(scenario, durability))


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
def test_messages_that_are_changed_in_place_are_stored_as_they_were(is_async, shared):
    """Each checkpoint is stored before its tasks run: otherwise it may have the change or not."""
    saver = MilepostSaver(shared)
    scenario = graphs.changed_in_place
    if is_async:
        found = asyncio.run(said(scenario, saver, "sync", True))
    else:
        found = played(scenario, Run(saver, "sync", is_async=False))
    same(found, expected(scenario, "sync"))


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "asyncio"])
def test_three_hundred_steps_are_all_there(is_async, shared):
    saver = MilepostSaver(shared)
    if is_async:
        found = asyncio.run(said(graphs.long, saver, "async", True))
    else:
        found = played(graphs.long, Run(saver, "async", is_async=False))
    same(found, expected(graphs.long, "async"))
