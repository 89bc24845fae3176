"""A callback of GEPA: the iterations of an optimization in a Milepost store.

>>> import milepost
>>> from milepost.gepa import MilepostCallback
>>> store = milepost.open("runs")
>>> callback = MilepostCallback(store.task_or_start("prompt"))
>>> # gepa.optimize(..., callbacks=[callback])

Each iteration is one commit: a step with its proposal and its scores, and the checkpoint
`iteration-N`. The variables of the state have the candidates and the best one, so that the state,
`diff`, `blame` and `bisect` tell when and why a prompt changed:

>>> # store.blame("prompt", "/variables/best/score")
>>> # store.diff("prompt@iteration-3", "prompt@iteration-9")
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gepa.core.callbacks import (
    CandidateRejectedEvent,
    CandidateSelectedEvent,
    ErrorEvent,
    EvaluationEndEvent,
    IterationEndEvent,
    IterationStartEvent,
    MergeAttemptedEvent,
    MergeRejectedEvent,
    OptimizationEndEvent,
    OptimizationStartEvent,
    ProposalEndEvent,
    ValsetEvaluatedEvent,
)

from . import Task, events, mark
from .errors import NotFoundError
from .events import NewEvent


class MilepostCallback:
    """Records an optimization in a task.

    It observes only: GEPA continues if the store fails, and logs a warning. What could not be
    appended is appended with the next iteration. A run that GEPA resumes from its `run_dir` is
    continued in the same task.

    Args:
        task: the task, of `milepost.open`.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._batch: list[NewEvent] = []
        self._error: str | None = None
        try:
            variables = task.state("/variables")
        except NotFoundError:
            variables = {}
        self._candidates: dict[str, Any] = variables.get("candidates") or {}
        score = (variables.get("best") or {}).get("score")
        self._best: float | None = None if score is None else float(score)

    def on_optimization_start(self, event: OptimizationStartEvent) -> None:
        """Records the sizes of the sets, and the options."""
        sizes = {"trainset_size": event["trainset_size"], "valset_size": event["valset_size"]}
        self._add(events.variables(gepa=_plain({**event["config"], **sizes})))

    def on_iteration_start(self, event: IterationStartEvent) -> None:
        """Begins a step."""
        number = event["iteration"]
        self._error = None
        self._add(events.step_started(number, iteration=number))

    def on_candidate_selected(self, event: CandidateSelectedEvent) -> None:
        """Records the candidate that is changed."""
        found = {"candidate": event["candidate_idx"], "score": event["score"]}
        self._note("selected", event["iteration"], found)

    def on_evaluation_end(self, event: EvaluationEndEvent) -> None:
        """Records the scores of a candidate on a minibatch."""
        found = {name: event[name] for name in ("candidate_idx", "scores", "objective_scores")}
        self._note("evaluated", event["iteration"], found)

    def on_proposal_end(self, event: ProposalEndEvent) -> None:
        """Records the new instructions, and what the model was asked and said."""
        found = {name: value for name, value in event.items() if name != "iteration"}
        self._note("proposed", event["iteration"], found)

    def on_candidate_rejected(self, event: CandidateRejectedEvent) -> None:
        """Records why a candidate was rejected."""
        self._note("rejected", event["iteration"], event)

    def on_merge_attempted(self, event: MergeAttemptedEvent) -> None:
        """Records the candidates that are merged."""
        self._note("merged", event["iteration"], event)

    def on_merge_rejected(self, event: MergeRejectedEvent) -> None:
        """Records why a merge was rejected."""
        self._note("merge-rejected", event["iteration"], event)

    def on_valset_evaluated(self, event: ValsetEvaluatedEvent) -> None:
        """Records a candidate that was accepted, and its score."""
        number, text = str(event["candidate_idx"]), dict(event["candidate"])
        if (self._candidates.get(number) or {}).get("text") == text:
            return  # The seed of a resumed run.
        candidate = {
            "text": text,
            "score": event["average_score"],
            "scores": event["scores_by_val_id"],
            "parents": list(event["parent_ids"]),
            "iteration": event["iteration"],
        }
        self._candidates[number] = candidate
        changed: dict[str, Any] = {"candidates": {number: candidate}}
        if event["is_best_program"]:
            self._best = event["average_score"]
            changed["best"] = {
                "candidate": event["candidate_idx"],
                "score": event["average_score"],
                "text": text,
            }
        self._add(events.variables(_plain(changed)))
        if event["iteration"] == 0:
            self._flush("seed", {"candidate": 0, "score": event["average_score"]})

    def on_error(self, event: ErrorEvent) -> None:
        """Records the error of a step."""
        self._error = repr(event["exception"])

    def on_iteration_end(self, event: IterationEndEvent) -> None:
        """Ends a step, and marks its checkpoint."""
        number, accepted = event["iteration"], event["proposal_accepted"]
        metadata = {"iteration": number, "accepted": accepted, "best": self._best}
        if self._error is not None:
            self._add(events.step_failed(number, self._error))
            self._flush(f"iteration-{number}", metadata, status="failure")
            return
        metrics = {"candidates": float(len(self._candidates))}
        if self._best is not None and math.isfinite(self._best):
            metrics["best"] = self._best
        self._add(events.step_finished(number, result={"accepted": accepted}, metrics=metrics))
        self._flush(f"iteration-{number}", metadata)

    def on_optimization_end(self, event: OptimizationEndEvent) -> None:
        """Marks the end of the optimization."""
        names = ("best_candidate_idx", "total_iterations", "total_metric_calls")
        found = {name: event[name] for name in names}  # type: ignore[literal-required]
        self._note("ended", event["total_iterations"], found)
        self._flush("end", found)

    def _note(self, name: str, iteration: int, found: Mapping[str, Any]) -> None:
        data = _plain({**found, "iteration": iteration})
        self._add(events.application(f"gepa.{name}", data))

    def _add(self, event: NewEvent) -> None:
        self._batch.append(event)

    def _flush(self, label: str, metadata: Mapping[str, Any], status: str = "success") -> None:
        """Appends what was gathered, with a checkpoint behind it."""
        batch = list(self._batch)
        checkpoint = mark(label, status=status, cause="step", metadata=_plain(metadata))
        self._task.append(batch, checkpoint=checkpoint)
        del self._batch[: len(batch)]


def _plain(value: Any) -> Any:
    """Returns a value as JSON can have it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in value]
    return repr(value)
