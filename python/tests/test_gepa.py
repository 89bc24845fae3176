"""The callback of GEPA, in real optimizations with a model that answers from a list."""

import json
import math
import subprocess
import sys

import pytest

pytest.importorskip("gepa")

import gepa
from gepa.core.adapter import EvaluationBatch

import milepost
from milepost.gepa import MilepostCallback


class Words:
    """Scores a prompt by the words that it has. An example is a word."""

    propose_new_texts = None

    def evaluate(self, batch, candidate, capture_traces=False):
        scores = [float(word in candidate["prompt"]) for word in batch]
        traces = [{"word": word} for word in batch] if capture_traces else None
        return EvaluationBatch(outputs=list(batch), scores=scores, trajectories=traces)

    def make_reflective_dataset(self, candidate, batch, components):
        return {
            "prompt": [
                {"Inputs": trace["word"], "Feedback": "say it"} for trace in batch.trajectories
            ]
        }


class Proposals:
    """Adds one word an iteration; every third proposal is worse."""

    def __init__(self, words):
        self.words = list(words)
        self.calls = 0

    def __call__(self, candidate, dataset, components):
        self.calls += 1
        if self.calls % 3 == 0:
            return {"prompt": "nothing"}
        missing = [word for word in self.words if word not in candidate["prompt"]]
        return {"prompt": f"{candidate['prompt']} {missing[0]}" if missing else candidate["prompt"]}


WORDS = ["rain", "sun", "wind", "snow"]


def optimize(callback, **options):
    given = {
        "seed_candidate": {"prompt": "weather:"},
        "trainset": WORDS,
        "valset": WORDS,
        "adapter": Words(),
        "custom_candidate_proposer": Proposals(WORDS),
        "reflection_minibatch_size": 4,
        "max_metric_calls": 60,
        "candidate_selection_strategy": "current_best",
        "callbacks": [callback],
        "logger": type("Quiet", (), {"log": lambda *_: None})(),
    }
    return gepa.optimize(**{**given, **options})


@pytest.fixture
def task(store):
    return store.start("prompt")


def test_the_record_agrees_with_the_result(task):
    callback = MilepostCallback(task)
    result = optimize(callback)
    variables = task.state("/variables")
    assert (
        variables["best"]["text"]
        == result.best_candidate
        == {"prompt": f"weather: {' '.join(WORDS)}"}
    )
    assert variables["best"]["score"] == 1.0
    candidates = [variables["candidates"][f"{n}"] for n in range(len(result.candidates))]
    assert len(variables["candidates"]) == len(candidates) == 5
    assert [one["text"] for one in candidates] == result.candidates
    assert [one["score"] for one in candidates] == result.val_aggregate_scores
    assert [one["parents"] for one in candidates[1:]] == [
        [parent for parent in parents] for parents in result.parents[1:]
    ]


def test_each_iteration_is_a_step_and_a_checkpoint(task):
    optimize(MilepostCallback(task))
    marks = {one.label: one for one in task.checkpoints()}
    iterations = sum(label.startswith("iteration-") for label in marks)
    assert {"seed", "end", *[f"iteration-{n}" for n in range(1, iterations + 1)]} == set(marks)
    kinds = [event.kind for event in task.events(1)]
    assert kinds.count("step_started") == kinds.count("step_finished") == iterations > 4
    assert marks["iteration-1"].metadata == {"iteration": 1, "accepted": True, "best": 0.25}
    names = {event.name for event in task.events(1, kinds=["application"])}
    assert {
        "gepa.selected",
        "gepa.evaluated",
        "gepa.proposed",
        "gepa.rejected",
        "gepa.ended",
    } <= names


def test_blame_names_the_iteration_that_made_the_best_score(store, task):
    optimize(MilepostCallback(task))
    blamed = int(store.blame("prompt", "/variables/best/score").changes[0]["offset"])
    mark = min((one for one in task.checkpoints() if one.at > blamed), key=lambda one: one.at)
    best = task.state("/variables/candidates/4")
    assert best["score"] == 1.0
    assert mark.label == f"iteration-{best['iteration']}"


