"""Runs: the loop, after kills, failures, pauses and restores."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import milepost
from milepost import events


def steps(task):
    """The steps that ended well, in order."""
    return [event.body["step"] for event in task.events(kinds=["step_finished"])]


def test_a_run_does_its_steps_marks_checkpoints_and_goes_on_where_it_ended(store):
    run = store.resume("essay", user="ana", initial={"variables": {"title": "Rain"}})

    def work(step):
        step.metrics["loss"] = 1 / step.number
        step.result = {"n": step.number}
        if step.number == 2:
            step.end_run()

    assert run.drive(work) == "idle"
    assert run.task.control() == "idle"
    assert run.state("/variables/title") == "Rain"
    marks = list(run.task.checkpoints())
    assert [mark.label for mark in marks] == ["step-2", "step-1"]
    last = list(run.task.events(kinds=["step_finished"]))[-1]
    assert last.body["metrics"] == {"loss": 0.5} and last.body["result"] == {"n": 2}
    again = store.resume("essay")
    assert again.task.control() == "running"
    assert again.next_step() == 3


def test_a_step_that_was_cut_short_or_failed_is_done_again(store):
    run = store.resume("essay", user="ana", every=None)
    run.append(events.step_started(1))
    assert store.resume("essay").next_step() == 1

    def fails(step):
        raise ValueError("no disk")

    with pytest.raises(ValueError, match="no disk"):
        run.drive(fails)
    failed = list(run.task.events(kinds=["step_failed"]))
    assert (failed[0].body["step"], failed[0].body["error"]) == (1, "no disk")
    seen = []

    def works(step):
        seen.append(step.number)
        step.end_run()

    assert run.drive(works) == "idle"
    assert seen == [1] and steps(run.task) == [1]
    assert list(run.task.checkpoints()) == []


def test_guidance_is_returned_until_a_step_that_read_it_ends_well(store):
    run = store.resume("essay", user="ana")
    task = store.task("essay")
    task.guide("shorter")
    with pytest.raises(ValueError), run.step():
        assert [one["text"] for one in run.new_guidance()] == ["shorter"]
        assert run.new_guidance() == []
        raise ValueError("again")
    with run.step():
        assert [one["text"] for one in run.new_guidance()] == ["shorter"]
        task.guide("in rhymes")
        assert [one["text"] for one in run.new_guidance()] == ["in rhymes"]
    with store.resume("essay").step() as step:
        assert step.number == 2
        assert run.new_guidance() == []
    task.guide("the end")
    with store.resume("essay").step():
        pass
    assert [one["text"] for one in store.resume("essay").new_guidance()] == ["the end"]


def test_a_paused_run_waits_before_its_next_step_and_a_stopped_one_returns(store, monkeypatch):
    run = store.resume("essay", user="ana")
    task = store.task("essay")
    waits = []

    def sleep(seconds):
        waits.append(steps(task))
        task.control("running")

    monkeypatch.setattr("milepost._transport.sleep", sleep)

    def work(step):
        if step.number == 1:
            task.control("paused", reason="to look")
        if step.number == 2:
            task.control("stopped")

    assert run.drive(work) == "stopped"
    assert waits == [[1]]
    assert steps(task) == [1, 2]
    assert not run.ready()


def test_a_restore_from_outside_abandons_the_step_and_the_loop_goes_on_there(store):
    run = store.resume("essay", user="ana")
    seen = []

    def work(step):
        seen.append(step.number)
        if seen == [1, 2, 3]:
            store.restore("essay@step-1")
            with pytest.raises(milepost.ConflictError, match="was restored"):
                run.append(events.message("assistant", "late"))
        run.append(events.message("assistant", f"text {len(seen)}"))
        if len(seen) == 5:
            step.end_run()

    assert run.drive(work) == "idle"
    assert seen == [1, 2, 3, 2, 3]
    assert steps(run.task) == [1, 2, 3]
    texts = [event.body["content"] for event in run.task.events(kinds=["message"])]
    assert texts == ["text 1", "text 4", "text 5"]


def test_work_is_done_once_on_a_lineage(store):
    run = store.resume("mail", user="ana")
    done = []

    def send():
        done.append(1)
        return {"id": len(done)}

    with run.step():
        assert run.once("to-bob", send) == {"id": 1}
        assert run.once("to-bob", send) == {"id": 1}
        assert run.once("bytes", lambda: b"\x00\xff") == b"\x00\xff"
    assert store.resume("mail").once("to-bob", send) == {"id": 1}
    key = next(event for event in run.task.events(kinds=["application"])).key
    assert key == "once/to-bob"
    # A result of `Task.once` counts, too.
    store.task("mail").once("of-a-task", lambda: 7)
    assert run.once("of-a-task", send) == 7
    store.restore("mail@0")
    assert run.once("to-bob", send) == {"id": 2}


def test_appends_of_others_in_between_do_not_end_a_step(store):
    run = store.resume("essay", user="ana")
    with run.step():
        store.task("essay").guide("shorter")
        run.append(events.message("assistant", "a"), key="k")
        assert run.append(events.message("assistant", "a"), key="k").repeated
        with pytest.raises(milepost.ConflictError):
            run.append(events.message("assistant", "b"), key="k")
    assert steps(run.task) == [1]


async def test_a_run_for_asyncio_is_the_same(async_store):
    run = await async_store.resume("essay", user="ana")
    seen = []

    async def work(step):
        seen.append(step.number)
        if seen == [1, 2]:
            await async_store.restore("essay@step-1")
        assert await run.once(f"k{len(seen)}", lambda: len(seen)) == len(seen)
        if len(seen) == 3:
            step.end_run()

    assert await run.drive(work) == "idle"
    assert seen == [1, 2, 2]
    assert await run.next_step() == 3


def test_a_run_that_a_cleanup_trimmed_continues_and_repeats_no_work(store):
    run = store.resume("essay", user="ana")
    store.task("essay").guide("shorter")
    done = []
    for number in range(4):
        with run.step():
            run.new_guidance()
            run.once(f"k{number}", lambda: done.append(1))
    marks = [mark.id for mark in run.task.checkpoints()]
    store.clean_up("essay", marks[1:])
    again = store.resume("essay")
    with again.step() as step:
        assert step.number == 5 and again.new_guidance() == []
    try:
        again.once("k0", lambda: done.append(2))
    except milepost.NotFoundError as error:
        assert "removed by a cleanup" in str(error)
    assert 2 not in done


def test_guidance_outside_of_a_step_counts_as_read_with_the_next_one(store):
    run = store.resume("essay", user="ana")
    store.task("essay").guide("one")
    assert [one["text"] for one in run.new_guidance()] == ["one"]
    with run.step():
        pass
    assert run.new_guidance() == []
    assert store.resume("essay").new_guidance() == []


def test_a_pause_a_stop_or_a_restore_during_the_last_step_counts(store, monkeypatch):
    task = store.start("essay", user="ana")
    monkeypatch.setattr("milepost._transport.sleep", lambda _: task.control("running"))

    def paused(step):
        task.control("paused")
        step.end_run()

    assert store.resume("essay").drive(paused) == "idle"

    def stopped(step):
        task.control("stopped")
        step.end_run()

    assert store.resume("essay").drive(stopped) == "stopped"
    seen = []

    def restored(step):
        seen.append(step.number)
        if len(seen) == 1:
            store.restore("essay@step-1")
        step.end_run()

    assert store.resume("essay").drive(restored) == "idle"
    assert seen == [3, 2]


def test_starters_and_calls_at_once_do_not_disturb_each_other(store):
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda _: store.resume("essay", user="ana"), range(16)))
        calls = []
        results = pool.map(lambda _: runs[0].once("k", lambda: calls.append(1) or "x"), range(16))
        assert set(results) == {"x"} and len(calls) == 1


def test_what_once_returns_is_what_was_recorded(store):
    run = store.resume("essay", user="ana")
    assert run.once("like bytes".replace(" ", "-"), lambda: {"base64": 5}) == {"base64": 5}
    run.once("list", lambda: [1]).append(2)
    assert run.once("list", list) == [1]
    run.append(events.application("mine", 1), key="once/mine")
    with pytest.raises(milepost.ConflictError, match="another event"):
        run.once("mine", list)
    if not store.is_local:
        with pytest.raises(milepost.InvalidError):
            run.once("with a blank", lambda: pytest.fail("the work was done"))


def test_work_for_asyncio_is_refused_where_nothing_awaits_it(store):
    async def work(step):
        step.end_run()

    run = store.resume("essay", user="ana")
    with pytest.raises(milepost.InvalidError, match="is async"):
        run.drive(work)
    assert steps(run.task) == []


def test_marks_name_their_step_and_a_failure(store):
    run = store.resume("essay", user="ana")
    with pytest.raises(ValueError), run.step():
        raise ValueError("no")
    with run.step():
        pass
    good, bad = run.task.checkpoints()
    assert (good.label, good.status, good.metadata["step"]) == ("step-1", "success", 1)
    assert (bad.status, bad.metadata["step"]) == ("failure", 1)
