"""Graphs, and what a run of one says: the same with any checkpointer.

A scenario is a coroutine function of a `Run`. With `is_async=False` its awaits never wait, so that
`played` runs it without a loop, by the synchronous methods.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID

import numpy
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Overwrite, Send, interrupt
from pydantic import BaseModel

THREAD: Any = {"configurable": {"thread_id": "t"}}


class Run:
    """A run of graphs with one checkpointer."""

    def __init__(self, saver: Any, durability: str, is_async: bool) -> None:
        self.saver = saver
        self.durability = durability
        self.is_async = is_async
        self.facts: list[Any] = []

    def note(self, *facts: Any) -> None:
        self.facts.append(facts)

    async def invoke(self, graph: Any, given: Any, config: Any = THREAD) -> Any:
        if self.is_async:
            result = await graph.ainvoke(given, config, durability=self.durability)
        else:
            result = graph.invoke(given, config, durability=self.durability)
        if isinstance(result, dict):
            asked = sorted(str(one.value) for one in result.get("__interrupt__", ()))
            self.note("result", plain({**result, "__interrupt__": asked}))
        else:
            self.note("result", plain(result))
        return result

    async def update(self, graph: Any, config: Any, values: Any, as_node: str) -> Any:
        if self.is_async:
            return await graph.aupdate_state(config, values, as_node=as_node)
        return graph.update_state(config, values, as_node=as_node)

    async def state(self, graph: Any, config: Any = THREAD, *, subgraphs: bool = False) -> Any:
        if self.is_async:
            found = await graph.aget_state(config, subgraphs=subgraphs)
        else:
            found = graph.get_state(config, subgraphs=subgraphs)
        self.note("state", snapshot(found))
        return found

    async def history_of(self, graph: Any, config: Any) -> list[Any]:
        if self.is_async:
            return [one async for one in graph.aget_state_history(config)]
        return list(graph.get_state_history(config))

    async def history(self, graph: Any, config: Any = THREAD) -> list[Any]:
        found = await self.history_of(graph, config)
        places = {id_of(one.config): place for place, one in enumerate(found)}
        for one in found:
            parent = places.get(id_of(one.parent_config)) if one.parent_config else None
            self.note("history", snapshot(one), "parent", parent)
        return found

    async def values(self, graph: Any) -> None:
        """Notes the history without the results of tasks.

        LangGraph hands a task's writes to the saver in another thread and does not wait for it
        before the next tasks run, so a saver may see what these change in place.
        """
        for one in await self.history_of(graph, THREAD):
            self.note("values", plain(one.values), one.next, one.metadata["step"])

    async def stored(self, config: Any = THREAD) -> None:
        """Notes what the checkpointer has: all namespaces, and the writes that are pending."""
        if self.is_async:
            found = [one async for one in self.saver.alist(config)]
        else:
            found = list(self.saver.list(config))
        noted = []
        for one in found:
            writes = sorted((channel, plain(value)) for _, channel, value in one.pending_writes)
            writes = [(c, v) for c, v in writes if c not in ("__interrupt__", "__resume__")]
            count = sum(w[1] in ("__interrupt__", "__resume__") for w in one.pending_writes)
            namespace = one.config["configurable"]["checkpoint_ns"]
            names = "|".join(part.split(":")[0] for part in namespace.split("|"))
            noted.append(
                (
                    names,
                    one.metadata.get("step"),
                    one.metadata.get("source"),
                    sorted(set(one.checkpoint["channel_values"]) - {"log"}),
                    writes,
                    count,
                    one.parent_config is not None,
                )
            )
        # Parallel namespaces have ids in the order of threads.
        self.note("stored", sorted(map(repr, noted)))


def played(scenario: Callable[[Run], Coroutine[Any, Any, None]], run: Run) -> list[Any]:
    """Runs a scenario by the synchronous methods."""
    playing = scenario(run)
    try:
        playing.send(None)
    except StopIteration:
        return run.facts
    playing.close()
    raise AssertionError("a synchronous scenario waits")


def id_of(config: Any) -> str:
    return config["configurable"]["checkpoint_id"]


def plain(value: Any) -> str:
    """Returns a value as text that shows its types, without random ids."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{key!r}: {plain(value[key])}" for key in sorted(value, key=repr))
            + "}"
        )
    if isinstance(value, (list, tuple)):
        # LangGraph's serializer makes lists of tuples.
        return f"list({', '.join(plain(one) for one in value)})"
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}({', '.join(sorted(plain(one) for one in value))})"
    if isinstance(value, (HumanMessage, AIMessage, RemoveMessage)):
        return f"{type(value).__name__}({value.id}, {value.content!r})"
    if isinstance(value, numpy.ndarray):
        return f"array({value.dtype}, {value.shape}, {value.tobytes().hex()})"
    return f"{type(value).__name__} {value!r}"


