"""Values of Python in events, and errors in words of Python."""

import dataclasses
import datetime
import decimal
import enum
import logging
import math
import pathlib
import uuid

import pytest

import milepost
from milepost import events, logs


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: float
    y: float


class Scalar:
    """A scalar of a library of arrays."""

    dtype = "float32"

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value


def test_numbers_that_json_lacks_and_common_values_have_documented_forms(store):
    task = store.start("t", user="ana")
    metrics = {"loss": math.nan, "best": -math.inf, "worst": math.inf, "lr": Scalar(0.5)}
    task.append(events.step_finished(1, metrics=metrics))
    body = next(task.events(kinds=["step_finished"])).body
    assert body["metrics"] == {"loss": "NaN", "best": "-Infinity", "worst": "Infinity", "lr": 0.5}
    values = {
        "at": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
        "day": datetime.date(2026, 1, 2),
        "took": datetime.timedelta(seconds=1.5),
        "path": pathlib.PurePosixPath("a/b"),
        "id": uuid.UUID(int=7),
        "price": decimal.Decimal("1.10"),
        "colour": Colour.RED,
        "names": {"one"},
        "point": Point(1.0, math.nan),
        "array": Scalar([1, [2.5, math.inf]]),
        "tuple": (1, None),
        "numbers": {1: "one"},
    }
    task.append(events.variables(**values))
    assert task.state("/variables") == {
        "at": "2026-01-02T03:04:05+00:00",
        "day": "2026-01-02",
        "took": 1.5,
        "path": "a/b",
        "id": "00000000-0000-0000-0000-000000000007",
        "price": "1.10",
        "colour": "red",
        "names": ["one"],
        "point": {"x": 1.0, "y": "NaN"},
        "array": [1, [2.5, "Infinity"]],
        "tuple": [1, None],
        "numbers": {"1": "one"},
    }


def test_a_value_without_a_form_is_named_with_its_place(store):
    task = store.start("t", user="ana")
    with pytest.raises(milepost.InvalidError, match=r"variables_patched\.patch\.a\[1\]: .*object"):
        task.append(events.variables(a=[1, object()]))
    with pytest.raises(milepost.InvalidError, match="a name of a field is a text"):
        task.append(events.variables(a={(1, 2): 3}))
    loop = []
    loop.append(loop)
    with pytest.raises(milepost.InvalidError, match="contains itself"):
        task.append(events.variables(a=loop))
    assert task.head() == store.task("t").head()


def test_events_are_given_as_lines_of_json_have_them(store):
    task = store.start("t", user="ana")
    task.append({"kind": "message", "role": "user", "content": "one"})
    task.append(
        [{"kind": "message", "body": {"role": "user", "content": "two"}}, events.prompt("p")],
        checkpoint="draft",
    )
    assert [event.body["content"] for event in task.events(kinds=["message"])] == ["one", "two"]
    assert [mark.label for mark in task.checkpoints()] == ["draft"]
    for wrong in ("hello", None, 7, {"role": "user"}, [1], [("message",)]):
        with pytest.raises(milepost.InvalidError, match="is no event: one is a pair"):
            task.append(wrong)


def test_errors_of_a_store_on_this_machine_name_no_route(store):
    with pytest.raises(KeyError) as error:
        store.task("missing")
    assert str(error.value) == "there is no task `missing`"
    with pytest.raises(milepost.InvalidError, match="begins with http"):
        milepost.connect("foo")
    assert store.stats()["tasks"] == 0


def test_metrics_are_rows_and_numbers_again(store):
    task = store.start("t", user="ana")
    task.append(events.step_finished(1, metrics={"loss": math.nan, "lr": 0.5}))
    task.append(events.step_finished(2))
    one, two = task.metrics()
    assert (one["step"], one["lr"]) == (1, 0.5) and math.isnan(one["loss"])
    assert set(two) == {"step", "time"}


