"""A process that is killed at a call of its checkpointer: nothing is lost, nothing done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import crashing
import pytest
from crashing import CONFIG, ROUNDS
from langgraph.types import Command

import milepost
from milepost.langgraph import MilepostSaver

EXPECTED = [
    *(f"{name} {number}" for number in range(ROUNDS) for name in ("left", "right", "join")),
    "answer yes",
]
# More than there are.
CALLS = 60


@pytest.fixture(scope="module")
def program():
    """The program that has a process killed: it takes a second to start."""
    here = Path(__file__)
    paths = [str(here.parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, str(here.with_name("crashing.py"))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as started:

        def killed(*words: Any) -> bool:
            """Returns whether the process was killed, and not at its end before."""
            print(*words, sep="\t", file=started.stdin, flush=True)
            status = int(started.stdout.readline())
            assert status in (0, -signal.SIGKILL)
            return status != 0

        yield killed
        started.stdin.close()


def told(path: Path) -> list[list[str]]:
    try:
        return [line.split(" ", 2) for line in Path(f"{path}.log").read_text().splitlines()]
    except FileNotFoundError:
        return []


def resumed(saver: MilepostSaver, path: Path, durability: str) -> None:
    """Goes on behind a kill, and compares."""
    log = told(path)
    ran: list[str] = []
    graph = crashing.work(saver, lambda word, name, number: ran.append(f"{name} {number}"))
    found = saver.get_tuple(CONFIG)
    stored = {one.checkpoint["id"] for one in saver.list(CONFIG)}
    puts = [words[1] for words in log if words[0] == "put"]
    assert set(puts) <= stored, "an acknowledged checkpoint is lost"
    done = set(found.checkpoint["channel_values"].get("seen", ())) if found else set()
    writes = found.pending_writes if found else []
    written = {value[0] for _, channel, value in writes if channel == "seen" and value}
    for words in log:
        if words[0] == "wrote" and words[1] in stored:
            assert words[2] in done | written, "an acknowledged write is lost"
    graph.invoke(None if found else {"seen": [], "round": 0}, CONFIG, durability=durability)
    state = graph.get_state(CONFIG)
    assert [one.value for one in state.interrupts] == ["question"]
    end = graph.invoke(Command(resume="yes"), CONFIG, durability=durability)
    assert end["seen"] == EXPECTED
    assert graph.get_state(CONFIG).values["seen"] == EXPECTED
    assert len(ran) == len(set(ran))
    assert not done.intersection(ran), "a node of a stored superstep ran again"
    assert not written.intersection(ran), "a node whose writes were stored ran again"
    assert set(ran) | done | written == set(EXPECTED[:-1])


# In one thread a kill behind a call is one before the next.
KILLS = [(False, "async"), (True, "async"), (True, "sync"), (False, "exit"), (True, "exit")]


@pytest.mark.parametrize("behind, durability", KILLS)
def test_a_kill_at_any_call_loses_nothing(behind, durability, mode, program, tmp_path):
    """Before or behind the call; with `socket` the store stays open in this process."""
    kills = 0
    # Each call, or each third one where the process that has the store goes on.
    step = 1 if mode == "native" else 3
    for at in range(1, CALLS, step):
        path = tmp_path / f"store-{at}"
        at = -at if behind else at
        if mode == "native":
            is_killed = program(path, mode, durability, at)
            with MilepostSaver.from_path(path) as saver:
                resumed(saver, path, durability)
        else:
            with milepost.open(path) as store:
                is_killed = program(path, mode, durability, at)
                resumed(MilepostSaver(store), path, durability)
        if not is_killed:
            break
        kills += 1
    assert kills >= (15 // step if durability != "exit" else 1)


def test_a_kill_of_the_process_with_the_store_fails_the_other_and_loses_nothing(program, tmp_path):
    """The other one's call fails; it goes on with a store that it opens itself."""
    path = tmp_path / "store"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, milepost; s = milepost.open(sys.argv[1]); print(1, flush=True); input()",
            str(path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    with holder:
        assert holder.stdout.readline() == "1\n"
        with milepost.open(path) as store:
            assert not store.is_local

            class Killing(MilepostSaver):
                calls = 0

                def put(self, config, checkpoint, metadata, new_versions):
                    Killing.calls += 1
                    if Killing.calls == 4:
                        holder.kill()
                        holder.wait()
                    return super().put(config, checkpoint, metadata, new_versions)

            log = crashing.Log(f"{path}.log")
            graph = crashing.work(Killing(store), log)
            with pytest.raises(milepost.UnavailableError):
                graph.invoke({"seen": [], "round": 0}, CONFIG, durability="sync")
        with MilepostSaver.from_path(path) as saver:
            found = saver.get_tuple(CONFIG)
            assert found.metadata["step"] == 1
            resumed(saver, path, "sync")
