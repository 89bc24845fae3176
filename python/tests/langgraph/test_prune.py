"""Threads that are pruned, copied and deleted, while something is pending in them."""

from __future__ import annotations

import asyncio
import shutil
from typing import Any

import graphs
import pytest
from graphs import THREAD, id_of, snapshot
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from test_writes import WritesFirst, at, put

import milepost
from milepost.langgraph import MilepostSaver

COPY: Any = {"configurable": {"thread_id": "copy"}}
GIVEN = {"seen": []}


@pytest.fixture(params=[False, True], ids=["threads", "asyncio"])
def keep(request):
    """Calls what removes or copies: `keep(saver, "prune", ["t"])`, by one of the two forms."""

    def called(saver: Any, name: str, *arguments: Any, **options: Any) -> None:
        if request.param:
            asyncio.run(getattr(saver, f"a{name}")(*arguments, **options))
        else:
            getattr(saver, name)(*arguments, **options)

    return called


def answers(stopped: Any, texts: dict[str, str]) -> Command:
    return Command(
        resume={one.id: texts[one.value] for one in stopped["__interrupt__"] if one.value in texts}
    )


def told(graph: Any, config: Any = THREAD) -> Any:
    return snapshot(graph.get_state(config, subgraphs=True))


@pytest.mark.parametrize("kind", [MilepostSaver, WritesFirst])
def test_what_is_pending_stays_and_nothing_runs_again(kind, keep, shared):
    ran: list[str] = []
    saver = kind(shared)
    graph = graphs.asking(saver, ran)
    stopped = graph.invoke(GIVEN, THREAD)
    graph.invoke(answers(stopped, {"left 0": "L"}), THREAD)
    assert sorted(ran) == ["left", "work"]
    before = told(graph)
    for _ in range(2):
        keep(saver, "prune", ["t"])
        assert told(graph) == before
        assert len(list(saver.list(THREAD))) == 1
    graph.invoke(answers(stopped, {"right 0": "R"}), THREAD)
    keep(saver, "prune", ["t"], strategy="keep_latest")
    end = graph.invoke(Command(resume="S"), THREAD)
    assert sorted(ran) == ["left", "right", "work"]
    assert sorted(end["seen"]) == ["end of 3", "left: ['L']", "right: ['R', 'S']", "work"]


def test_what_is_pending_is_there_when_the_store_is_opened_again(tmp_path):
    ran: list[str] = []
    path = tmp_path / "store"
    more: Any = {"configurable": {"thread_id": "deltas"}}
    with MilepostSaver.from_path(path) as saver:
        stopped = graphs.asking(saver, ran).invoke(GIVEN, THREAD)
        graphs.asking(saver, ran).invoke(answers(stopped, {"left 0": "L"}), THREAD)
        graphs.delta(saver, 4).invoke({"log": ["turn"], "count": 0}, more)
        saver.prune(["t", "deltas"])
        before = told(graphs.asking(saver)), told(graphs.delta(saver, 4), more)
    # Once as it was closed, and once with an index that is made anew of journal and archive.
    for index in ("kept", "removed"):
        if index == "removed":
            shutil.rmtree(path / "sled")
        with MilepostSaver.from_path(path) as saver:
            # An index that was removed is damage that was repaired.
            report = saver._store.verify(acknowledge=True)
            assert report["faults"] == []
            assert len(report["repairs"]) == int(index == "removed")
            assert before == (told(graphs.asking(saver)), told(graphs.delta(saver, 4), more))
    with MilepostSaver.from_path(path) as saver:
        graph = graphs.asking(saver, ran)
        graph.invoke(answers(stopped, {"right 0": "R"}), THREAD)
        end = graph.invoke(Command(resume="S"), THREAD)
    assert sorted(ran) == ["left", "right", "work"]
    assert end["seen"][-1] == "end of 3"


def test_what_is_pending_in_a_subgraph_stays(keep, shared):
    saver = MilepostSaver(shared)
    for kept in (False, True):
        graph = graphs.nested(saver, 4, kept)
        config: Any = {"configurable": {"thread_id": f"nested {kept}"}}
        graph.invoke(GIVEN, config)
        before = told(graph, config)
        keep(saver, "prune", [f"nested {kept}"])
        assert told(graph, config) == before
        namespaces = [one.config["configurable"]["checkpoint_ns"] for one in saver.list(config)]
        assert len(namespaces) == len(set(namespaces)) >= 3
        end = graph.invoke(Command(resume="answer"), config)
        assert any("before 0" in seen for seen in end["seen"])
        assert graph.get_state(config).next == ()


