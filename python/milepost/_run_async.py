"""Runs for asyncio: steps that go on after a kill. `_run.py` is made of this file."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from . import _transport as t
from . import events as e
from .errors import ConflictError, Error, NotFoundError
from .events import NewEvent
from .values import Appended, Checkpoint, Event, Step

if TYPE_CHECKING:
    from ._async import AsyncTask

# The application event that holds a result, and the prefixes of idempotency keys. Runs of Rust and
# JavaScript have the same, so each continues with a run of another.
ONCE = "milepost.once"
RESULT = "once/"
GUIDANCE = "guidance/"

# Seconds between two looks at a paused run.
PAUSE = 0.2

# A head that no lineage has: an append that expects it tells whether its key was used.
NOWHERE = 10**15


class AsyncRun:
    """A task whose steps this program does: `store.resume` opens it.

    Several programs may look at the task, pause it and restore it meanwhile; one does its steps.
    """

    def __init__(self, task: AsyncTask, every: int | None) -> None:
        self._task = task
        self._every = every
        self._unmarked = 0
        # The activation that the open step began on: a restore, an undo and a switch make another.
        self._epoch: str | None = None
        # Guidance that was returned, that ended steps have read, and the activation it is of.
        self._returned = 0
        self._settled = 0
        self._guided: str | None = None
        # Events with results of `once` of an activation, by their keys, read up to an offset.
        self._results: dict[str, Event] = {}
        self._of: str | None = None
        self._next = 0
        self._reads = t.async_lock()
        self._works: dict[str, Any] = {}

    @property
    def task(self) -> AsyncTask:
        """The task."""
        return self._task

    async def _form(self) -> dict[str, Any]:
        return await self._task._ask("GET")

    async def _now(self) -> str:
        return (await self._form())["epoch"]

    # The loop

    async def drive(self, work: Callable[[Step], Any]) -> str:
        """Does steps until one calls `end_run`, or the run is stopped. Returns the control then.

        Before each step it waits while the run is paused. After a restore from outside it continues
        with the step of the restored point: the open step is abandoned, and its appends raise
        `ConflictError`.

        Raises:
            Exception: what `work` raised, after it is recorded as the failure of the step.
        """
        known = await self._now()
        is_restored = is_done = False
        while True:
            control = await self._unpaused()
            epoch = await self._now()
            if epoch != known:
                known, is_restored, is_done = epoch, True, False
                continue
            if control == "idle" and is_restored:
                await self._begin()
                continue
            if control != "running":
                return control
            is_restored = False
            if is_done:
                try:
                    await self.end()
                except ConflictError:
                    # It was paused or stopped meanwhile.
                    continue
                return "idle"
            try:
                async with self.step() as step:
                    result = work(step)
                    if hasattr(result, "__await__"):
                        result = await result
            except Exception as error:
                try:
                    epoch = await self._now()
                except Error:
                    raise error from None
                if epoch == known:
                    raise
                continue
            is_done = step.ends_run

    @asynccontextmanager
    async def step(self) -> AsyncIterator[Step]:
        """Records the beginning and the end of the next step around a block.

        The end has the metrics and the result that the block gave to the step, and a checkpoint
        with the label `step-N`. An exception is recorded as the failure of the step.
        """
        epoch = await self._now()
        step = Step(await self.next_step())
        self._epoch = epoch
        try:
            await self.append(e.step_started(step.number))
            try:
                yield step
            except Exception as error:
                # The error of the step counts, whether it can be recorded or not.
                with contextlib.suppress(Exception):
                    failed = e.step_failed(step.number, str(error) or repr(error))
                    await self.append(failed, checkpoint=self._mark(step, None, "failure"))
                raise
            await self._finish(step)
        except BaseException:
            # Guidance that it read is returned again.
            self._guided = None
            raise
        finally:
            self._epoch = None

    async def _finish(self, step: Step) -> None:
        self._unmarked += 1
        is_due = self._every is not None and self._unmarked >= self._every
        mark = self._mark(step, f"step-{step.number}", None) if is_due else None
        has_read = self._guided == self._epoch and self._returned > self._settled
        key = f"{GUIDANCE}{self._returned}" if has_read else None
        ended = e.step_finished(step.number, result=step.result, metrics=step.metrics or None)
        await self.append(ended, checkpoint=mark, key=key)
        self._settled = self._returned
        self._unmarked = 0 if is_due else self._unmarked

    def _mark(self, step: Step, label: str | None, status: str | None) -> dict[str, Any] | None:
        if self._every is None:
            return None
        return t.mark(label, status, "step", {"step": step.number})

    async def next_step(self) -> int:
        """Returns the number of the next step, from 1.

        It is the one after the last step that ended well. A step that failed or was cut short is
        done again.
        """
        last = await self._task.state("/step")
        if last is None:
            return 1
        return last["number"] + 1 if last["status"] == "finished" else last["number"]

    async def ready(self) -> bool:
        """Waits while the run is paused. Returns `False` if it is stopped or has ended."""
        return await self._unpaused() == "running"

    async def end(self) -> None:
        """Ends the run. `store.resume` begins it again."""
        await self._task.control("idle")

    async def _begin(self) -> None:
        """Begins the run unless it is running or paused."""
        if await self._task.control() not in ("idle", "stopped"):
            return
        try:
            await self._task.control("running")
        except ConflictError:
            # Another program may have begun it.
            if await self._task.control() in ("idle", "stopped"):
                raise

    async def _unpaused(self) -> str:
        while (control := await self._task.control()) == "paused":
            await t.async_sleep(PAUSE)
        return control

    # Within a step

    async def _lineage(self) -> AsyncTask:
        """Returns the task on its active lineage, unless it was restored since the step began."""
        form = await self._form()
        if self._epoch not in (None, form["epoch"]):
            raise ConflictError(
                f"`{self._task.id}` was restored while a step ran: begin the next step"
            )
        return self._task.on(form["active"])

    async def append(
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
        lineage = await self._lineage()
        return await lineage.append(events, checkpoint=checkpoint, key=key)

    async def checkpoint(self, label: str | None = None) -> Checkpoint:
        """Marks a checkpoint at the head.

        Raises:
            ConflictError: the task was restored since the open step began.
        """
        marked = await (await self._lineage()).checkpoint(label)
        self._unmarked = 0
        return marked

    async def state(self, pointer: str | None = None) -> Any:
        """Returns the state at the head, or the part of it at a JSON pointer."""
        return await self._task.state(pointer)

    async def new_guidance(self) -> list[dict[str, Any]]:
        """Returns the guidance that no step has read yet, oldest first.

        It counts as read when the step ends well: if the process dies before, or the step fails,
        it is returned again.
        """
        given = await self._task.state("/guidance") or []
        epoch = await self._now()
        if self._guided != epoch:
            read = len(given)
            while read > 0 and not await self._is_used(f"{GUIDANCE}{read}"):
                read -= 1
            self._settled = self._returned = read
            self._guided = epoch
        new = given[self._returned :]
        self._returned = max(self._returned, len(given))
        return new

    async def _is_used(self, key: str) -> bool:
        """Returns whether an event of the lineage has a key, also if a cleanup removed it."""
        try:
            await self._task.append(e.step_finished(0), key=key, expected_head=NOWHERE)
        except ConflictError as error:
            return error.head is None
        return True

    async def once(self, key: str, work: Callable[[], Any]) -> Any:
        """Does work once for a key, and returns its result; later calls return the first result.

        Calls with the same key wait for each other. The result is recorded on the lineage, and must
        be bytes or a value of JSON. After a restore to an earlier point the work is done again, and
        so it is if the process dies between the work and the record: pass the key to the other
        system, too, if it must not be repeated.

        Raises:
            NotFoundError: the work was done, and a cleanup or an erasure removed its result.
        """
        stored = f"{RESULT}{key}"
        async with self._works.setdefault(key, t.async_lock()):
            found = await self._result(stored)
            if found is not None:
                return found[0]
            for known in await self._task.attached(f"once:{key}"):
                if known.writer == "once":
                    return known.data
            result = work()
            if hasattr(result, "__await__"):
                result = await result
            try:
                await self.append(e.application(ONCE, result), key=stored)
            except ConflictError:
                # Another program did the work at the same time: its result counts.
                found = await self._result(stored)
                if found is None:
                    raise
                return found[0]
            found = await self._result(stored)
            if found is None:
                raise ConflictError(f"`{self._task.id}` was restored while `{key}` was done")
            return found[0]

    async def _result(self, key: str) -> tuple[Any] | None:
        """Returns the recorded result of a key. `None` if the work was not done."""
        async with self._reads:
            form = await self._form()
            if self._of != form["epoch"]:
                self._results, self._of, self._next = {}, form["epoch"], 0
            head = int(form["head"])
            lineage = self._task.on(form["active"])
            async for event in lineage.events(self._next, head, kinds=["application"]):
                if event.key is not None and event.key.startswith(RESULT):
                    self._results[event.key] = event
            self._next = head
        recorded = self._results.get(key)
        if recorded is None:
            if await self._is_used(key):
                raise NotFoundError(f"the result of `{key}` was removed by a cleanup")
            return None
        if recorded.body is None:
            raise NotFoundError(f"the result of `{key}` was erased")
        if recorded.name != ONCE:
            raise ConflictError(f"the key `{key}` was used for another event")
        return (copy.deepcopy(recorded.data),)

    def __repr__(self) -> str:
        return f"<milepost.{type(self).__name__} of {self._task.id}>"
