"""Runs: the loop, after kills, failures, pauses and restores."""

import subprocess
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


def test_a_policy_decides_when_a_checkpoint_is_marked(store):
    asked = []

    def policy(now):
        asked.append((now.kind, now.steps, now.files, now.destructive, now.asked))
        return now.asked or now.kind in ("phase", "tool")

    run = store.resume("tuning", user="ana", policy=policy)
    with run.step():
        run.touched(2)
    run.ask_for_checkpoint()
    with run.step():
        pass
    run.phase("layer2", 3)
    assert run.tool("rm", {"path": "a"}, lambda: {"ok": 1}, files=1, destructive=True) == {"ok": 1}
    with pytest.raises(ValueError), run.step():
        raise ValueError("no disk")
    assert asked == [
        ("step", 1, 2, False, False),
        ("step", 2, 2, False, True),
        ("phase", 0, 0, False, False),
        ("tool", 0, 1, True, False),
        ("failure", 1, 1, True, False),
    ]
    tool, phase, step = run.task.checkpoints()
    assert (step.label, step.metadata) == ("step-2", {"steps": 2, "files": 2, "step": 2})
    assert (phase.metadata["phase"], phase.metadata["iteration"]) == ("layer2", 3)
    assert (tool.cause, tool.metadata["tool"]) == ("before_tool", "rm")
    called = next(run.task.events(kinds=["tool_called"]))
    returned = next(run.task.events(kinds=["tool_returned"]))
    assert (called.body["tool"], called.body["arguments"]) == ("rm", {"path": "a"})
    assert (returned.body["call"], returned.body["output"]) == (called.body["call"], {"ok": 1})
    assert tool.at == called.offset - 1
    with pytest.raises(OSError, match="gone"):
        run.tool("ls", {}, lambda: (_ for _ in ()).throw(OSError("gone")))
    last = list(run.task.events(kinds=["tool_returned"]))[-1]
    assert (last.body["ok"], last.body["output"]) == (False, "gone")
    # A checkpoint of another program counts from there.
    run.touched(9)
    run.task.checkpoint("mine")
    with run.step():
        pass
    assert asked[-1] == ("step", 1, 0, False, False)


def test_named_policies_decide_by_steps_phases_and_risk():
    from milepost.policies import TriggerContext, every_phase, every_steps, never, risk

    def at(kind, steps=0, files=0, destructive=False, asked=False, seconds=0.0):
        return TriggerContext(kind, steps, files, destructive, asked, seconds)

    assert [every_steps(3)(at("step", n)) for n in (2, 3)] == [False, True]
    assert every_steps(3)(at("failure", 3)) and not every_steps(1)(at("tool", 9))
    assert every_steps(0)(at("step", 1))
    assert every_phase(at("phase")) and not every_phase(at("step", 9))
    assert not never(at("phase", 9, 9, True, True, None))
    # Two of four factors; no checkpoint yet counts as late.
    factors = [("files", 6), ("destructive", True), ("asked", True), ("seconds", 301.0)]
    for one in factors:
        assert not risk()(at("tool", **dict([one])))
        assert risk(score=1)(at("tool", **dict([one])))
        for other in factors:
            assert risk()(at("tool", **dict([one, other]))) == (one != other)
    assert risk()(at("tool", destructive=True, seconds=None))


def test_a_run_that_waits_is_saved_once(store, monkeypatch):
    run = store.resume("essay", user="ana", autosave=60)
    run.append(events.message("user", "unsaved"))
    task = store.task("essay")
    task.control("paused")
    now, saved = [0.0], []

    def sleep(seconds):
        now[0] += 25
        saved.append([one.cause for one in task.checkpoints()])
        if len(saved) == 10:
            task.control("running")

    monkeypatch.setattr("milepost._transport.sleep", sleep)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    assert run.ready()
    assert saved[:3] == [[], [], []] and saved[3:] == [["idle"]] * 7


def refusing(monkeypatch, run, error):
    """Makes the store refuse appends until the returned list is emptied."""
    away = [error]
    task = type(run.task)
    appends = task._append

    def append(self, *given):
        # A request with an impossible head only asks for a key.
        if away and given[3:] in ((), (None,)):
            raise away[0]
        return appends(self, *given)

    monkeypatch.setattr(task, "_append", append)
    return away