@pytest.mark.parametrize("kind", [MilepostSaver, WritesFirst])
@pytest.mark.parametrize("frequency", [3, 100])
def test_deltas_are_rebuilt_as_before(frequency, kind, keep, shared):
    saver = kind(shared)
    graph = graphs.delta(saver, frequency)
    for turn in range(2):
        graph.invoke({"log": [f"turn {turn}"], "count": 0}, THREAD)
    before, all = told(graph), len(list(saver.list(THREAD)))
    keep(saver, "prune", ["t"])
    assert told(graph) == before
    left = len(list(saver.list(THREAD)))
    # Without a snapshot all of it is what the state is rebuilt from.
    assert left < all / 2 if frequency == 3 else left == all
    end = graph.invoke({"log": ["after"], "count": 0}, THREAD)
    log = graph.get_state(THREAD).values["log"]
    assert end["log"] == log and log[:2] == ["turn 0", "one 1"] and "after" in log
    keep(saver, "prune", ["t"])
    assert graph.get_state(THREAD).values["log"] == log


def test_deltas_of_a_fork_are_rebuilt_as_before(keep, shared):
    saver = MilepostSaver(shared)
    graph = graphs.delta(saver, 100)
    graph.invoke({"log": ["turn"], "count": 0}, THREAD)
    history = list(graph.get_state_history(THREAD))
    middle = history[len(history) // 2]
    config = graph.update_state(middle.config, {"log": ["fork"], "count": 1}, as_node="join")
    before = graph.get_state(config).values["log"]
    keep(saver, "prune", ["t"])
    after = graph.get_state(THREAD)
    assert id_of(after.config) == id_of(config)
    assert after.values["log"] == before == [*middle.values["log"], "fork"]
    assert len(list(saver.list(THREAD))) < len(history)


def test_pruning_beside_a_run_keeps_what_the_run_stores(shared, monkeypatch):
    saver = MilepostSaver(shared)
    put(saver, "a")
    put(saver, "b", "a")
    clean_up = milepost.Store.clean_up

    def meanwhile(self, task, checkpoints):
        put(saver, "c", "b")
        clean_up(self, task, checkpoints)

    monkeypatch.setattr(milepost.Store, "clean_up", meanwhile)
    saver.prune(["t"])
    found = saver.get_tuple(THREAD)
    assert found is not None and found.checkpoint["id"] == "c"


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "beside"])
def test_a_copy_has_deltas_and_what_is_pending(is_new, keep, shared):
    saver = MilepostSaver(shared)
    asking, deltas = graphs.asking(saver), graphs.delta(saver, 100)
    stopped = asking.invoke(GIVEN, THREAD)
    asking.invoke(answers(stopped, {"left 0": "L"}), THREAD)
    more: Any = {"configurable": {"thread_id": "deltas"}}
    deltas.invoke({"log": ["turn"], "count": 0}, more)
    other: Any = {"configurable": {"thread_id": "deltas copy"}}
    if not is_new:
        for config in (COPY, other):
            put(saver, "0", thread=config["configurable"]["thread_id"])
    keep(saver, "copy_thread", "t", "copy")
    keep(saver, "copy_thread", "deltas", "deltas copy")
    for config, copy in ((THREAD, COPY), (more, other)):
        writes = [
            [
                sorted((task, channel, repr(value)) for task, channel, value in one.pending_writes)
                for one in saver.list(of)
            ]
            for of in (config, copy)
        ]
        assert writes[0] == writes[1][: len(writes[0])]
    assert told(deltas, other) == told(deltas, more)
    before = told(asking)
    assert told(asking, COPY) == before
    # The copy goes its own way.
    asking.invoke(answers(stopped, {"right 0": "R"}), COPY)
    asking.invoke(Command(resume="S"), COPY)
    assert asking.get_state(COPY).next == () and told(asking) == before
    keep(saver, "delete_thread", "t")
    assert asking.get_state(COPY).values["seen"]


