"""The checkpointer of LangGraph: its conformance suite, and graphs next to those of SqliteSaver."""

from __future__ import annotations

import operator
import os
import signal
import subprocess
import sys
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite")

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

import milepost
from milepost.langgraph import MilepostSaver

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    seen: Annotated[list[str], operator.add]


@pytest.fixture(params=["native", "socket"])
def store(request, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with milepost.open(tmp_path / "store") as native:
        if request.param == "native":
            yield native
            return
        with milepost.open(tmp_path / "store") as other:
            yield other


def conversation(saver: Any, *, in_place: bool = False) -> Any:
    """Answers, forgets the second message, asks twice at once, and fans out.

    A message that is changed in place is stored before or after the change, unless each checkpoint
    is stored before its tasks run.
    """

    def answer(state):
        number = len(state["messages"])
        if in_place:
            state["messages"][0].content += "!"
        return {"messages": [HumanMessage(f"answer {number}", id=f"a{number}")], "seen": ["answer"]}

    def forget(state):
        return {"messages": [RemoveMessage(id=state["messages"][1].id)], "seen": ["forget"]}

    def fan(state):
        return [Send("part", {"number": number}) for number in range(3)]

    def part(state):
        return {"seen": [f"part {state['number']}"]}

    def ask(name):
        return lambda state: {"seen": [f"{name} {interrupt(name)}"]}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_node("forget", forget)
    builder.add_node("part", part)
    builder.add_node("left", ask("left"))
    builder.add_node("right", ask("right"))
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "forget")
    builder.add_conditional_edges("forget", fan, ["part"])
    builder.add_edge("part", "left")
    builder.add_edge("part", "right")
    builder.add_edge("left", END)
    builder.add_edge("right", END)
    return builder.compile(checkpointer=saver)


def resumed(graph: Any, durability: str) -> Any:
    """Runs the conversation twice, and answers what it asks."""
    for turn in range(2):
        given = {"messages": [HumanMessage(f"question {turn}", id=f"q{turn}")], "seen": []}
        stopped = graph.invoke(given, CONFIG, durability=durability)
        answers = {one.id: f"{one.value}-{turn}" for one in stopped["__interrupt__"]}
        assert len(answers) == 2
        graph.invoke(Command(resume=answers), CONFIG, durability=durability)
    return graph


