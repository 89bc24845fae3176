"""Stores of the tests of the adapters: one of this process, and one that another process has open."""

import os
import subprocess
import sys

import pytest

import milepost

HOLDER = """
import sys, milepost
with milepost.open(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Keeps keys and anchors of the tests out of the user's folders."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(params=["native", "socket"])
def folder(request, tmp_path):
    """The folder of a store. With `socket` another process has the store open."""
    path = tmp_path / "store"
    if request.param == "native":
        yield path
        return
    command = [sys.executable, "-c", HOLDER, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=dict(os.environ)
    ) as holder:
        assert holder.stdout.readline() == "open\n"
        yield path
        holder.stdin.close()


@pytest.fixture
def hold():
    """Starts a process that has a store open, at whose socket others use it."""

    def started(path):
        command = [sys.executable, "-c", HOLDER, str(path)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert process.stdout.readline() == "open\n"
        return process

    return started


@pytest.fixture
def store(request, folder):
    """A store."""
    with milepost.open(folder) as opened:
        is_native = request.node.callspec.params["folder"] == "native"
        assert opened.is_local == is_native
        yield opened


@pytest.fixture
async def async_store(folder):
    """A store for asyncio."""
    async with milepost.open_async(folder) as opened:
        yield opened
