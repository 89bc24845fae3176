"""The journal of Optuna: its own suite, and what a log adds to it."""

import math
import os
import pickle
import subprocess
import sys

import pytest

pytest.importorskip("optuna")

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal._base import BaseJournalSnapshot
from optuna.testing.pytest_storages import StorageTestCase

from milepost import events, mark
from milepost.optuna import LOG, MilepostJournalBackend

optuna.logging.set_verbosity(optuna.logging.WARNING)

WORKER = """
import sys, milepost, optuna
from milepost.optuna import MilepostJournalBackend
optuna.logging.set_verbosity(optuna.logging.ERROR)
with milepost.open(sys.argv[1]) as store:
    storage = optuna.storages.JournalStorage(MilepostJournalBackend(store, "t"))
    study = optuna.load_study(study_name="s", storage=storage)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=5)
"""


def square(trial):
    return trial.suggest_float("x", -2, 2) ** 2


def study_of(store, task="t"):
    """Opens the study of a task, as a new process does."""
    storage = JournalStorage(MilepostJournalBackend(store, task))
    sampler = optuna.samplers.RandomSampler(seed=1)
    return optuna.create_study(
        study_name="s", storage=storage, sampler=sampler, load_if_exists=True
    )


class TestStorage(StorageTestCase):
    @pytest.fixture
    def storage(self, store):
        return JournalStorage(MilepostJournalBackend(store, "study"))


def test_a_study_goes_on_where_it_stopped(store):
    study_of(store).optimize(square, n_trials=4)
    study = study_of(store)
    assert len(study.trials) == 4
    study.optimize(square, n_trials=2)
    assert [trial.number for trial in study_of(store).trials] == list(range(6))


def test_nan_and_infinity_come_back(store):
    study = study_of(store)

    def odd(trial):
        trial.report(math.nan, 0)
        trial.report(-math.inf, 1)
        trial.set_user_attr("nan", math.nan)
        return math.inf

    study.optimize(odd, n_trials=1)
    trial = study_of(store).trials[0]
    assert trial.value == math.inf
    assert trial.intermediate_values[1] == -math.inf
    assert math.isnan(trial.intermediate_values[0]) and math.isnan(trial.user_attrs["nan"])
    assert store.checkpoint(store.point("t@trial-0").checkpoint).metadata["values"] == ["inf"]


def test_a_study_is_forked_at_a_trial_and_the_first_one_stays(store):
    study_of(store).optimize(square, n_trials=5)
    fork = store.branch("t@trial-2")
    forked = study_of(store, fork.address)
    assert len(forked.trials) == 3
    forked.optimize(lambda trial: 7.0, n_trials=1)
    assert [trial.value for trial in study_of(store, fork.address).trials][3] == 7.0
    assert len(study_of(store).trials) == 5


def test_a_restored_study_goes_on_from_the_trial_and_undo_brings_the_others_back(store):
    study_of(store).optimize(square, n_trials=5)
    store.restore("t@trial-1")
    study = study_of(store)
    assert len(study.trials) == 2
    study.optimize(square, n_trials=1)
    store.task("t").undo()
    assert len(study_of(store).trials) == 5


def test_a_worker_that_runs_during_a_restore_stays_on_its_lineage(store):
    study = study_of(store)
    study.optimize(square, n_trials=3)
    store.restore("t@trial-0")
    study.optimize(square, n_trials=1)
    assert len(study.trials) == 4
    assert len(study_of(store).trials) == 1


class Calls:
    """Pickled, a call of `os.mkdir`."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_nothing_that_a_token_can_append_is_unpickled(store, tmp_path):
    study_of(store).optimize(square, n_trials=2)
    called = tmp_path / "called"
    content = pickle.dumps(Calls(called))
    for name in ("optuna.snapshot", "snapshot"):
        event = events.application(name, content)
        store.task("t").append(event, checkpoint=mark(name, metadata={"logs": 0, "next": 0}))
    study = study_of(store)
    assert len(study.trials) == 2
    study.optimize(square, n_trials=101)
    assert not called.exists()
    assert not isinstance(MilepostJournalBackend(store, "t"), BaseJournalSnapshot)
    names = {event.name for event in store.task("t").events(1)}
    assert "optuna.snapshot" in names and len(study_of(store).trials) == 103


def test_logs_are_numbered_alike_wherever_a_backend_begins(store):
    study_of(store).optimize(lambda trial: float(trial.number), n_trials=20)
    plain, other = (MilepostJournalBackend(store, "t") for _ in range(2))
    all_logs = list(plain.read_logs(0))
    assert len(all_logs) == 1 + 2 * 20
    for start in (39, 40, 5, 0, 40, 3):
        assert list(other.read_logs(start)) == list(plain.read_logs(start)) == all_logs[start:]
    new = [{"op_code": 2, "study_id": 0, "user_attr": {"n": n}, "worker_id": "w"} for n in (1, 2)]
    plain.append_logs(new)
    for start, expected in ((41, new), (42, new[1:]), (43, [])):
        assert list(other.read_logs(start)) == list(plain.read_logs(start)) == expected


def test_a_change_for_the_worse_is_found_by_bisection(store):
    def drifting(trial):
        return 1.0 if trial.number < 6 else 50.0

    study_of(store).optimize(drifting, n_trials=12)
    found = store.bisect("t@trial-0", "t@trial-11", lambda _, state: state["metrics"]["value"] < 10)
    assert (found.good.label, found.bad.label) == ("trial-5", "trial-6")


def test_a_failed_trial_is_a_failure_in_the_log(store):
    study = study_of(store)
    study.optimize(lambda trial: 1 / 0, n_trials=1, catch=ZeroDivisionError)
    assert store.checkpoint(store.point("t@trial-0").checkpoint).status == "failure"
    assert "trial 0" in store.task("t").state("/last_error/message")


def test_workers_of_several_processes_share_a_study(store):
    study = study_of(store)
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, store.name]) for _ in range(3)]
    study.optimize(square, n_trials=5)
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    trials = study_of(store).trials
    assert [trial.number for trial in trials] == list(range(20))
    assert all(trial.state.is_finished() for trial in trials)


def test_without_checkpoints_there_are_only_the_logs(store):
    backend = MilepostJournalBackend(store, "t", checkpoints=False)
    optuna.create_study(storage=JournalStorage(backend)).optimize(square, n_trials=1)
    assert not list(backend.task.checkpoints())
    assert {event.name for event in backend.task.events(1)} == {LOG}


def test_the_log_has_the_trials_that_optuna_counted(store):
    def risky(trial):
        value = trial.suggest_float("x", -2, 2)
        if trial.number == 2:
            raise ValueError("no such value")
        return value**2

    study = study_of(store)
    study.optimize(risky, n_trials=5, catch=ValueError)
    states = [trial.state.name for trial in study.trials]
    (summary,) = store.summaries()
    assert summary.failed == states.count("FAIL") == 1
    turns = [turn for turn in store.task("t").turns() if turn.label]
    assert [turn.label for turn in turns] == [f"trial-{trial.number}" for trial in study.trials]
    values = [turn.metrics.get("value") for turn in turns]
    assert values == [trial.value for trial in study.trials]