def test_a_deleted_thread_does_not_come_back(keep, pair):
    saver = MilepostSaver(pair[0])
    graph = graphs.talk(saver)
    question = {"messages": [graphs.human("question", "q")], "seen": []}
    graph.invoke(question, THREAD)
    newest = saver.get_tuple(THREAD).config
    # Writes that come late, by this saver and by another worker's.
    for late in (saver, MilepostSaver(pair[0]), MilepostSaver(pair[1])):
        keep(saver, "delete_thread", "t")
        keep(saver, "delete_thread", "t")
        late.put_writes(newest, [("seen", ["late"])], "task")
        asyncio.run(late.aput_writes(newest, [("seen", ["later"])], "task"))
        assert saver.get_tuple(THREAD) is None and list(saver.list(THREAD)) == []
        assert list(saver.list(None)) == []
        assert graph.get_state(THREAD).values == {}
        if late is saver:
            assert list(pair[0].tasks()) == []
    end = graph.invoke(question, THREAD)
    assert end["seen"] == ["answer", "kept"]
    assert graph.get_state(THREAD).values["seen"] == end["seen"]


def test_a_thread_that_was_deleted_keeps_the_writes_of_a_new_run(keep, shared):
    for saver in (MilepostSaver(shared), WritesFirst(shared)):
        graph = graphs.delta(saver, 100)
        graph.invoke({"log": ["old"], "count": 0}, THREAD)
        list(saver.list(THREAD))
        keep(saver, "delete_thread", "t")
        end = graph.invoke({"log": ["new"], "count": 0}, THREAD)
        assert graph.get_state(THREAD).values["log"] == end["log"]
        keep(saver, "delete_thread", "t")


@pytest.mark.parametrize("id", ["1", 1], ids=["text", "number"])
def test_a_thread_may_have_a_number_for_an_id(id, keep, shared):
    saver = MilepostSaver(shared)
    config: Any = {"configurable": {"thread_id": 1}}
    graph = graphs.asking(saver)
    for _ in range(2):
        keep(saver, "delete_thread", id)
        assert saver.get_tuple(config) is None
        stopped = graph.invoke(GIVEN, config)
        end = graph.invoke(answers(stopped, {"left 0": "L", "right 0": "R"}), config)
        assert [one.value for one in end["__interrupt__"]] == ["right 1"]
        # Without a graph, which makes a text of it.
        keep(saver, "delete_thread", id)
        put(saver, "z", thread=1)
        saver.put_writes(at("z", 1), [("channel", "value")], "task")
        assert saver.get_tuple(at("z", 1)).pending_writes == [("task", "channel", "value")]


def test_the_checkpoints_of_a_run_are_removed_in_all_threads_and_namespaces(keep, shared):
    saver = MilepostSaver(shared)
    graph = graphs.nested(saver, 2, kept=True)
    for thread in ("t", "other"):
        for run in ("first", "second", "third"):
            config: Any = {"configurable": {"thread_id": thread, "run_id": run}}
            graph.invoke({"seen": [run]}, config)
            graph.invoke(Command(resume=run), config)
    runs = {one.metadata["run_id"] for one in saver.list(None)}
    assert runs == {"first", "second", "third"}
    end = told(graph)
    keep(saver, "delete_for_runs", ["second", "unknown"])
    assert {one.metadata["run_id"] for one in saver.list(None)} == {"first", "third"}
    for one in saver.list(None, filter={"run_id": "first"}):
        assert saver.get_tuple(one.config).checkpoint == one.checkpoint
    assert told(graph) == end
    keep(saver, "delete_for_runs", ["third"])
    found = graph.get_state(THREAD)
    assert found.next == () and found.values["seen"][0] == "first"
    assert "second" not in found.values["seen"]


