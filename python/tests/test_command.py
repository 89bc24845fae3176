"""The command that comes with the package: as a script, and as a module."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import milepost

SCRIPT = os.path.join(os.path.dirname(sys.executable), "milepost")
WAYS = {"script": [SCRIPT], "module": [sys.executable, "-m", "milepost"]}


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> list[str]:
    return WAYS[request.param]


def run(way: list[str], *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*way, *words], capture_output=True, text=True, cwd=folder, timeout=120)


def test_the_command_has_the_version_of_the_package(way: list[str], tmp_path: Path) -> None:
    came = run(way, "--version", folder=tmp_path)
    assert (came.returncode, came.stdout) == (0, f"milepost {milepost.__version__}\n")


def test_the_demo_starts_a_worker_and_kills_it(way: list[str], tmp_path: Path) -> None:
    came = run(way, "demo", folder=tmp_path)
    assert came.returncode == 0, came.stderr
    assert "killed" in came.stdout, came.stdout


def test_a_failure_has_the_exit_code_and_the_hint_of_the_command(
    way: list[str], tmp_path: Path
) -> None:
    came = run(way, "log", "--limit", "many", folder=tmp_path)
    assert came.returncode == 2
    assert "milepost log --help" in came.stderr


def test_what_the_package_writes_the_command_reads(way: list[str], tmp_path: Path) -> None:
    with milepost.open(tmp_path / ".milepost") as store:
        store.start("essay").append(milepost.events.message("user", "Write about rain."))
    came = run(way, "tasks", "--json", folder=tmp_path)
    assert [task["id"] for task in json.loads(came.stdout)["items"]] == ["essay"]


def test_an_argument_that_is_no_text_arrives(way: list[str], tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    words = [*(os.fsencode(word) for word in way), b"--store", folder, b"init"]
    came = subprocess.run(words, capture_output=True, cwd=tmp_path, timeout=120)
    assert came.returncode == 0, came.stderr
    assert os.path.isdir(folder)


def test_an_interrupt_ends_a_command_that_waits(way: list[str], tmp_path: Path) -> None:
    words = [*way, "record", "-", "--task", "essay"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, cwd=tmp_path, text=True) as recording:
        assert recording.stdin and recording.stdout
        recording.stdin.write('{"kind": "message", "role": "user", "content": "rain"}\n')
        recording.stdin.flush()
        while not (tmp_path / ".milepost").is_dir():
            assert recording.poll() is None
        recording.send_signal(signal.SIGINT)
        assert recording.wait(timeout=120) in (-signal.SIGINT, 130)


def test_an_agent_is_told_the_script(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path)}
    words = [SCRIPT, "agent", "install", "claude-code"]
    came = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert came.returncode == 0, came.stderr
    assert SCRIPT in (tmp_path / ".claude" / "settings.json").read_text()
