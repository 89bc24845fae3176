"""A journal of Optuna: studies in a Milepost store.

>>> import milepost
>>> import optuna
>>> from milepost.optuna import MilepostJournalBackend
>>> store = milepost.open("runs")
>>> backend = MilepostJournalBackend(store, "search")
>>> storage = optuna.storages.JournalStorage(backend)
>>> study = optuna.create_study(study_name="x", storage=storage, load_if_exists=True)

Each log of Optuna is an event of the task, and each finished trial a checkpoint `trial-ID`, whose
metadata has its values. Several processes can work on one study. To go on from a trial, restore it
or branch there, and open the journal again:

>>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
>>> fork = store.branch("search@trial-1")
>>> forked = optuna.storages.JournalStorage(MilepostJournalBackend(store, fork.address))
>>> len(optuna.load_study(study_name="x", storage=forked).trials)
2
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from optuna.storages.journal import BaseJournalBackend
from optuna.storages.journal._storage import JournalOperation
from optuna.trial import TrialState

from . import Store, Task, events, mark, open
from .errors import ConflictError, NotFoundError
from .events import NewEvent

LOG = "optuna.log"


class MilepostJournalBackend(BaseJournalBackend):
    """Keeps the logs of a `JournalStorage` in a task.

    A backend stays on the lineage that was active when it was made, because the storage cannot take
    back what it has read: after a restore make a new backend and a new storage. A worker that still
    runs continues on the lineage that was left, and changes nothing on the new one.

    It offers no snapshots, because Optuna unpickles them, and a pickle is a program: each token of
    the task could write one. A storage reads the logs, which are JSON. Snapshots that earlier
    versions stored (`optuna.snapshot`) are not read.

    A backend can be pickled if its store is a folder: it is opened again where it is loaded.

    Args:
        store: the store, of `milepost.open`.
        task: the id of the task, which is started if there is none, or the address of a lineage.
        checkpoints: `False`: finished trials are not marked.
    """

    def __init__(self, store: Store, task: str, *, checkpoints: bool = True) -> None:
        try:
            point = store.point(task)
        except NotFoundError:
            try:
                store.start(unquote(task))
            except ConflictError:
                pass  # Another worker started it.
            point = store.point(task)
        self._store = store
        self._address = point.address.partition("@")[0]
        self._task = Task(store, point.task, point.lineage)
        self._checkpoints = checkpoints
        self._lock = threading.Lock()
        # Log `i` is at `_offsets[i]`; `_next` is behind the last event that was read.
        self._offsets: list[int] = []
        self._next = 0

    @property
    def task(self) -> Task:
        """The task, on the lineage of the study."""
        return self._task

    def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
        """Returns the logs from a number on."""
        with self._lock:
            number, start = len(self._offsets), self._next
            if log_number_from < number:
                number, start = log_number_from, self._offsets[log_number_from]
            logs = []
            for event in self._task.events(start):
                if start == 0 < event.offset and self._next == 0:
                    raise NotFoundError(f"{self._address}: the first logs were trimmed")
                if event.name == LOG:
                    if event.offset >= self._next:
                        self._offsets.append(event.offset)
                    if number >= log_number_from:
                        logs.append(json.loads(event.data))
                    number += 1
                self._next = max(self._next, event.offset + 1)
            return logs

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Appends logs, in one commit."""
        batch: list[NewEvent] = []
        checkpoint = None
        for log in logs:
            # Bytes, not JSON: a log may have NaN and infinities.
            batch.append(events.application(LOG, json.dumps(log).encode()))
            if self._checkpoints and (state := _finished(log)):
                batch.append(_outcome(log, state))
                checkpoint = _mark(log, state)
        if batch:
            self._task.append(batch, checkpoint=checkpoint)

    def __reduce__(self) -> tuple[Callable[..., MilepostJournalBackend], tuple[Any, ...]]:
        return _again, (self._store.name, self._address, self._checkpoints)


def _again(folder: str, address: str, checkpoints: bool) -> MilepostJournalBackend:
    return MilepostJournalBackend(open(folder), address, checkpoints=checkpoints)


def _finished(log: dict[str, Any]) -> TrialState | None:
    """Returns the state of the trial that a log finishes."""
    if log["op_code"] != JournalOperation.SET_TRIAL_STATE_VALUES:
        return None
    state = TrialState(log["state"])
    return state if state.is_finished() else None


def _values(log: dict[str, Any]) -> list[Any]:
    """Returns the values of a trial, as JSON can have them."""
    values = log.get("values") or []
    return [value if math.isfinite(value) else str(value) for value in map(float, values)]


def _outcome(log: dict[str, Any], state: TrialState) -> NewEvent:
    trial, values = log["trial_id"], _values(log)
    if state == TrialState.FAIL:
        return events.step_failed(trial, f"trial {trial} failed")
    names = ["value"] if len(values) == 1 else [f"value_{n}" for n in range(len(values))]
    metrics = {name: one for name, one in zip(names, values, strict=True) if isinstance(one, float)}
    return events.step_finished(trial, metrics=metrics)


def _mark(log: dict[str, Any], state: TrialState) -> Any:
    trial, values = log["trial_id"], _values(log)
    metadata = {"trial": trial, "state": state.name, "values": values}
    status = "failure" if state == TrialState.FAIL else "success"
    return mark(f"trial-{trial}", status=status, cause="step", metadata=metadata)