def test_bisection_finds_the_iteration_that_added_a_word(store, task):
    optimize(MilepostCallback(task))
    found = store.bisect(
        "prompt@seed",
        "prompt@end",
        lambda _, state: "wind" not in state["variables"]["best"]["text"]["prompt"],
    )
    (added,) = (
        one["iteration"]
        for one in task.state("/variables/candidates").values()
        if one["text"]["prompt"].endswith("wind")
    )
    assert found.bad.label == f"iteration-{added}"
    diff = store.diff(found.good, found.bad)
    assert "/variables/best/score" in {change.path for change in diff}


def test_a_resumed_run_goes_on_in_the_same_task(store, task, tmp_path):
    proposals = Proposals(WORDS)
    options = {"run_dir": str(tmp_path / "run"), "custom_candidate_proposer": proposals}
    optimize(MilepostCallback(task), max_metric_calls=20, **options)
    best = task.state("/variables/best")
    assert 0 < best["score"] < 1
    optimize(MilepostCallback(store.task("prompt")), max_metric_calls=60, **options)
    assert task.state("/variables/best/score") == 1.0
    scores = [
        state["variables"]["best"]["score"]
        for _, state in task.states()
        if state["variables"].get("best")
    ]
    assert scores == sorted(scores)
    labels = [one.label for one in task.checkpoints()]
    assert len([label for label in labels if label.startswith("iteration-")]) == len(
        {label for label in labels if label.startswith("iteration-")}
    )


def test_an_error_of_an_iteration_is_recorded(store, task):
    class Fails(Words):
        def evaluate(self, batch, candidate, capture_traces=False):
            if capture_traces:
                raise RuntimeError("no model")
            return super().evaluate(batch, candidate)

    with pytest.raises(RuntimeError):
        optimize(MilepostCallback(task), adapter=Fails())
    point = store.point("prompt@iteration-1")
    assert store.checkpoint(point.checkpoint).status == "failure"
    assert "no model" in task.state("/last_error/message")


def test_a_store_that_fails_does_not_stop_the_optimization_and_nothing_is_lost(task):
    class Flaky:
        def __init__(self):
            self.failures = 2

        def state(self, pointer):
            return task.state(pointer)

        def append(self, *given, **options):
            self.failures -= 1
            if self.failures >= 0:
                raise milepost.UnavailableError("busy")
            return task.append(*given, **options)

    result = optimize(MilepostCallback(Flaky()))
    assert task.state("/variables/best/text") == result.best_candidate
    assert len(task.state("/variables/candidates")) == len(result.candidates)


def test_values_that_json_cannot_have_are_recorded_as_text(task):
    callback = MilepostCallback(task)
    callback.on_iteration_start({"iteration": 1})
    callback.on_valset_evaluated(
        {
            "iteration": 1,
            "candidate_idx": 1,
            "candidate": {"prompt": "x"},
            "parent_ids": (0,),
            "scores_by_val_id": {(1, 2): math.nan, 3: -math.inf},
            "average_score": math.nan,
            "is_best_program": True,
        }
    )
    callback.on_iteration_end({"iteration": 1, "proposal_accepted": True})
    candidate = task.state("/variables/candidates/1")
    assert candidate["score"] == "nan"
    assert candidate["scores"] == {"(1, 2)": "nan", "3": "-inf"}
    assert json.dumps(task.state(), allow_nan=False)


def test_a_candidate_that_is_not_the_best_leaves_the_best_one(task):
    callback = MilepostCallback(task)
    for number, score in enumerate([0.5, 0.25]):
        callback.on_valset_evaluated(
            {
                "iteration": number,
                "candidate_idx": number,
                "candidate": {"prompt": f"p{number}"},
                "parent_ids": [],
                "scores_by_val_id": {0: score},
                "average_score": score,
                "is_best_program": number == 0,
            }
        )
    callback.on_iteration_end({"iteration": 1, "proposal_accepted": True})
    variables = task.state("/variables")
    assert variables["best"] == {"candidate": 0, "score": 0.5, "text": {"prompt": "p0"}}
    assert len(variables["candidates"]) == 2
    assert task.state("/metrics") == {"best": 0.5, "candidates": 2.0}


def test_the_package_imports_without_the_frameworks():
    code = """
import sys
import milepost
loaded = {"optuna", "agents", "claude_agent_sdk", "pydantic", "pydantic_ai", "gepa", "langgraph"}
assert not loaded & set(sys.modules), loaded & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
