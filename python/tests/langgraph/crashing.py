"""Runs a graph in a process that is killed at a call of its checkpointer.

The program forks a process for each line on its input, before any store is open in it:
`STORE MODE DURABILITY CALL`. It answers with how that process ended. CALL counts from 1, and is
negative for the moment behind the call. What was done is told by lines of the file `STORE.log`:
`ran NODE STEP`, and behind the return of a call `put STEP` and `wrote NODE STEP`.
"""

from __future__ import annotations

import operator
import os
import signal
import sys
import threading
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

import milepost
from milepost.langgraph import MilepostSaver

CONFIG: Any = {"configurable": {"thread_id": "t"}}
ROUNDS = 3


class Work(TypedDict):
    seen: Annotated[list[str], operator.add]
    round: int


class Log:
    """A file that lines are appended to; they stay when the process is killed."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, *words: Any) -> None:
        os.write(self.file, (" ".join(map(str, words)) + "\n").encode())


def work(saver: Any, log: Any) -> Any:
    """Three rounds of two nodes side by side and one behind them; the end asks."""

    def node(name: str) -> Any:
        def run(state: Any) -> Any:
            number = state["round"]
            log("ran", name, number)
            given: dict[str, Any] = {"seen": [f"{name} {number}"]}
            if name == "join":
                given["round"] = number + 1
            return given

        return run

    def ask(state: Any) -> Any:
        return {"seen": [f"answer {interrupt('question')}"]}

    builder = StateGraph(Work)
    for name in ("left", "right", "join"):
        builder.add_node(name, node(name))
    builder.add_node("ask", ask)
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge("left", "join")
    builder.add_edge("right", "join")

    def on(state: Any) -> Any:
        return "ask" if state["round"] == ROUNDS else ["left", "right"]

    builder.add_conditional_edges("join", on, ["ask", "left", "right"])
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=saver)


class Killed(MilepostSaver):
    """Kills its process at a call."""

    def __init__(self, store: Any, at: int, log: Log) -> None:
        super().__init__(store)
        self.at, self.log, self.calls, self.lock = at, log, 0, threading.Lock()

    def call(self) -> int:
        with self.lock:
            self.calls += 1
            number = self.calls
        self.kill(number)
        return number

    def kill(self, number: int) -> None:
        if number == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def put(self, config, checkpoint, metadata, new_versions):
        number = self.call()
        config = super().put(config, checkpoint, metadata, new_versions)
        self.kill(-number)
        self.log("put", checkpoint["id"], metadata["step"])
        return config

    def put_writes(self, config, writes, task_id, task_path=""):
        number = self.call()
        writes = list(writes)
        super().put_writes(config, writes, task_id, task_path)
        self.kill(-number)
        for channel, value in writes:
            if channel == "seen" and value:
                self.log("wrote", config["configurable"]["checkpoint_id"], value[0])


def run(path: str, mode: str, durability: str, at: int) -> None:
    # As the test that asks has it.
    os.environ["XDG_DATA_HOME"] = os.path.join(os.path.dirname(path), "data")
    os.environ["XDG_STATE_HOME"] = os.path.join(os.path.dirname(path), "state")
    with milepost.open(path) as store:
        assert store.is_local == (mode == "native")
        log = Log(f"{path}.log")
        graph = work(Killed(store, at, log), log)
        graph.invoke({"seen": [], "round": 0}, CONFIG, durability=durability)


def main() -> None:
    for line in sys.stdin:
        path, mode, durability, at = line.split("\t")
        child = os.fork()
        if child == 0:
            try:
                run(path, mode, durability, int(at))
                os._exit(0)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
