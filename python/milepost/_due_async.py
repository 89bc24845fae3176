"""Counts since the last checkpoint of a run. `_due.py` is made of this file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .errors import Error, InvalidError
from .policies import Policy, TriggerContext, every_steps, never

if TYPE_CHECKING:
    from ._async import AsyncTask


class AsyncDue:
    """What a policy is asked with, and what the metadata of its checkpoints has."""

    def __init__(self, task: AsyncTask, every: int | None, policy: Policy | None) -> None:
        self._task = task
        # The policies of `every` ask for no time, so no request is made for them.
        self._is_timed = policy is not None
        self._policy = policy or (never if every is None else every_steps(every))
        self.files = 0
        self.destructive = self.asked = False
        self._steps = 0
        # The offset after the last checkpoint, and its time.
        self._saved_to = 0
        self._saved: float | None = None

    async def mark_at(
        self,
        kind: str,
        about: dict[str, Any],
        ended: int,
        files: int = 0,
        destructive: bool = False,
    ) -> dict[str, Any] | None:
        """Returns the metadata of a checkpoint, if the policy wants one."""
        if self._is_timed:
            await self._look()
        now = TriggerContext(
            kind=kind,
            steps=self._steps + ended,
            files=self.files + files,
            destructive=self.destructive or destructive,
            asked=self.asked,
            seconds=None if self._saved is None else max(0.0, time.time() - self._saved),
        )
        is_due = self._policy(now)
        if hasattr(is_due, "__await__"):
            raise InvalidError("a policy is a function without `async`")
        return {"steps": now.steps, "files": now.files, **about} if is_due else None

    async def _look(self) -> None:
        """Counts from the newest checkpoint, whoever marked it."""
        try:
            async for newest in self._task.checkpoints():
                if newest.mark >= self._saved_to:
                    self.saved(newest.mark + 1, newest.time.timestamp())
                break
        except Error:
            # While the store is not there, the counts are those of this run.
            pass

    def restart(self) -> None:
        """Forgets the counts of a lineage that is no longer active."""
        self._steps = self.files = self._saved_to = 0
        self.destructive = self.asked = False
        self._saved = None

    def ended(self, steps: int) -> None:
        """Counts steps that ended without a checkpoint."""
        self._steps += steps

    def saved(self, to: int | None, at: float | None = None) -> None:
        """Counts from a checkpoint on; `to` is the offset after it, if it is known."""
        self._steps = self.files = 0
        self.destructive = self.asked = False
        self._saved_to = max(self._saved_to, to or 0)
        self._saved = time.time() if at is None else at