def test_log_records_are_events_and_durable_after_a_flush(store):
    task = store.start("t", user="ana")
    handler = logs.Handler(task, logging.INFO)
    logger = logging.getLogger("test-of-milepost")
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    try:
        logger.debug("not at this level")
        for number in range(1_100):
            logger.info("record %s", number)
        try:
            raise ValueError("no disk")
        except ValueError:
            logger.exception("it failed")
        handler.flush()
        found = [event.data for event in task.events(kinds=["application"])]
        assert len(found) == 1_101
        assert found[7] == {"level": "INFO", "logger": logger.name, "message": "record 7"}
        assert found[-1]["level"] == "ERROR" and "ValueError: no disk" in found[-1]["exception"]
        # A record that is not appended is told as other handlers tell theirs.
        told = []
        handler.handleError = told.append
        store.delete_task("t")
        logger.info("late")
        handler.close()
        assert [record.getMessage() for record in told] == ["late"]
    finally:
        logger.removeHandler(handler)


def test_tasks_are_searched_summed_up_and_shared(store, tmp_path):
    task = store.start("t", user="ana")
    usage = {"input": 30, "output": 7, "cost": 0.25, "currency": "USD"}
    task.append(
        [
            events.message("user", "Where is the Slow River?"),
            events.step_started(1),
            events.message("assistant", "I look.", usage=usage),
            events.tool_called("c", "find", {"q": "river"}),
            events.tool_returned("c", "none", ok=False),
            events.step_finished(1),
        ]
    )
    other = store.start("other", user="ana")
    other.append(events.message("user", "key sk-ant-api03-" + "a" * 80))
    hits = list(store.search("RIVER"))
    assert [(hit.task, hit.kind) for hit in hits] == [("t", "message"), ("t", "tool_called")]
    assert "Slow River" in hits[0].text and hits[0].address.startswith("t/0@")
    assert [hit.kind for hit in store.search(failed=True)] == ["tool_returned"]
    assert list(store.search("river", kinds=["step_failed"])) == []
    found = {summary.id: summary for summary in store.summaries()}
    one = found["t"]
    assert (one.title, one.steps, one.calls, one.failed) == ("Where is the Slow River?", 1, 1, 1)
    assert (one.input, one.output, one.cost, one.currency) == (30, 7, 0.25, "USD")
    assert found["other"].input is None
    assert [summary.id for summary in store.summaries("slow")] == ["t"]
    free = store.start("free", user="ana")
    free.append(events.message("assistant", "No.", usage={"input": 0, "output": 0}))
    [one] = store.summaries("free")
    assert (one.input, one.output) == (0, 0), "recorded, unlike None"
    task.share(tmp_path / "t.html")
    assert (tmp_path / "t.html").read_bytes().startswith(b"<!")
    with pytest.raises(FileExistsError):
        task.share(tmp_path / "t.html")
    other.share(tmp_path / "other.html")
    assert b"sk-ant-api03" not in (tmp_path / "other.html").read_bytes()


def test_turns_are_read_and_two_histories_are_compared(store):
    def run(id, path):
        task = store.start(id, user="ana")
        task.append(events.step_started(1, name="look"))
        task.append(events.message("assistant", "I look."))
        task.append(events.tool_called("c", "ls", {"path": path}))
        task.append(events.tool_returned("c", "no such folder", ok=path == "src"))
        task.append(events.step_finished(1, metrics={"loss": 0.5}), checkpoint="looked")
        return task

    first, second = run("one", "src"), run("two", "doc")
    (turn,) = first.turns()
    assert (turn.number, turn.step, turn.name, turn.said) == (0, 1, "look", "I look.")
    assert (turn.first, turn.next, turn.label, turn.metrics) == (1, 7, "looked", {"loss": 0.5})
    (call,) = turn.calls
    assert (call.tool, call.arguments, call.ok, call.at) == ("ls", "src", True, 3)
    assert list(first.turns(failed=True)) == []
    (failed,) = second.turns(failed=True)
    assert failed.failed == "no such folder"
    assert [one.number for one in first.turns(text="I LOOK")] == [0]
    found = store.compare("one", "two")
    assert (found.common, found.counts["changed"]) == (0, 1)
    (line,) = found.lines
    assert (line.op, line.a.calls[0].arguments) == ("changed", "src")
    assert line.b.calls[0].arguments == "doc"
    assert store.compare("one", first.address).counts["same"] == 1
