"""An essay that a graph writes: interrupted, killed, resumed, forked in the middle, bisected.

    python essay.py            all of it, in a folder of its own
    python essay.py FOLDER     the same, and the store stays in FOLDER/.milepost

The model is a function, so nothing is downloaded. The program starts itself again as a child, which
is killed in the middle of a node.
"""

from __future__ import annotations

import operator
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import Annotated, Any, TypedDict

import milepost
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from milepost.langgraph import MilepostSaver

CONFIG: Any = {"configurable": {"thread_id": "essay"}}
LINES = 12


class Essay(TypedDict):
    topic: str
    lines: Annotated[list[str], operator.add]
    score: float


def model(topic: str, number: int) -> str:
    """Writes a line. From the ninth on it forgets the topic."""
    return f"{number}: {topic if number < 9 else 'something else'}, once more."


def write(state: Essay) -> dict[str, Any]:
    number = len(state["lines"]) + 1
    if os.environ.get("KILL_AT") == str(number):
        os.kill(os.getpid(), signal.SIGKILL)
    line = model(state["topic"], number)
    return {"lines": [line]}


def judge(state: Essay) -> dict[str, Any]:
    about = sum(state["topic"] in line for line in state["lines"])
    return {"score": about / len(state["lines"])}


def ask(state: Essay) -> dict[str, Any]:
    topic = interrupt("What is the essay about?")
    return {"topic": topic}


def after(state: Essay) -> str:
    return END if len(state["lines"]) >= LINES else "write"


def graph(saver: MilepostSaver) -> Any:
    builder = StateGraph(Essay)
    builder.add_node("ask", ask)
    builder.add_node("write", write)
    builder.add_node("judge", judge)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "write")
    builder.add_edge("write", "judge")
    builder.add_conditional_edges("judge", after)
    return builder.compile(checkpointer=saver)


def child(folder: pathlib.Path) -> None:
    """Answers the question, and writes until it is killed."""
    with MilepostSaver.from_path(folder / ".milepost") as saver:
        graph(saver).invoke(Command(resume="rain"), CONFIG, durability="sync")


def main(folder: pathlib.Path) -> None:
    store = folder / ".milepost"

    print("1. The graph stops at a question.")
    with MilepostSaver.from_path(store) as saver:
        stopped = graph(saver).invoke({"topic": "", "lines": [], "score": 0.0}, CONFIG)
        print("  ", stopped["__interrupt__"][0].value)

    print("2. Another process answers it, and is killed while it writes line 5.")
    environment = {**os.environ, "KILL_AT": "5"}
    command = [sys.executable, __file__, "--child", str(folder)]
    killed = subprocess.run(command, env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL, killed

    print("3. A third one goes on where the second one was killed.")
    with milepost.open(store) as opened:
        saver = MilepostSaver(opened)
        app = graph(saver)
        before = app.get_state(CONFIG)
        print(f"   {len(before.values['lines'])} lines are there, and {before.next[0]} is next")
        done = app.invoke(None, CONFIG)
        assert [line.split(":")[0] for line in done["lines"]] == [str(n + 1) for n in range(LINES)]
        print(f"   {len(done['lines'])} lines, score {done['score']:.2f}")

        print("4. Which checkpoint made the score worse?")
        task = opened.task("lg:essay")
        marks = sorted(task.checkpoints(), key=lambda one: one.at)
        scored = [one for one in marks if opened.state(one)["variables"].get("score")]
        found = opened.bisect(
            scored[0], scored[-1], lambda one, state: state["variables"]["score"] == 1.0
        )
        bad = opened.state(found.bad)["variables"]
        print(
            f"   step {found.bad.metadata['step']}, after {found.tested} looks: {bad['lines'][-1]}"
        )
        assert len(bad["lines"]) == 9

        print("5. A fork there, with a better line.")
        config = {
            "configurable": {
                **CONFIG["configurable"],
                "checkpoint_ns": "",
                "checkpoint_id": found.good.aliases[0],
            }
        }
        while app.get_state(config).next != ("write",):
            config = app.get_state(config).parent_config
        forked = app.update_state(config, {"lines": ["9: rain, as promised."]}, as_node="write")
        better = app.invoke(None, forked)
        print(f"   score {better['score']:.2f} instead of {done['score']:.2f}")
        assert better["score"] > done["score"]

        print("6. Both are there.")
        for lineage in task.lineages():
            active = " (active)" if lineage.active else ""
            print(f"   lineage {lineage.id}: {lineage.head} events{active}")
        print(opened.diff(f"lg:essay/0@{scored[-1].at}", task.address))


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(pathlib.Path(sys.argv[-1]))
    elif len(sys.argv) > 1:
        main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(pathlib.Path(temporary))