def test_a_run_goes_on_while_its_store_refuses_and_writes_all_once_in_order(store, monkeypatch):
    run = store.resume("essay", user="ana")
    away = refusing(monkeypatch, run, milepost.UnavailableError("no space left on the disk"))
    monkeypatch.setattr("milepost._transport.sleep", lambda seconds: away.clear())
    done, guided = [], []

    def work(step):
        guided.append(run.new_guidance())
        result = run.once(f"work-{step.number}", lambda: done.append(step.number) or step.number)
        assert run.once(f"work-{step.number}", lambda: done.append("again")) == result
        assert run.append(events.message("assistant", f"text {step.number}")) is None
        step.metrics["loss"] = step.number
        if step.number == 3:
            assert run.held == 11
            assert list(run.task.events(kinds=["step_started"])) == []
            with pytest.raises(milepost.UnavailableError, match="11 appends are held"):
                run.checkpoint("now")
            step.end_run()

    assert run.drive(work) == "idle"
    assert done == [1, 2, 3] and guided == [[], [], []]
    assert run.held == 0
    kinds = [one.kind for one in run.task.events() if one.kind != "control_changed"]
    of_step = ["step_started", "application", "message", "step_finished", "checkpoint_marked"]
    assert [kind for kind in kinds if kind in of_step] == of_step * 3
    assert [mark.label for mark in run.task.checkpoints()] == ["step-3", "step-2", "step-1"]
    assert store.resume("essay").next_step() == 4


def test_what_is_held_has_a_limit_and_nothing_is_held_without_one(store, monkeypatch):
    run = store.resume("essay", user="ana", held_bytes=1000)
    none = store.resume("essay", held_bytes=0)
    away = refusing(monkeypatch, run, milepost.UnavailableError("no space left on the disk"))
    assert run.append(events.message("user", "x" * 900)) is None
    with pytest.raises(milepost.UnavailableError, match="1 appends are held .* no space"):
        run.append(events.message("user", "y" * 900))
    with pytest.raises(milepost.UnavailableError, match="no space"):
        none.append(events.message("user", "z"))
    assert (run.held, none.held) == (1, 0)
    away.clear()
    run.settle()
    assert [one.body["content"][0] for one in run.task.events(kinds=["message"])] == ["x"]


def test_what_was_held_before_a_restore_is_refused_after_it(store, monkeypatch, caplog):
    run = store.resume("essay", user="ana")
    with run.step():
        pass
    away = refusing(monkeypatch, run, milepost.UnavailableError("no space left on the disk"))
    with pytest.raises(milepost.ConflictError), run.step():
        assert run.append(events.message("assistant", "late")) is None
        away.clear()
        store.restore("essay@step-1")
        monkeypatch.setattr(run._spool, "_next", 0.0)
        run.append(events.message("assistant", "later"))
    assert run.held == 0
    assert "an append that was held is refused" in caplog.text
    assert list(run.task.events(kinds=["message"])) == []


def test_a_store_whose_write_failed_is_opened_again(tmp_path):
    with milepost.open(tmp_path / "store", key=None, anchor=None) as store:
        task = store.start("essay", user="ana")
        task.append(events.message("user", "one"))
        following = store._native
        following.reopen()
        assert store.is_local
        task.append(events.message("user", "two"))
        assert [one.body["content"] for one in task.events(kinds=["message"])] == ["one", "two"]
    with pytest.raises(milepost.UnavailableError, match="was closed"):
        following.reopen()


def test_a_run_takes_a_store_over_whose_process_was_killed(tmp_path, monkeypatch, hold):
    path = tmp_path / "store"
    monkeypatch.setattr("milepost._spool.RETRY", 0.0)
    with hold(path) as first, milepost.open(path) as store:
        assert not store.is_local
        run = store.resume("essay", user="ana")
        done = []

        def work(step):
            if step.number == 2:
                first.kill()
                first.wait()
                assert run.append(events.message("assistant", "while it is gone")) is None
            run.once(f"work-{step.number}", lambda: done.append(step.number))
            if step.number == 4:
                step.end_run()

        assert run.drive(work) == "idle"
        assert store.is_local
        assert (done, steps(run.task)) == ([1, 2, 3, 4], [1, 2, 3, 4])
        assert len(list(run.task.events(kinds=["message"]))) == 1
        assert list(run.task.checkpoints())[0].label == "step-4"


def test_a_refusal_other_than_of_the_disk_is_raised_and_loses_nothing(store, monkeypatch):
    run = store.resume("essay", user="ana")
    away = refusing(monkeypatch, run, milepost.UnavailableError("no space left on the disk"))
    assert run.append(events.message("user", "one")) is None
    away[0] = milepost.RefusedError("the token is not known")
    monkeypatch.setattr(run._spool, "_next", 0.0)
    with pytest.raises(milepost.RefusedError):
        run.settle()
    assert run.held == 1
    error = milepost.UnavailableError("a bug")
    error.status = 500
    away[0] = error
    with pytest.raises(milepost.UnavailableError, match="a bug"):
        store.resume("essay").append(events.message("user", "two"))
    away.clear()
    run.settle()
    assert [one.body["content"] for one in run.task.events(kinds=["message"])] == ["one"]


