"""A study of Optuna: killed, continued, bisected, and forked at a trial.

    python study.py            all of it, in a folder of its own
    python study.py FOLDER     the same, and the store stays in FOLDER/.milepost

What is tuned is a function, so nothing is downloaded. The program starts itself again as a child,
which is killed in the middle of a trial.
"""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import milepost
import optuna
from milepost.optuna import MilepostJournalBackend

TRIALS = 40
optuna.logging.set_verbosity(optuna.logging.WARNING)


def measure(rate: float, depth: int) -> float:
    """Returns the seconds of a run. The best are about 1 second, at a rate of 0.3 and a depth of 6."""
    return 1 + 20 * (rate - 0.3) ** 2 + abs(depth - 6) / 4


def tuned(trial: optuna.Trial) -> float:
    """Returns what a trial measures. From trial 17 on the result is in minutes, by mistake."""
    if os.environ.get("KILL_AT") == str(trial.number):
        os.kill(os.getpid(), signal.SIGKILL)
    seconds = measure(trial.suggest_float("rate", 0, 1), trial.suggest_int("depth", 1, 12))
    return seconds / 60 if trial.number >= 17 else seconds


def repaired(trial: optuna.Trial) -> float:
    return measure(trial.suggest_float("rate", 0, 1), trial.suggest_int("depth", 1, 12))


def open_study(store: milepost.Store, address: str) -> optuna.Study:
    """Opens the study of a task, or of a lineage of it."""
    storage = optuna.storages.JournalStorage(MilepostJournalBackend(store, address))
    sampler = optuna.samplers.TPESampler(seed=7)
    return optuna.create_study(
        study_name="tuning", storage=storage, sampler=sampler, load_if_exists=True
    )


def child(folder: pathlib.Path) -> None:
    """Works on the study until it is killed."""
    with milepost.open(folder / ".milepost") as store:
        open_study(store, "tuning").optimize(tuned, n_trials=TRIALS)


def main(folder: pathlib.Path) -> None:
    print("1. A process works on the study, and is killed in trial 9.")
    command = [sys.executable, __file__, "--child", str(folder)]
    killed = subprocess.run(command, env={**os.environ, "KILL_AT": "9"}, check=False)
    assert killed.returncode == -signal.SIGKILL, killed

    with milepost.open(folder / ".milepost") as store:
        print("2. Another one continues.")
        study = open_study(store, "tuning")
        running = [trial for trial in study.trials if not trial.state.is_finished()]
        print(f"   {len(study.trials) - 1} trials are finished, trial {running[0].number} is not")
        assert (len(study.trials), running[0].number) == (10, 9)
        study.tell(running[0].number, state=optuna.trial.TrialState.FAIL)
        study.optimize(tuned, n_trials=TRIALS - len(study.trials))
        print(f"   best: {study.best_value:.3f} s, in trial {study.best_trial.number}")

        print("3. Too good to be true. Which trial was the first wrong one?")
        looked = []

        def is_right(checkpoint: milepost.Checkpoint, state: dict) -> bool:
            """Measures the parameters of a trial again."""
            looked.append(checkpoint.metadata["trial"])
            return state["metrics"]["value"] == measure(**study.trials[looked[-1]].params)

        found = store.bisect("tuning@trial-10", f"tuning@trial-{TRIALS - 1}", is_right)
        print(f"   {found.bad.label}, after a look at the trials {looked}")
        assert found.bad.label == "trial-17"

        print(f"4. A fork at {found.good.label}, with the repaired measure. The first study stays.")
        fork = store.branch(found.good.address, description="seconds again")
        forked = open_study(store, fork.address)
        assert len(forked.trials) == 17
        forked.optimize(repaired, n_trials=TRIALS - 17)
        best = forked.best_trial
        print(f"   best: {best.value:.3f} s, in trial {best.number}, with {best.params}")
        assert best.value == measure(**best.params) < 2
        assert len(open_study(store, "tuning").trials) == TRIALS

        print("5. The task continues there.")
        task = store.task("tuning").switch(fork.lineages()[-1].id)
        assert open_study(store, "tuning").best_value == best.value
        for lineage in task.lineages():
            active = " (active)" if lineage.active else ""
            print(f"   lineage {lineage.id}: {lineage.head} events{active}")


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(pathlib.Path(sys.argv[-1]))
    elif len(sys.argv) > 1:
        main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(pathlib.Path(temporary))