def test_runs_are_deleted_by_what_a_user_may_do_and_pruning_trims_what_they_left(
    keep, shared, monkeypatch
):
    saver = MilepostSaver(shared)
    for run in ("first", "second"):
        config: Any = {"configurable": {"thread_id": "t", "run_id": run}}
        graphs.talk(saver).invoke({"messages": [graphs.human(run, run)]}, config)
    # A cleanup is for admins of a service.
    for kind in (milepost.Store, milepost.AsyncStore):
        monkeypatch.delattr(kind, "clean_up")
    keep(saver, "delete_for_runs", ["first"])
    monkeypatch.undo()
    task = shared.task("lg:t")
    assert {one.metadata["run_id"] for one in task.checkpoints()} == {"second"}
    newest = next(iter(task.checkpoints())).id
    for one in list(task.checkpoints()):
        if one.id != newest:
            shared.remove_checkpoints(task="lg:t", alias=one.aliases[0])
    assert next(iter(task.events())).offset == 0
    keep(saver, "prune", ["t"])
    assert next(iter(task.events())).offset > 0
    assert [one.id for one in task.checkpoints()] == [newest]


def test_deltas_that_a_removed_run_wrote_stay_in_the_state(keep, shared):
    saver = MilepostSaver(shared)
    graph = graphs.delta(saver, 100)
    for run in ("first", "second"):
        config: Any = {"configurable": {"thread_id": "t", "run_id": run}}
        end = graph.invoke({"log": [run], "count": 0}, config)
    keep(saver, "delete_for_runs", ["first"])
    # As the state of any other channel does.
    assert graph.get_state(THREAD).values == {"log": end["log"], "count": end["count"]}


@pytest.mark.parametrize(
    "extra",
    [
        {"texts": "x" * 100_000},
        {"score": float("nan")},
        {f"text {number}": "\u4e2d" * 4000 for number in range(4)},
    ],
    ids=["large", "not a number", "many"],
)
def test_a_filter_finds_checkpoints_with_any_metadata(extra, keep, shared):
    saver = MilepostSaver(shared)
    builder = StateGraph(graphs.Seen)
    builder.add_node("node", lambda state: {"seen": ["node"]})
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t", "run_id": "run"}, "metadata": extra}
    graph.invoke(GIVEN, config)
    assert len(list(saver.list(THREAD, filter={"source": "loop"}))) == 2
    assert len(list(saver.list(THREAD, filter={"run_id": "run", "step": 1}))) == 1
    keep(saver, "delete_for_runs", ["run"])
    assert list(saver.list(THREAD)) == []


def test_writes_of_a_checkpoint_that_is_removed_are_gone(keep, shared):
    saver = MilepostSaver(shared)
    put(saver, "a")
    put(saver, "b", "a")
    for id in ("a", "b"):
        saver.put_writes(at(id), [("channel", id)], "task")
    keep(saver, "prune", ["t"])
    assert saver.get_tuple(at("a")) is None
    assert saver.get_tuple(at("b")).pending_writes == [("task", "channel", "b")]
    put(saver, "a")
    assert saver.get_tuple(at("a")).pending_writes == []
    keep(saver, "prune", ["t"], strategy="delete")
    assert list(saver.list(THREAD)) == []
    with pytest.raises(ValueError, match="keep_latest"):
        keep(saver, "prune", ["t"], strategy="other")


def test_a_filter_finds_what_the_saver_in_memory_finds(shared):
    extra = {"n": 1, "yes": True, "f": 1.0, "text": "x", "none": None, "cut": "\ud83d", "list": [1]}
    filters: list[dict[str, Any]] = [{name: value} for name, value in extra.items()]
    filters += [{"absent": None}, {"absent": 0}, {"n": True}, {"n": 1.0}, {"yes": 1}, {"f": 1}]
    filters += [
        {"n": "1"},
        {"text": None},
        {"step": 1.0},
        {"step": 1, "absent": None},
        {"list": [1.0]},
    ]
    filters += [{"source": "loop", "cut": "\ud83d"}, {"cut": "\ud83e"}, {"\ud83d": None}, {}]

    def found(saver: Any) -> list[list[int]]:
        builder = StateGraph(graphs.Seen)
        builder.add_node("node", lambda state: {"seen": ["node"]})
        builder.add_edge(START, "node")
        config: Any = {"configurable": {"thread_id": "t"}, "metadata": extra}
        builder.compile(checkpointer=saver).invoke(GIVEN, config)
        steps = []
        for filter in filters:
            for limit in (None, 1):
                listed = saver.list(THREAD, filter=filter, limit=limit)
                steps.append([one.metadata["step"] for one in listed])
        return steps

    assert found(MilepostSaver(shared)) == found(InMemorySaver())
