"""Runs for asyncio: steps that go on after a kill. `_run.py` is made of this file."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from . import _transport as t
from . import events as e
from ._due_async import AsyncDue
from ._spool_async import AsyncSpool
from .errors import ConflictError, Error, NotFoundError, UnavailableError
from .events import NewEvent
from .policies import Policy
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

    def __init__(
        self,
        task: AsyncTask,
        every: int | None,
        policy: Policy | None,
        autosave: float | None,
        held_bytes: int,
    ) -> None:
        self._task = task
        self._autosave = autosave
        self._due = AsyncDue(task, every, policy)
        self._spool = AsyncSpool(task, held_bytes)
        # The last known form of the task, its control, and the next step, for the time without the
        # store.
        self._known: dict[str, Any] | None = None
        self._last_control: str | None = None
        self._step: int | None = None
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

    @property
    def held(self) -> int:
        """The number of appends that are held in memory, since the store refuses them for now."""
        return len(self._spool)

    async def settle(self) -> None:
        """Waits until nothing is held in memory."""
        await self._spool.settle()

    async def _form(self) -> dict[str, Any]:
        """Returns the form of the task; the last known one while the store is not there."""
        try:
            form: dict[str, Any] = await self._task._ask("GET")
        except Error as error:
            if self._known is None or not self._spool.is_away(error):
                raise
            return self._known
        if self._known is not None and self._known["epoch"] != form["epoch"]:
            self._step = None
            self._due.restart()
        self._known = form
        return form

    async def _patient(self, ask: Callable[[], Any]) -> Any:
        """Returns what a request answers; waits while the store is not there."""
        while True:
            try:
                return await ask()
            except Error as error:
                if not self._spool.is_away(error):
                    raise
                await self._spool.recover(error)
            await t.async_sleep(PAUSE)

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
                await self.settle()
                return control
            is_restored = False
            if is_done:
                if self.held:
                    await self.settle()
                elif await self._has_ended():
                    return "idle"
                # It may have been restored, paused or stopped since.
                continue
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
        self._step = step.number
        try:
            await self.append(e.step_started(step.number))
            try:
                yield step
            except Exception as error:
                # The error of the step counts, whether it can be recorded or not.
                with contextlib.suppress(Exception):
                    failed = e.step_failed(step.number, str(error) or repr(error))
                    await self._ended(failed, step.number, "failure")
                raise
            await self._finish(step)
        except BaseException:
            # Guidance that it read is returned again.
            self._guided = None
            raise
        finally:
            self._epoch = None

    async def _finish(self, step: Step) -> None:
        has_read = self._guided == self._epoch and self._returned > self._settled
        key = f"{GUIDANCE}{self._returned}" if has_read else None
        ended = e.step_finished(step.number, result=step.result, metrics=step.metrics or None)
        await self._ended(ended, step.number, "step", key)
        self._settled = self._returned
        self._step = step.number + 1

    async def _ended(
        self, event: NewEvent, step: int, kind: str, key: str | None = None
    ) -> Appended | None:
        """Appends the end of a step, with a checkpoint if the policy wants one."""
        label, status = (f"step-{step}", None) if kind == "step" else (None, "failure")
        return await self._marked(event, kind, {"step": step}, label, status, key)

    # Checkpoints

    async def phase(self, name: str, iteration: int = 0) -> Appended | None:
        """Begins a phase, with a checkpoint if the policy wants one."""
        about = {"phase": name, "iteration": iteration}
        return await self._marked(e.phase(name, iteration=iteration), "phase", about)

    async def tool(
        self,
        tool: str,
        arguments: Any,
        work: Callable[[], Any],
        *,
        files: int = 0,
        destructive: bool = False,
    ) -> Any:
        """Records a call of a tool and its result around its work, and returns the result.

        The policy is asked for a checkpoint before the call.

        Args:
            arguments: the arguments, as JSON can have them.
            files: the number of files that the call is expected to touch.
            destructive: whether something is lost for good, as by a delete.
        """
        due = await self._due.mark_at("tool", {"tool": tool}, 0, files, destructive)
        if due is not None:
            await self._save(t.mark(cause="before_tool", metadata=due))
        call = t.new_id()
        await self.append(e.tool_called(call, tool, arguments))
        self.touched(files, destructive=destructive)
        try:
            result = work()
            if hasattr(result, "__await__"):
                result = await result
        except Exception as error:
            with contextlib.suppress(Exception):
                text = str(error) or repr(error)
                await self.append(e.tool_returned(call, text, ok=False, tool=tool))
            raise
        await self.append(e.tool_returned(call, result, tool=tool))
        return result

    def touched(self, files: int = 1, *, destructive: bool = False) -> None:
        """Reports to the policy that files were touched, or that something was destroyed."""
        self._due.files += files
        self._due.destructive = self._due.destructive or destructive

    def ask_for_checkpoint(self) -> None:
        """Reports to the policy that somebody asks for a checkpoint."""
        self._due.asked = True

    async def _marked(
        self,
        event: NewEvent,
        kind: str,
        about: dict[str, Any],
        label: str | None = None,
        status: str | None = None,
        key: str | None = None,
    ) -> Appended | None:
        ended = int(kind != "phase")
        metadata = await self._due.mark_at(kind, about, ended)
        mark = None if metadata is None else t.mark(label, status, "step", metadata)
        appended = await self.append(event, checkpoint=mark, key=key)
        if mark is None:
            self._due.ended(ended)
        else:
            self._due.saved(appended.head if appended else None)
        return appended

    async def _save(self, mark: dict[str, Any]) -> None:
        """Marks a checkpoint. A failure is logged: the run continues."""
        try:
            if not await self._spool.emptied():
                # It would come before what is held.
                return
            lineage = await self._lineage()
            body = {**mark, "lineage": lineage._lineage}
            marked = await lineage._ask("POST", "checkpoints", body=body)
            self._due.saved(int(marked["mark"]) + 1)
        except ConflictError:
            raise
        except Error as error:
            t.log().error("%s: a checkpoint is not saved: %s", self._task.id, error)

    # Control

    async def next_step(self) -> int:
        """Returns the number of the next step, from 1.

        It is the one after the last step that ended well. A step that failed or was cut short is
        done again.
        """
        if self._spool and self._step is not None:
            return self._step
        last = await self._patient(lambda: self._task.state("/step"))
        if last is None:
            return 1
        return last["number"] + 1 if last["status"] == "finished" else last["number"]

    async def ready(self) -> bool:
        """Waits while the run is paused. Returns `False` if it is stopped or has ended."""
        return await self._unpaused() == "running"

    async def end(self) -> None:
        """Ends the run, when nothing is held. `store.resume` begins it again."""
        await self.settle()
        await self._patient(lambda: self._task.control("idle"))

    async def _has_ended(self) -> bool:
        """Ends the run. Returns `False` if the store is not there, or the run was paused."""
        try:
            await self._task.control("idle")
        except ConflictError:
            return False
        except Error as error:
            if not self._spool.is_away(error):
                raise
            await self._spool.recover(error)
            await t.async_sleep(PAUSE)
            return False
        return True

    async def _begin(self) -> None:
        """Begins the run unless it is running or paused."""
        await self._form()
        if await self._task.control() not in ("idle", "stopped"):
            return
        try:
            await self._task.control("running")
        except ConflictError:
            # Another program may have begun it.
            if await self._task.control() in ("idle", "stopped"):
                raise

    async def _unpaused(self) -> str:
        head, since = "", 0.0
        await self._spool.emptied()
        while (control := await self._control()) == "paused":
            await self._spool.emptied()
            if self._autosave is not None:
                form, now = await self._form(), time.monotonic()
                if head != form["head"]:
                    head, since = form["head"], now
                elif now - since >= self._autosave:
                    await self._save_idle(int(head))
                    since = now
            await t.async_sleep(PAUSE)
        return control

    async def _control(self) -> str:
        """Returns the control; the last known one while the store is not there."""
        try:
            self._last_control = await self._task.control()
        except Error as error:
            if self._last_control is None or not self._spool.is_away(error):
                raise
            await self._spool.recover(error)
        return self._last_control

    async def _save_idle(self, head: int) -> None:
        """Marks a checkpoint of a run that waits, unless its last event is one."""
        async for last in self._task.checkpoints():
            if last.mark + 1 >= head:
                return
            break
        await self._save(t.mark(cause="idle"))

    # Within a step

    async def _lineage(self) -> AsyncTask:
        """Returns the task on its active lineage, unless it was restored since the step began."""
        return await self._spool.lineage(self._epoch)

    async def append(
        self,
        events: NewEvent | Iterable[NewEvent],
        *,
        checkpoint: Mapping[str, Any] | str | None = None,
        key: str | None = None,
    ) -> Appended | None:
        """Appends events, as `Task.append`, on the lineage that the open step began on.

        Returns `None` if the store refuses them for now, as on a full disk: they are held in
        memory, in order, and written when it accepts them. They are lost if the process ends
        before that.

        Raises:
            ConflictError: the task was restored since, or the key was used for other events.
            UnavailableError: the store refuses them, and `held_bytes` are held.
        """
        known = self._known["epoch"] if self._known else None
        return await self._spool.append(events, checkpoint, key, self._epoch, known)

    async def checkpoint(self, label: str | None = None) -> Checkpoint:
        """Marks a checkpoint at the head.

        Raises:
            ConflictError: the task was restored since the open step began.
            UnavailableError: earlier appends are held in memory.
        """
        if not await self._spool.emptied():
            raise UnavailableError(
                f"{self.held} appends are held in memory: mark the checkpoint after `run.settle()`"
            )
        marked = await (await self._lineage()).checkpoint(label)
        self._due.saved(marked.mark + 1)
        return marked

    async def state(self, pointer: str | None = None) -> Any:
        """Returns the state at the head, or the part of it at a JSON pointer."""
        return await self._task.state(pointer)

    async def new_guidance(self) -> list[dict[str, Any]]:
        """Returns the guidance that no step has read yet, oldest first.

        It counts as read when the step ends well: if the process dies before, or the step fails,
        it is returned again.
        """
        try:
            given = await self._task.state("/guidance") or []
            epoch = await self._now()
            if self._guided != epoch:
                read = len(given)
                while read > 0 and not await self._is_used(f"{GUIDANCE}{read}"):
                    read -= 1
                self._settled = self._returned = read
                self._guided = epoch
        except Error as error:
            if not self._spool.is_away(error):
                raise
            # It stays unread, and is returned later.
            return []
        new = given[self._returned :]
        self._returned = max(self._returned, len(given))
        return new

    async def _is_used(self, key: str) -> bool:
        """Returns whether an event of the lineage has a key, also if a cleanup removed it."""
        if self._spool.has(key):
            return True
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
            found = await self._patient(lambda: self._result(stored))
            if found is not None:
                return found[0]
            for known in await self._patient(lambda: self._task.attached(f"once:{key}")):
                if known.writer == "once":
                    return known.data
            result = work()
            if hasattr(result, "__await__"):
                result = await result
            try:
                await self.append(e.application(ONCE, result), key=stored)
            except ConflictError:
                # Another program did the work at the same time: its result counts.
                found = await self._patient(lambda: self._result(stored))
                if found is None:
                    raise
                return found[0]
            found = await self._patient(lambda: self._result(stored))
            if found is None:
                raise ConflictError(f"`{self._task.id}` was restored while `{key}` was done")
            return found[0]

    async def _result(self, key: str) -> tuple[Any] | None:
        """Returns the recorded result of a key. `None` if the work was not done."""
        held = self._spool.result(key)
        if held is not None:
            return held
        async with self._reads:
            form = await self._task._ask("GET")
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
