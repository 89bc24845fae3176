"""Runs for programs without asyncio. Made of `_run_async.py` by `tools/sync.py`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Callable, Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import _transport as t
from . import events as e
from .errors import ConflictError, Error
from .events import NewEvent
from .values import Appended, Checkpoint, Step

if TYPE_CHECKING:
    from ._sync import Task

# The application event that holds a result, and the prefixes of idempotency keys. Runs of Rust and
# JavaScript have the same, so each continues with a run of another.
ONCE = "milepost.once"
RESULT = "once/"
GUIDANCE = "guidance/"

# Seconds between two looks at a paused run.
PAUSE = 0.2


class Run:
    """A task whose steps this program does: `store.resume` opens it.

    Several programs may look at the task, pause it and restore it meanwhile; one does its steps.
    """

    def __init__(self, task: Task, every: int | None) -> None:
        self._task = task
        self._every = every
        self._unmarked = 0
        # The activation that the open step began on: a restore, an undo and a switch make another.
        self._epoch: str | None = None
        # Guidance that ended steps have read, and that was returned since.
        self._read: int | None = None
        self._returned = 0
        # Results of `once` of an activation, read up to an offset.
        self._results: dict[str, Any] = {}
        self._of: str | None = None
        self._next = 0

    @property
    def task(self) -> Task:
        """The task."""
        return self._task

    def _form(self) -> dict[str, Any]:
        return self._task._ask("GET")

    # The loop

    def drive(self, work: Callable[[Step], Any]) -> str:
        """Does steps until one calls `end_run`, or the run is stopped. Returns the control then.

        Before each step it waits while the run is paused. After a restore from outside it continues
        with the step of the restored point: the open step is abandoned, and its appends raise
        `ConflictError`.

        Raises:
            Exception: what `work` raised, after it is recorded as the failure of the step.
        """
        known: str | None = None
        while True:
            control = self._unpaused()
            epoch = (self._form())["epoch"]
            is_restored, known = known not in (None, epoch), epoch
            if control != "running":
                if control == "idle" and is_restored:
                    self._task.control("running")
                    continue
                return control
            try:
                with self.step() as step:
                    result = work(step)
                    if hasattr(result, "__await__"):
                        result = result
            except Exception:
                if (self._form())["epoch"] == known:
                    raise
                continue
            if step.ends_run:
                self.end()
                return "idle"

    @contextmanager
    def step(self) -> Iterator[Step]:
        """Records the beginning and the end of the next step around a block.

        The end has the metrics and the result that the block gave to the step, and a checkpoint
        with the label `step-N`. An exception is recorded as the failure of the step.
        """
        step = Step(self.next_step())
        self._epoch = (self._form())["epoch"]
        self._read = None
        try:
            self.append(e.step_started(step.number))
            try:
                yield step
            except Exception as error:
                # The error of the step counts, whether it can be recorded or not.
                with contextlib.suppress(Error):
                    self.append(e.step_failed(step.number, str(error) or repr(error)))
                raise
            self._finish(step)
        finally:
            self._epoch = None

    def _finish(self, step: Step) -> None:
        self._unmarked += 1
        is_due = self._every is not None and self._unmarked >= self._every
        mark = t.mark(f"step-{step.number}") if is_due else None
        has_read = self._read is not None and self._returned > self._read
        key = f"{GUIDANCE}{self._returned}" if has_read else None
        ended = e.step_finished(step.number, result=step.result, metrics=step.metrics or None)
        self.append(ended, checkpoint=mark, key=key)
        self._unmarked = 0 if is_due else self._unmarked

    def next_step(self) -> int:
        """Returns the number of the next step, from 1.

        It is the one after the last step that ended well. A step that failed or was cut short is
        done again.
        """
        last = self._task.state("/step")
        if last is None:
            return 1
        return last["number"] + 1 if last["status"] == "finished" else last["number"]

    def ready(self) -> bool:
        """Waits while the run is paused. Returns `False` if it is stopped or has ended."""
        return self._unpaused() == "running"

    def end(self) -> None:
        """Ends the run. `store.resume` begins it again."""
        self._task.control("idle")

    def _unpaused(self) -> str:
        while (control := self._task.control()) == "paused":
            t.sleep(PAUSE)
        return control

    # Within a step

    def append(
        self,
        events: NewEvent | Iterable[NewEvent],
        *,
        checkpoint: Mapping[str, Any] | str | None = None,
        key: str | None = None,
    ) -> Appended:
        """Appends events, as `Task.append`, on the lineage that the open step began on.

        Raises:
            ConflictError: the task was restored since, or the key was used for other events.
        """
        given = events if isinstance(events, (tuple, Mapping)) else list(events)
        while True:
            form = self._form()
            if self._epoch not in (None, form["epoch"]):
                raise ConflictError(
                    f"`{self._task.id}` was restored while a step ran: begin the next step"
                )
            head = int(form["head"])
            lineage = self._task.on(form["active"])
            try:
                return lineage.append(
                    given, checkpoint=checkpoint, key=key, expected_head=head
                )
            except ConflictError as error:
                # Another program appended in between, such as guidance.
                if error.head in (None, head):
                    raise

    def checkpoint(self, label: str | None = None) -> Checkpoint:
        """Marks a checkpoint at the head."""
        self._unmarked = 0
        return self._task.checkpoint(label)

    def state(self, pointer: str | None = None) -> Any:
        """Returns the state at the head, or the part of it at a JSON pointer."""
        return self._task.state(pointer)

    def new_guidance(self) -> list[dict[str, Any]]:
        """Returns the guidance that no step has read yet, oldest first.

        It counts as read when the step ends well: if the process dies before, or the step fails,
        it is returned again.
        """
        given = self._task.state("/guidance") or []
        if self._read is None:
            self._read = 0
            for event in self._task.events(kinds=["step_finished"]):
                key = event.key or ""
                if key.startswith(GUIDANCE) and key[len(GUIDANCE) :].isdigit():
                    self._read = min(int(key[len(GUIDANCE) :]), len(given))
            self._returned = self._read
        new = given[self._returned :]
        self._returned = len(given)
        return new

    def once(self, key: str, work: Callable[[], Any]) -> Any:
        """Does work once for a key, and returns its result; later calls return the first result.

        The result is recorded on the lineage, and must be bytes or a value of JSON. After a restore
        to an earlier point the work is done again, and so it is if the process dies between the
        work and the record: pass the key to the other system, too, if it must not be repeated.
        """
        stored = f"{RESULT}{key}"
        self._read_results()
        if stored in self._results:
            return self._results[stored]
        for known in self._task.attached(f"once:{key}"):
            if known.writer == "once":
                return known.data
        result = work()
        try:
            self.append(e.application(ONCE, result), key=stored)
        except ConflictError:
            # Another program did the work at the same time: its result counts.
            self._read_results()
            if stored not in self._results:
                raise
        self._read_results()
        return self._results[stored]

    def _read_results(self) -> None:
        form = self._form()
        if self._of != form["epoch"]:
            self._results, self._of, self._next = {}, form["epoch"], 0
        head = int(form["head"])
        lineage = self._task.on(form["active"])
        for event in lineage.events(self._next, head, kinds=["application"]):
            if event.key is not None and event.key.startswith(RESULT):
                self._results[event.key] = event.data
        self._next = head

    def __repr__(self) -> str:
        return f"<milepost.{type(self).__name__} of {self._task.id}>"
