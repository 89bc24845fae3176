"""Policies of automatic checkpoints: a run asks its policy when to mark one.

A policy is any function of a `TriggerContext` that returns `True` for a checkpoint.

>>> from milepost import policies
>>> store.resume("tuning", policy=policies.risk(files=3))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class TriggerContext(NamedTuple):
    """A moment at which a run asks for a checkpoint.

    Attributes:
        kind: `step`, `failure` (of a step), `phase`, or `tool` (about to be called).
        steps: the steps that ended since the last checkpoint, with the one that ended now.
        files: the files that were touched since then, or are about to be.
        destructive: whether something was lost for good since then, or is about to be.
        asked: whether somebody asked for a checkpoint.
        seconds: the time since the last checkpoint; `None` if there is none.
    """

    kind: str
    steps: int
    files: int
    destructive: bool
    asked: bool
    seconds: float | None


Policy = Callable[[TriggerContext], bool]


def every_steps(steps: int = 1) -> Policy:
    """Marks at the end of each n-th step, failed or not."""
    return lambda now: now.kind in ("step", "failure") and now.steps >= max(steps, 1)


def every_phase(now: TriggerContext) -> bool:
    """Marks at each change of phase."""
    return now.kind == "phase"


def never(now: TriggerContext) -> bool:
    """Marks nothing: the program marks its checkpoints."""
    return False


def risk(*, files: int = 5, seconds: float = 300, score: int = 2) -> Policy:
    """Marks if as many as `score` of these hold.

    More files than `files` were touched; something destructive; somebody asked; more `seconds`
    since the last checkpoint, or none yet.
    """

    def marks(now: TriggerContext) -> bool:
        is_late = now.seconds is None or now.seconds > seconds
        return sum((now.files > files, now.destructive, now.asked, is_late)) >= score

    return marks
