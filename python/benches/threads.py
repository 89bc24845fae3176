"""A growing conversation with MilepostSaver beside SqliteSaver: puts, writes, reads, disk.

    python benches/threads.py [STEPS] [--socket]

Each step puts a checkpoint whose list has one message of 1 kB more, and the write of one task. Both
savers run in turn, three times each; the medians are printed.
"""

from __future__ import annotations

import gc
import os
import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

import milepost
from milepost.langgraph import MilepostSaver

LISTED = 300


def run(saver: Any, steps: int) -> dict[str, float]:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    messages: list[str] = []
    puts: list[float] = []
    writes: list[float] = []
    version = None
    for step in range(steps):
        messages.append(f"{step} " + os.urandom(500).hex())
        checkpoint = empty_checkpoint()
        version = saver.get_next_version(version, None)
        checkpoint["channel_values"] = {"messages": messages, "step": step}
        checkpoint["channel_versions"] = {"messages": version, "step": version}
        metadata: Any = {"source": "loop", "step": step, "parents": {}}
        start = time.perf_counter()
        config = saver.put(config, checkpoint, metadata, {"messages": version, "step": version})
        middle = time.perf_counter()
        saver.put_writes(config, [("messages", messages[-1])], f"task-{step}")
        puts.append(middle - start)
        writes.append(time.perf_counter() - middle)
    latest = []
    for _ in range(20):
        start = time.perf_counter()
        found = saver.get_tuple({"configurable": {"thread_id": "t"}})
        latest.append(time.perf_counter() - start)
    assert found.checkpoint["channel_values"]["messages"] == messages
    lists = []
    for _ in range(3):
        gc.collect()
        start = time.perf_counter()
        listed = list(
            saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, limit=LISTED)
        )
        lists.append(time.perf_counter() - start)
    assert len(listed) == min(LISTED, steps)
    assert listed[0].checkpoint["channel_values"]["messages"] == messages
    return {
        "puts/s": len(puts) / sum(puts),
        "put p50 us": statistics.median(puts) * 1e6,
        "put p99 us": sorted(puts)[len(puts) * 99 // 100] * 1e6,
        "put_writes p50 us": statistics.median(writes) * 1e6,
        "latest ms": statistics.median(latest) * 1e3,
        f"list {LISTED} ms": statistics.median(lists) * 1e3,
    }


def bytes_in(folder: pathlib.Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def with_sqlite(folder: pathlib.Path, steps: int) -> dict[str, float]:
    connection = sqlite3.connect(folder / "threads.sqlite", check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute("PRAGMA synchronous=FULL")
    found = run(saver, steps)
    connection.close()
    return found


def with_milepost(folder: pathlib.Path, steps: int) -> dict[str, float]:
    os.environ["XDG_DATA_HOME"] = os.environ["XDG_STATE_HOME"] = f"{folder}-home"
    with milepost.open(folder / ".milepost") as store:
        if "--socket" not in sys.argv:
            return run(MilepostSaver(store), steps)
        with milepost.open(folder / ".milepost") as other:
            return run(MilepostSaver(other), steps)


def main() -> None:
    steps = int(next((word for word in sys.argv[1:] if word.isdigit()), "300"))
    results: dict[str, list[dict[str, float]]] = {"sqlite": [], "milepost": []}
    for _ in range(3):
        for name, work in (("sqlite", with_sqlite), ("milepost", with_milepost)):
            folder = pathlib.Path(
                tempfile.mkdtemp(prefix="bench-", dir=os.environ.get("MILEPOST_BENCH_DIR"))
            )
            found = work(folder, steps)
            found["disk MB"] = bytes_in(folder) / 1e6
            results[name].append(found)
            shutil.rmtree(folder)
            shutil.rmtree(f"{folder}-home", ignore_errors=True)
    print(f"{steps} steps; medians of 3")
    for row in results["sqlite"][0]:
        sqlite, milepost_ = (
            statistics.median(one[row] for one in results[name]) for name in ("sqlite", "milepost")
        )
        print(
            f"{row:20} sqlite {sqlite:12.2f}   milepost {milepost_:12.2f}   x {milepost_ / sqlite:8.4f}"
        )


if __name__ == "__main__":
    main()