def snapshot(found: Any) -> Any:
    """Returns what a state says, without ids and times."""
    metadata = found.metadata or {}
    tasks = [
        (
            one.name,
            str(one.error) if one.error else None,
            sorted(str(asked.value) for asked in one.interrupts),
            snapshot(one.state) if hasattr(one.state, "tasks") else one.state is not None,
            plain(one.result),
        )
        for one in found.tasks
    ]
    known = {key: metadata[key] for key in ("source", "step", "note", "number") if key in metadata}
    return plain(found.values), found.next, known, tasks


# Conversation


class Talk(TypedDict):
    messages: Annotated[list[Any], add_messages]
    seen: Annotated[list[str], operator.add]


def human(text: str, id: str) -> HumanMessage:
    return HumanMessage(text, id=id)


def talk(saver: Any, in_place: bool = False) -> Any:
    """Answers, and forgets the oldest message but one."""

    def answer(state):
        number = len(state["messages"])
        if in_place:
            state["messages"][0].content += "!"
            state["messages"][-1].additional_kwargs["read"] = number
        return {"messages": [AIMessage(f"answer {number}", id=f"a{number}")], "seen": ["answer"]}

    def forget(state):
        if len(state["messages"]) < 3:
            return {"seen": ["kept"]}
        return {"messages": [RemoveMessage(id=state["messages"][1].id)], "seen": ["forgot"]}

    builder = StateGraph(Talk)
    builder.add_node("answer", answer)
    builder.add_node("forget", forget)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "forget")
    builder.add_edge("forget", END)
    return builder.compile(checkpointer=saver)


async def conversation(run: Run) -> None:
    graph = talk(run.saver)
    for turn in range(4):
        await run.invoke(graph, {"messages": [human(f"question {turn}", f"q{turn}")], "seen": []})
    await run.state(graph)
    await run.history(graph)
    await run.stored()


async def changed_in_place(run: Run) -> None:
    graph = talk(run.saver, in_place=True)
    for turn in range(3):
        await run.invoke(graph, {"messages": [human(f"question {turn}", f"q{turn}")], "seen": []})
    await run.values(graph)