def test_an_end_that_waits_notices_a_restore(store, monkeypatch):
    run = store.resume("essay", user="ana")
    away, seen = [], []

    def work(step):
        seen.append(step.number)
        if seen == [1, 2, 3]:
            away.extend(refusing(monkeypatch, run, milepost.UnavailableError("no space")))
        if step.number == 3:
            step.end_run()

    task = type(run.task)
    appends = task._append

    def sleep(seconds):
        # While the end waits, the disk is freed and another program restores.
        if run.held:
            monkeypatch.setattr(task, "_append", appends)
            monkeypatch.setattr(run._spool, "_next", 0.0)
            store.restore("essay@step-1")

    monkeypatch.setattr("milepost._transport.sleep", sleep)
    assert run.drive(work) == "idle"
    assert seen == [1, 2, 3, 2, 3]
    assert steps(run.task) == [1, 2, 3]


def test_a_paused_run_waits_while_its_store_is_not_there(tmp_path, monkeypatch, hold):
    path = tmp_path / "store"
    with hold(path) as first, milepost.open(path) as store:
        run = store.resume("essay", user="ana")
        store.task("essay").control("paused")
        waits = []

        def sleep(seconds):
            waits.append(seconds)
            if len(waits) == 2:
                first.kill()
                first.wait()
            if len(waits) == 8:
                store.task("essay").control("running")

        monkeypatch.setattr("milepost._transport.sleep", sleep)
        assert run.ready()
        assert len(waits) >= 8
        assert store.is_local


def test_a_run_continues_whose_store_loses_its_process_while_nothing_is_held(tmp_path, hold):
    path = tmp_path / "store"
    with hold(path) as first, milepost.open(path) as store:
        run = store.resume("essay", user="ana")
        first.kill()
        first.wait()
        with run.step() as step:
            assert step.number == 1
        run.end()
        assert store.is_local and run.task.control() == "idle"


def test_guidance_that_a_held_step_read_is_read(store, monkeypatch):
    run = store.resume("essay", user="ana")
    store.task("essay").guide("shorter")
    away = refusing(monkeypatch, run, milepost.UnavailableError("no space left on the disk"))
    with run.step():
        assert [one["text"] for one in run.new_guidance()] == ["shorter"]
    with pytest.raises(ValueError), run.step():
        raise ValueError("fails")
    with run.step():
        assert run.new_guidance() == []
    away.clear()
    run.settle()
    assert steps(run.task) == [1, 2]


def test_a_store_whose_write_failed_is_opened_until_that_succeeds(store, monkeypatch):
    run = store.resume("essay", user="ana")
    away = refusing(monkeypatch, run, milepost.PoisonedError("an earlier write failed"))
    opened = []

    def reopen(native):
        opened.append(native)
        # A store that could not be opened is not there: that is no failed write any more.
        away[:] = [milepost.UnavailableError("the store is closed")]
        if len(opened) < 4:
            raise milepost.UnavailableError("no space left on the disk")
        away.clear()

    monkeypatch.setattr("milepost._transport.reopen", reopen)
    monkeypatch.setattr("milepost._transport.sleep", lambda _: setattr(run._spool, "_next", 0.0))
    with run.step():
        pass
    assert run.held == 2
    run.settle()
    assert (run.held, len(opened)) == (0, 4)
    assert steps(run.task) == [1]


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for 48 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no disk can be mounted")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_run_on_a_full_disk_ends_when_the_disk_has_room(small_disk, monkeypatch):
    monkeypatch.setattr("milepost._spool.RETRY_MAX", 0.1)
    ballast = small_disk / "ballast"
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 5:
            ballast.unlink()
        monkeypatch.setattr(run._spool, "_next", 0.0)

    monkeypatch.setattr("milepost._transport.sleep", sleep)
    with milepost.open(small_disk / "store", key=None, anchor=None) as store:
        run = store.resume("essay", user="ana")

        def work(step):
            if step.number == 2:
                with pytest.raises(OSError), ballast.open("wb", buffering=0) as file:
                    while True:
                        file.write(bytes(65_536))
            run.append(events.message("user", f"{step.number} " * 10_000))
            if step.number == 20:
                assert run.held > 0
                step.end_run()

        assert run.drive(work) == "idle"
        assert steps(run.task) == list(range(1, 21))
        said = [event.body["content"].split()[0] for event in run.task.events(kinds=["message"])]
        assert said == [str(number) for number in range(1, 21)]
        assert len(waits) >= 5
