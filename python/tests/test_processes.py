"""A store and several processes: forks, kills, a second program, keys and anchors."""

import asyncio
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

import pytest

import milepost
from milepost import events


def child(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs code in another process."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def path(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "store"


def test_a_forked_child_gets_an_error_and_can_open_the_store_through_its_parent(path):
    store = milepost.open(path)
    task = store.start("t")
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = []
            for work in (
                task.head,
                lambda: task.append(events.message("user", "x")),
                lambda: store.tasks().__next__(),
            ):
                try:
                    work()
                except milepost.ForkedError as error:
                    said.append(str(error))
            store.close()
            with milepost.open(path) as again:
                again.task("t").append(events.message("user", "child"))
            os.write(writing, f"{len(said)} {os.getppid()} {said[0]}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    _, status = os.waitpid(pid, 0)
    count, opened, text = os.read(reading, 10_000).decode().split(" ", 2)
    os.close(reading)
    assert (status, count, opened) == (0, "3", str(os.getpid()))
    assert "open the store again" in text
    assert [event.body["content"] for event in task.events(1)] == ["child"]
    store.close()


def test_another_process_uses_a_store_that_is_open(path):
    with milepost.open(path) as store:
        task = store.start("t")
        code = """
import sys, milepost
with milepost.open(sys.argv[1]) as store:
    assert not store.is_local
    store.task("t").append(milepost.events.message("user", "hello"))
"""
        done = child(code, path)
        assert (done.returncode, done.stderr) == (0, "")
        assert task.head() == 2


def test_what_was_appended_before_a_kill_is_there(path):
    code = """
import os, signal, sys, milepost
store = milepost.open(sys.argv[1])
task = store.start("t")
for n in range(20):
    task.append(milepost.events.variables(n=n))
tickets = [task.submit(milepost.events.message("user", str(n))) for n in range(20)]
tickets[9].wait()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert child(code, path).returncode == -signal.SIGKILL
    with milepost.open(path) as store:
        task = store.task("t")
        assert task.state("/variables/n") == 19
        said = [event.body["content"] for event in task.events(kinds=["message"])]
        assert said == [str(n) for n in range(len(said))] and len(said) >= 10


def test_a_program_that_ends_without_closing_leaves_a_store_that_was_closed(path):
    code = "import sys, milepost\nmilepost.open(sys.argv[1]).start('t')\n"
    done = child(code, path)
    assert (done.returncode, done.stderr) == (0, "")
    # Written at the end of a close.
    assert (path / "sled-closed").exists()


def test_a_closed_store_says_so(path):
    store = milepost.open(path)
    task = store.start("t")
    store.close()
    store.close()
    with pytest.raises(milepost.UnavailableError, match="open it again"):
        task.head()
    assert "closed" in repr(store)
    with pytest.raises(milepost.NotFoundError):
        milepost.open(path.parent / "none", create=False)


def test_an_older_copy_of_a_store_does_not_open_with_its_anchor(path):
    with milepost.open(path) as store:
        store.start("t").append(events.message("user", "a"))
    shutil.copytree(path, path.parent / "copy")
    with milepost.open(path) as store:
        store.task("t").append(events.message("user", "b"))
    shutil.rmtree(path)
    os.rename(path.parent / "copy", path)
    with pytest.raises(milepost.CorruptError, match="anchor"):
        milepost.open(path)
    with milepost.open(path, anchor=None) as store:
        assert store.task("t").head() == 2


def test_a_store_is_moved_with_its_key_and_refused_without_it(path, monkeypatch, tmp_path):
    with milepost.open(path) as store:
        store.start("t")
    moved = path.parent / "moved"
    os.rename(path, moved)
    with milepost.open(moved) as store:
        assert store.task("t").head() == 1
    [key] = (tmp_path / "data" / "milepost" / "keys").iterdir()
    assert key.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(milepost.InvalidError, match=key.name):
        milepost.open(moved)
    with pytest.raises(milepost.InvalidError):
        milepost.open(moved, key=None)
    with milepost.open(moved, key=key.read_text().strip(), anchor=None) as store:
        assert store.task("t").head() == 1


def test_eight_threads_append_at_once(path):
    with milepost.open(path) as store:
        tasks = [store.start(f"t{n}") for n in range(8)]

        def work(task):
            for n in range(50):
                task.append(events.variables(n=n))

        threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [task.state("/variables/n") for task in tasks] == [49] * 8


def test_coroutines_append_at_once_and_a_cancelled_one_disturbs_nobody(path):
    async def main():
        async with milepost.open_async(path) as store:
            task = await store.start("t")
            waiting = asyncio.ensure_future(task.append(events.message("user", "cancelled")))
            await asyncio.sleep(0)
            waiting.cancel()
            done = await asyncio.gather(
                *[task.append(events.message("user", str(n))) for n in range(64)]
            )
            assert len({one.first for one in done}) == 64
            with pytest.raises(asyncio.CancelledError):
                await waiting
            found = [event async for event in task.events(kinds=["message"])]
            assert len(found) == 65
            with pytest.raises(milepost.NotFoundError):
                await store.task("none")
            branch = await store.branch("t@1", events.message("user", "branch"))
            assert await branch.head() == 3
            assert await task.once("k", lambda: 7) == await task.once("k", lambda: 8) == 7
            assert await task.submit(events.message("user", "last"))

    asyncio.run(main())
    asyncio.run(main_again(path))


async def main_again(path):
    """Another event loop uses a store that was opened again."""
    async with milepost.open_async(path) as store:
        assert await (await store.task("t")).head() > 64


def test_an_interrupt_ends_a_wait(path):
    # A shell that starts the tests in the background has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with milepost.open(path) as store:
        task = store.start("t")
        main = threading.main_thread().ident
        timer = threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            for _ in task.follow(task.head()):
                pass
        timer.join()
        assert task.head() == 1