async def forked(run: Run) -> None:
    """Goes on from the middle, twice, and then at the end of each."""
    graph = talk(run.saver)
    for turn in range(3):
        await run.invoke(graph, {"messages": [human(f"question {turn}", f"q{turn}")], "seen": []})
    history = await run.history(graph)
    middle = history[len(history) // 2].config
    await run.invoke(graph, None, middle)
    await run.invoke(graph, {"messages": [human("other", "o")], "seen": []}, middle)
    await run.state(graph, middle)
    await run.invoke(graph, {"messages": [human("after", "p")], "seen": []})
    await run.history(graph)
    await run.stored()


async def updated(run: Run) -> None:
    """Is changed from outside: at the end, in the middle, and before it ever ran."""
    graph = talk(run.saver)
    config = await run.update(graph, THREAD, {"messages": [human("first", "f")]}, START)
    await run.state(graph, config)
    await run.invoke(graph, None)
    await run.update(graph, THREAD, {"seen": ["outside"]}, "answer")
    await run.state(graph)
    await run.invoke(graph, None)
    history = await run.history(graph)
    config = await run.update(graph, history[-2].config, {"seen": ["middle"]}, "answer")
    await run.invoke(graph, None, config)
    await run.history(graph)
    await run.stored()


# Interrupts, branches, failures


class Seen(TypedDict):
    seen: Annotated[list[str], operator.add]


def asking(saver: Any, ran: list[str] | None = None) -> Any:
    """Three nodes side by side: two ask, one twice; one has done its work meanwhile."""

    def ask(name, times):
        def node(state):
            answers = [interrupt(f"{name} {number}") for number in range(times)]
            if ran is not None:
                ran.append(name)
            return {"seen": [f"{name}: {answers}"]}

        return node

    def work(state):
        if ran is not None:
            ran.append("work")
        return {"seen": ["work"]}

    def end(state):
        return {"seen": [f"end of {len(state['seen'])}"]}

    builder = StateGraph(Seen)
    builder.add_node("left", ask("left", 1))
    builder.add_node("right", ask("right", 2))
    builder.add_node("work", work)
    builder.add_node("end", end)
    # No edge of several nodes: LangGraph changes the set of such a barrier while it is stored.
    for name in ("left", "right", "work"):
        builder.add_edge(START, name)
        builder.add_edge(name, "end")
    builder.add_edge("end", END)
    return builder.compile(checkpointer=saver)


async def interrupted(run: Run) -> None:
    ran: list[str] = []
    graph = asking(run.saver, ran)
    asked = (await run.invoke(graph, {"seen": ["begin"]}))["__interrupt__"]
    await run.state(graph)
    await run.invoke(graph, Command(resume={one.id: f"to {one.value}" for one in asked}))
    found = await run.state(graph)
    (left,) = found.interrupts
    await run.invoke(graph, Command(resume={left.id: "second"}))
    run.note("ran", sorted(ran))
    await run.history(graph)
    await run.stored()


async def interrupted_one_by_one(run: Run) -> None:
    """Answers one of two questions, changes the state from outside, and answers the other."""
    graph = asking(run.saver)
    asked = (await run.invoke(graph, {"seen": []}))["__interrupt__"]
    by_text = {one.value: one.id for one in asked}
    await run.invoke(graph, Command(resume={by_text["left 0"]: "L"}))
    await run.state(graph)
    await run.invoke(graph, Command(resume={by_text["right 0"]: "R"}))
    await run.stored()
    await run.invoke(graph, Command(resume="S"))
    await run.history(graph)
    await run.stored()


async def branches(run: Run) -> None:
    """Fans out by edges and by `Send`, and in again; the parts write the same channel."""

    def spread(state):
        return [Send("part", {"number": number}) for number in range(5)] + ["alone"]

    builder = StateGraph(Seen)
    builder.add_node("begin", lambda state: {"seen": ["begin"]})
    builder.add_node("part", lambda state: {"seen": [f"part {state['number']}"]})
    builder.add_node("alone", lambda state: {"seen": [f"alone {len(state['seen'])}"]})
    builder.add_node("goto", lambda state: Command(goto=[Send("part", {"number": 9}), "end"]))
    builder.add_node("end", lambda state: {"seen": [f"end {len(state['seen'])}"]})
    builder.add_edge(START, "begin")
    builder.add_conditional_edges("begin", spread, ["part", "alone"])
    builder.add_edge("alone", "goto")
    graph = builder.compile(checkpointer=run.saver)
    for _ in range(2):
        await run.invoke(graph, {"seen": []})
    history = await run.history(graph)
    # Again from a checkpoint with tasks of `Send`.
    await run.invoke(graph, None, history[len(history) // 2].config)
    await run.history(graph)
    await run.stored()


async def failed(run: Run) -> None:
    """A node fails; the ones beside it do not run again."""
    ran: list[str] = []

    def fragile(state):
        ran.append("fragile")
        if ran.count("fragile") < 3:
            raise ValueError(f"attempt {ran.count('fragile')}")
        return {"seen": ["fragile"]}

    def solid(state):
        ran.append("solid")
        return {"seen": ["solid"]}

    builder = StateGraph(Seen)
    builder.add_node("solid", solid)
    # The write of `solid` is there before the failure of its superstep.
    builder.add_node("fragile", fragile)
    builder.add_node("end", lambda state: {"seen": ["end"]})
    builder.add_edge(START, "solid")
    builder.add_edge("solid", "fragile")
    builder.add_edge("fragile", "end")
    graph = builder.compile(checkpointer=run.saver)
    for given in ({"seen": []}, None, None):
        try:
            await run.invoke(graph, given)
        except ValueError as error:
            run.note("error", str(error))
            await run.state(graph)
    run.note("ran", ran)
    await run.history(graph)
    await run.stored()


# Subgraphs


def nested(saver: Any, depth: int, kept: bool) -> Any:
    """Graphs in graphs; the innermost one asks. With `kept` each has a memory of its own."""

    def inner(level: int) -> Any:
        builder = StateGraph(Seen)
        builder.add_node(f"before{level}", lambda state: {"seen": [f"before {level}"]})
        builder.add_edge(START, f"before{level}")
        if level == depth:
            builder.add_node("ask", lambda state: {"seen": [f"told {interrupt('deep')}"]})
            last = "ask"
        else:
            last = f"level{level + 1}"
            below = inner(level + 1)

            def call(state):
                return {"seen": [f"{len(below.invoke({'seen': []})['seen'])} below"]}

            builder.add_node(last, below if kept or level % 2 else call)
        builder.add_edge(f"before{level}", last)
        builder.add_edge(last, END)
        return builder.compile(checkpointer=saver if level == 0 else True if kept else None)

    return inner(0)


async def subgraphs(run: Run) -> None:
    graph = nested(run.saver, 4, kept=False)
    for turn in range(2):
        await run.invoke(graph, {"seen": [f"turn {turn}"]})
        await run.state(graph, subgraphs=True)
        await run.invoke(graph, Command(resume=f"answer {turn}"))
    await run.history(graph)
    await run.stored()


async def subgraphs_with_memory(run: Run) -> None:
    graph = nested(run.saver, 4, kept=True)
    for turn in range(2):
        await run.invoke(graph, {"seen": [f"turn {turn}"]})
        deep = await run.state(graph, subgraphs=True)
        while hasattr(state := deep.tasks[0].state, "tasks"):
            deep = state
        # The state of the innermost graph, by its own namespace.
        await run.state(graph, deep.config)
        await run.invoke(graph, Command(resume=f"answer {turn}"))
    await run.history(graph)
    await run.stored()


# Values


class Color(Enum):
    RED = "red"


class Model(BaseModel):
    name: str
    at: datetime
    inner: dict[str, list[int]]


@dataclass
class Data:
    name: str
    parts: list[Any] = field(default_factory=list)


def serializer() -> JsonPlusSerializer:
    """Returns a serializer with the types of these graphs."""
    return JsonPlusSerializer(allowed_msgpack_modules=[Color, Model, Data])


class Anything(TypedDict):
    value: Any
    values: Annotated[list[Any], operator.add]


AT = datetime(2026, 11, 27, 7, 3, 5, 123456, tzinfo=timezone(timedelta(hours=9)))
VALUES: list[Any] = [
    None,
    True,
    -1,
    2**63,
    1.5,
    float("inf"),
    "",
    "text\0\u2028\U0001f600",
    b"",
    b"\x00\xff" * 300,
    [],
    ["only", "texts"],
    ["text", 1, ["nested", None]],
    (1, "two", (3,)),
    {1, 2},
    frozenset({"a"}),
    {"key": {"deep": [1, {"er": b"\x00"}]}},
    {1: "number", "two": 2},
    AT,
    AT.date(),
    timedelta(days=1, microseconds=3),
    UUID(int=7),
    Decimal("1.10"),
    Color.RED,
    Path("/a/b"),
    numpy.arange(12, dtype="int32").reshape(3, 4),
    numpy.array([1.5, float("inf")]).T,
    Model(name="model", at=AT, inner={"a": [1, 2]}),
    Data("data", [1, AT, UUID(int=8)]),
    [Model(name="one", at=AT, inner={}), Data("two")],
    human("text", "m"),
    "large " * 20_000,
]


async def values(run: Run) -> None:
    """Each kind of value as a channel, as an item of a list, and as a pending write."""

    def give(state):
        given = VALUES[len(state["values"])]
        return {"value": given, "values": [given]}

    def on(state):
        return END if len(state["values"]) == len(VALUES) else "give"

    builder = StateGraph(Anything)
    builder.add_node("give", give)
    builder.add_edge(START, "give")
    builder.add_conditional_edges("give", on)
    graph = builder.compile(checkpointer=run.saver)
    config: Any = {**THREAD, "recursion_limit": 100}
    await run.invoke(graph, {"value": None, "values": []}, config)
    found = await run.history(graph)
    if len(found) > 2:
        for number, one in enumerate(reversed(found[: len(VALUES)])):
            assert plain(one.values["value"]) == plain(VALUES[number]), number
    await run.stored()


async def metadata(run: Run) -> None:
    """Metadata of 100 kB with each checkpoint, and a filter by what is beside it."""
    graph = talk(run.saver)
    for number in range(2):
        note = f"{number}" + "ß" * 50_000
        config: Any = {**THREAD, "metadata": {"note": note, "number": number}}
        await run.invoke(
            graph, {"messages": [human(f"question {number}", f"q{number}")], "seen": []}, config
        )
    found = await run.history(graph)
    assert len(found[0].metadata["note"]) == 50_001
    for filter in ({"number": 1}, {"source": "loop"}, {"number": 0, "step": 1}, {"number": 2}):
        if run.is_async:
            listed = [one async for one in run.saver.alist(THREAD, filter=filter)]
        else:
            listed = list(run.saver.list(THREAD, filter=filter))
        run.note(filter, [one.metadata["step"] for one in listed])


# Deltas


def extended(state: list[Any], writes: list[list[Any]]) -> list[Any]:
    return [*state, *(one for write in writes for one in write)]


def delta(saver: Any, frequency: int, steps: int = 3) -> Any:
    """Writes a `DeltaChannel` in each step, from two nodes side by side."""

    log = Annotated[list[str], DeltaChannel(extended, snapshot_frequency=frequency)]
    channels = {"log": log, "count": Annotated[int, operator.add]}
    builder = StateGraph(TypedDict("Deltas", channels))
    builder.add_node("one", lambda state: {"log": [f"one {len(state['log'])}"], "count": 1})
    builder.add_node("two", lambda state: {"log": [f"two {len(state['log'])}"]})
    builder.add_node("join", lambda state: {"log": [f"join {state['count']}"]})
    for name in ("one", "two"):
        builder.add_edge(START, name)
        builder.add_edge(name, "join")

    def on(state):
        return END if state["count"] % steps == 0 else ["one", "two"]

    builder.add_conditional_edges("join", on, [END, "one", "two"])
    return builder.compile(checkpointer=saver)


def deltas(frequency: int) -> Any:
    async def scenario(run: Run) -> None:
        graph = delta(run.saver, frequency, 2)
        for turn in range(2):
            await run.invoke(graph, {"log": [f"turn {turn}"], "count": 0})
        history = await run.history(graph)
        middle = history[len(history) // 2].config
        config = await run.update(graph, middle, {"log": ["forked"], "count": 1}, "join")
        await run.state(graph, config)
        await run.invoke(graph, None, config)
        await run.invoke(graph, {"log": ["behind"], "count": 0})
        await run.invoke(graph, {"log": Overwrite(["anew"]), "count": 0})
        await run.history(graph)
        await run.stored()

    return scenario


# The functional API


def answered(total: int, previous: list[int] | None) -> Any:
    """Asks, and returns an answer; what is kept for the next call is another value."""
    answer = interrupt(f"is it {total}")
    kept = [*(previous or []), total]
    return entrypoint.final(value=f"{answer}: {kept}", save=kept)


async def functional(run: Run) -> None:
    """Tasks that are done are not done again when the answer comes."""
    ran: list[str] = []

    if run.is_async:

        @task
        async def double(number: int) -> int:
            ran.append(f"double {number}")
            return 2 * number

        @entrypoint(checkpointer=run.saver)
        async def work(given: int, *, previous: list[int] | None = None) -> Any:
            parts = [double(number) for number in range(given)]
            return answered(sum([await part for part in parts]), previous)

    else:

        @task
        def double(number: int) -> int:
            ran.append(f"double {number}")
            return 2 * number

        @entrypoint(checkpointer=run.saver)
        def work(given: int, *, previous: list[int] | None = None) -> Any:
            parts = [double(number) for number in range(given)]
            return answered(sum(part.result() for part in parts), previous)

    for turn in range(3):
        await run.invoke(work, turn + 2)
        await run.invoke(work, Command(resume=f"yes {turn}"))
    run.note("ran", sorted(ran))
    found = await run.history(work)
    assert len(ran) == 2 + 3 + 4 and found


# Long


async def long(run: Run) -> None:
    """300 steps of a list that grows."""

    def step(state):
        return {"seen": [f"step {len(state['seen'])}"]}

    builder = StateGraph(Seen)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_conditional_edges(
        "step", lambda state: END if len(state["seen"]) == 300 else "step", ["step", END]
    )
    graph = builder.compile(checkpointer=run.saver)
    await run.invoke(graph, {"seen": []}, {**THREAD, "recursion_limit": 400})
    found = await run.history(graph)
    assert len(found) == (1 if run.durability == "exit" else 302)
    await run.state(graph, found[len(found) // 2].config)
    await run.stored()


SCENARIOS: dict[str, Any] = {
    "conversation": conversation,
    "forked": forked,
    "updated": updated,
    "interrupted": interrupted,
    "interrupted one by one": interrupted_one_by_one,
    "branches": branches,
    "failed": failed,
    "subgraphs": subgraphs,
    "subgraphs with memory": subgraphs_with_memory,
    "values": values,
    "metadata": metadata,
    "deltas": deltas(100),
    "deltas with snapshots": deltas(3),
    "functional": functional,
}
