"""Threads of `SqliteSaver` that `milepost import` brings into a store go on there."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import graphs
import pytest
from graphs import SCENARIOS, Run, plain, played
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from test_graphs import expected, same

from milepost.langgraph import MilepostSaver

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
THREADS: Any = None


@pytest.fixture
def imported(shared):
    """Imports a database into the store, by the command."""
    command = os.environ.get("MILEPOST")
    if not command:
        pytest.skip("MILEPOST names no command")

    def called(database: Any) -> MilepostSaver:
        line = [command, "--store", shared.name, "import", database]
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return MilepostSaver(shared, serde=graphs.serializer())

    return called


class Moving(BaseCheckpointSaver[str]):
    """A saver whose threads are in a database of SQLite, until they move into a store."""

    def __init__(self, saver: SqliteSaver) -> None:
        super().__init__(serde=saver.serde)
        self.saver: Any = saver

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self.saver.get_next_version(current, channel)

    def put(self, *arguments: Any) -> Any:
        return self.saver.put(*arguments)

    # A graph gives the path of a task to a saver that has the argument.
    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.saver.put_writes(config, writes, task_id, task_path)

    def get_tuple(self, config: Any) -> Any:
        return self.saver.get_tuple(config)

    def list(self, config: Any, **options: Any) -> Any:
        return self.saver.list(config, **options)

    def get_delta_channel_history(self, **options: Any) -> Any:
        return self.saver.get_delta_channel_history(**options)


class MovingRun(Run):
    """A run whose saver moves before one of its invocations."""

    def __init__(self, saver: Moving, durability: str, before: int, move: Any) -> None:
        super().__init__(saver, durability, is_async=False)
        self.left = before
        self.move = move

    async def invoke(self, *arguments: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            self.move()
        return await super().invoke(*arguments)


def stored(saver: Any) -> list[Any]:
    """Returns all that a saver has, with the order of writes."""
    return [
        [plain(part) for part in (one.config, one.checkpoint, one.metadata, one.parent_config)]
        + [[(task, channel, plain(value)) for task, channel, value in one.pending_writes]]
        for one in saver.list(THREADS)
    ]


@pytest.mark.parametrize("durability", ["sync", "exit"])
@pytest.mark.parametrize("before", [2, 3])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_thread_goes_on_where_it_was(name, before, durability, imported, tmp_path):
    database = tmp_path / "threads.sqlite"
    scenario = SCENARIOS[name]
    with SqliteSaver.from_conn_string(str(database)) as sqlite:
        saver = Moving(sqlite)

        def move() -> None:
            moved = imported(database)
            same(stored(moved), stored(sqlite))
            saver.saver = moved

        run = MovingRun(saver, durability, before, move)
        same(played(scenario, run), expected(scenario, durability))
        if run.left > 0:
            # It has fewer invocations: it moves at its end.
            move()
        # A second import changes nothing that the store has.
        found = stored(saver.saver)
        same(stored(imported(database)), found)
