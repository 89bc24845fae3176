"""Appends a second: one thread, eight threads, and batches next to a thread that burns the processor.

python benches/appends.py
"""

from __future__ import annotations

import os
import pathlib
import tempfile
import threading
import time

import milepost
from milepost import events

COUNT = 4000


def threads(store: milepost.Store, number: int) -> float:
    tasks = [store.start(f"threads-{number}-{n}") for n in range(number)]
    message = events.message("user", "hello")

    def work(task: milepost.Task) -> None:
        for _ in range(COUNT // number):
            task.append(message)

    running = [threading.Thread(target=work, args=(task,)) for task in tasks]
    start = time.perf_counter()
    for one in running:
        one.start()
    for one in running:
        one.join()
    return COUNT / (time.perf_counter() - start)


def batches(store: milepost.Store) -> float:
    task = store.start("batches")
    message = events.message("user", "hello")
    ended = threading.Event()

    def burn() -> None:
        while not ended.is_set():
            sum(range(1000))

    burning = threading.Thread(target=burn)
    burning.start()
    start = time.perf_counter()
    for _ in range(COUNT // 64):
        tickets = [task.submit(message) for _ in range(64)]
        tickets[-1].wait()
    spent = time.perf_counter() - start
    ended.set()
    burning.join()
    return COUNT // 64 * 64 / spent


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("MILEPOST_BENCH_DIR")) as folder:
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_STATE_HOME"] = folder
        with milepost.open(pathlib.Path(folder) / "store") as store:
            for number in (1, 8):
                print(f"{number} threads: {threads(store, number):8.0f} appends/s")
            print(f"64 at a time, next to a busy thread: {batches(store):8.0f} appends/s")


if __name__ == "__main__":
    main()