def told(graph: Any) -> list[Any]:
    """What the history of a thread says, without ids and times."""
    return [
        (
            [(one.id, one.content) for one in found.values.get("messages", [])],
            found.values.get("seen"),
            found.next,
            found.metadata["source"],
            found.metadata["step"],
            sorted(str(one.value) for one in found.interrupts),
        )
        for found in graph.get_state_history(CONFIG)
    ]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_graph_has_the_history_that_it_has_with_sqlite(store, durability):
    in_place = durability == "sync"
    graph = resumed(conversation(MilepostSaver(store), in_place=in_place), durability)
    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        other = resumed(conversation(sqlite, in_place=in_place), durability)
        assert told(graph) == told(other)
        # A fork from the middle, and an update from outside, in both.
        for one in (graph, other):
            history = list(one.get_state_history(CONFIG))
            middle = history[len(history) // 2]
            forked = one.update_state(middle.config, {"seen": ["outside"]}, as_node="part")
            assert one.get_state(forked).values["seen"][-1] == "outside"
            one.invoke(None, forked, durability=durability)
        assert told(graph) == told(other)


async def test_the_asynchronous_methods_do_the_same(store):
    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        expected = told(resumed(conversation(sqlite), "async"))
    graph = conversation(MilepostSaver(store))
    for turn in range(2):
        given = {"messages": [HumanMessage(f"question {turn}", id=f"q{turn}")], "seen": []}
        stopped = await graph.ainvoke(given, CONFIG)
        answers = {one.id: f"{one.value}-{turn}" for one in stopped["__interrupt__"]}
        await graph.ainvoke(Command(resume=answers), CONFIG)
    assert told(graph) == expected
    assert len([one async for one in graph.aget_state_history(CONFIG)]) == len(expected)


def test_pruning_keeps_what_is_pending(store):
    saver = MilepostSaver(store)
    graph = conversation(saver)
    given = {"messages": [HumanMessage("question", id="q")], "seen": []}
    stopped = graph.invoke(given, CONFIG)
    first = stopped["__interrupt__"][0]
    graph.invoke(Command(resume={first.id: "one"}), CONFIG)
    before = graph.get_state(CONFIG)
    saver.prune(["t"])
    assert len(list(saver.list(CONFIG))) == 1
    after = graph.get_state(CONFIG)
    assert (after.values, after.next, after.interrupts) == (
        before.values,
        before.next,
        before.interrupts,
    )
    done = graph.invoke(Command(resume={before.interrupts[0].id: "two"}), CONFIG)
    # LangGraph lists the interrupts of parallel nodes in the order in which they came.
    both = (["left one", "right two"], ["left two", "right one"])
    assert sorted(done["seen"][-2:]) in both
    assert sum(text.endswith(" one") for text in done["seen"]) == 1


def test_a_copy_goes_its_own_way_and_a_deleted_thread_stays_away(store):
    saver = MilepostSaver(store)
    graph = resumed(conversation(saver), "async")
    expected = told(graph)
    saver.copy_thread("t", "copy")
    copy: Any = {"configurable": {"thread_id": "copy"}}
    newest = saver.get_tuple(CONFIG)
    saver.delete_thread("t")
    saver.put_writes(newest.config, [("seen", ["late"])], "task")
    assert saver.get_tuple(CONFIG) is None and list(saver.list(CONFIG)) == []
    assert len(list(saver.list(copy))) == len(expected)
    assert graph.get_state(copy).values["seen"] == expected[0][1]


def test_two_workers_on_one_checkpoint_hide_nothing(store, tmp_path):
    graph = resumed(conversation(MilepostSaver(store)), "sync")
    end = graph.get_state(CONFIG).config
    with milepost.open(tmp_path / "store") as other:
        for saver in (MilepostSaver(store), MilepostSaver(other)):
            conversation(saver).update_state(end, {"seen": ["worker"]}, as_node="part")
        children = [one for one in graph.get_state_history(CONFIG) if one.parent_config == end]
        assert len(children) == 2
        raising = MilepostSaver(other, on_conflict="raise")
        with pytest.raises(milepost.ConflictError, match="second child"):
            conversation(raising).update_state(end, {"seen": ["third"]}, as_node="part")


@pytest.mark.parametrize("mode", ["native", "socket"])
async def test_the_conformance_suite_passes_as_a_whole(mode, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = []

    @checkpointer_test(name="MilepostSaver")
    async def saver():
        made.append(tmp_path / f"store-{len(made)}")
        with milepost.open(made[-1]) as native:
            if mode == "native":
                yield MilepostSaver(native)
                return
            with milepost.open(made[-1]) as other:
                yield MilepostSaver(other)

    report = await validate(saver)
    failures = [failure for one in report.results.values() for failure in one.failures or ()]
    assert failures == []
    assert report.passed_all()
    assert sum(one.tests_passed for one in report.results.values()) == 81


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from test_langgraph import CONFIG, Counting, MilepostSaver, counter
path, mode, at = sys.argv[2], sys.argv[3], int(sys.argv[4])
calls = [0]

class Killed(MilepostSaver):
    def _kill(self):
        calls[0] += 1
        if calls[0] == at:
            os.kill(os.getpid(), signal.SIGKILL)
    def put(self, *arguments):
        self._kill()
        return super().put(*arguments)
    def put_writes(self, *arguments):
        self._kill()
        return super().put_writes(*arguments)

with Killed.from_path(path) as saver:
    counter(saver).invoke({"numbers": []}, CONFIG, durability=mode)
"""


class Counting(TypedDict):
    numbers: Annotated[list[int], operator.add]


def counter(saver: Any) -> Any:
    builder = StateGraph(Counting)
    builder.add_node("count", lambda state: {"numbers": [len(state["numbers"])]})
    builder.add_edge(START, "count")
    done = lambda state: END if len(state["numbers"]) == 4 else "count"  # noqa: E731
    builder.add_conditional_edges("count", done)
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_kill_between_a_write_and_a_checkpoint_loses_nothing(mode, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    here = os.path.dirname(__file__)
    killed = 0
    for at in range(1, 40, 2):
        path = tmp_path / f"store-{at}"
        command = [sys.executable, "-c", KILLED, here, str(path), mode, str(at)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        if done.returncode == 0:
            break
        killed += 1
        with MilepostSaver.from_path(path) as saver:
            graph = counter(saver)
            begun = graph.get_state(CONFIG).config["configurable"].get("checkpoint_id")
            end = graph.invoke(None if begun else {"numbers": []}, CONFIG)
            assert end["numbers"] == [0, 1, 2, 3], at
    assert killed >= 4


def test_the_log_has_the_messages_calls_and_tokens_that_the_graph_counted(store):
    def model(state):
        number = len(state["messages"])
        usage = {"input_tokens": 10 * number, "output_tokens": 2, "total_tokens": 10 * number + 2}
        calls = [{"name": "weather", "args": {"city": "Rome"}, "id": f"c{number}"}]
        last = number > 3
        answer = AIMessage(
            "It rains." if last else "I look.",
            tool_calls=[] if last else calls,
            usage_metadata=usage,
            id=f"a{number}",
        )
        return {"messages": [answer]}

    def tools(state):
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [ToolMessage("rain", tool_call_id=call["id"], id=f"t{call['id']}")]}

    def wanted(state):
        return "tools" if state["messages"][-1].tool_calls else END

    builder = StateGraph(State)
    builder.add_node("model", model)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", wanted, ["tools", END])
    builder.add_edge("tools", "model")
    graph = builder.compile(checkpointer=MilepostSaver(store))
    done = graph.invoke({"messages": [HumanMessage("Shall I go?", id="h")]}, CONFIG)
    answers = [one for one in done["messages"] if isinstance(one, AIMessage)]
    (summary,) = store.summaries()
    assert (summary.title, summary.failed) == ("Shall I go?", 0)
    assert summary.calls == sum(len(one.tool_calls) for one in answers)
    assert summary.input == sum(one.usage_metadata["input_tokens"] for one in answers)
    assert summary.output == sum(one.usage_metadata["output_tokens"] for one in answers)
    said = [turn.said for turn in store.task(summary.id).turns() if turn.said]
    assert said == [one.content for one in answers]
