"""Appends that a store does not accept for a time. `_spool.py` is made of this file."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _transport as t
from .errors import ConflictError, Error, PoisonedError, UnavailableError
from .values import Appended

if TYPE_CHECKING:
    from ._async import AsyncTask

# Seconds between two attempts to write what is held: the first wait, and the longest.
RETRY = 0.1
RETRY_MAX = 10.0


class Held(NamedTuple):
    """An append in the form of the native part, and the activation that it belongs to."""

    events: list[tuple[str, Any]]
    mark: str | None
    key: str
    epoch: str | None

    @property
    def size(self) -> int:
        """The bytes of the events."""
        return sum(len(kind) + len(fields) for kind, fields in self.events)


class AsyncSpool:
    """The appends of a run, in order: written, or held in memory while the store refuses them."""

    def __init__(self, task: AsyncTask, limit: int) -> None:
        self._task = task
        self._limit = limit
        self._held: deque[Held] = deque()
        self._bytes = 0
        self._lock = t.async_lock()
        self._wait = RETRY
        self._next = 0.0
        self._reason = ""

    def __len__(self) -> int:
        return len(self._held)

    def is_away(self, error: Exception) -> bool:
        """Returns whether a store may accept later what it refuses now with an error."""
        is_of_store = isinstance(error, (UnavailableError, PoisonedError))
        return self._limit > 0 and is_of_store and not self._task._store._native.is_closed

    def result(self, key: str) -> tuple[Any] | None:
        """Returns what a held application event has, by its key."""
        for held in self._held:
            if held.key == key:
                kind, fields = held.events[0]
                is_json = kind == "application" and not isinstance(fields, bytes)
                return (json.loads(fields)["data"] if is_json else fields,)
        return None

    async def append(
        self, events: Any, checkpoint: Any, key: str | None, epoch: str | None
    ) -> Appended | None:
        """Appends events. Returns `None` if they are held."""
        # With a key an append whose outcome is unknown can be made again.
        key = key or f"run-{t.new_id()}"
        held = Held(t.events(events), t.mark_text(checkpoint), key, epoch)
        if self._held:
            async with self._lock:
                if not await self._emptied():
                    self._hold(held, None)
                    return None
        try:
            return await self._write(held)
        except Error as error:
            if not self.is_away(error):
                raise
            async with self._lock:
                self._hold(held, error)
            return None

    def _hold(self, held: Held, error: Error | None) -> None:
        if self._bytes + held.size > self._limit:
            raise error or UnavailableError(
                f"{len(self._held)} appends are held in memory, and there is no room for more: "
                f"{self._reason}"
            )
        if error is not None and not self._held:
            self._reason = str(error)
            self._next = time.monotonic() + self._wait
            t.log().error("%s: appends are held in memory: %s", self._task.id, error)
        self._held.append(held)
        self._bytes += held.size

    async def emptied(self) -> bool:
        """Writes what is held, if it is time to. Returns whether nothing is held."""
        if not self._held:
            return True
        async with self._lock:
            return await self._emptied()

    async def settle(self) -> None:
        """Waits until nothing is held."""
        while not await self.emptied():
            await t.async_sleep(max(0.0, self._next - time.monotonic()))

    async def _emptied(self) -> bool:
        if not self._held:
            return True
        if time.monotonic() < self._next:
            return False
        while self._held:
            first = self._held[0]
            try:
                await self._write(first)
            except Error as error:
                if self.is_away(error):
                    self._reopen(error)
                    self._wait = min(self._wait * 2, RETRY_MAX)
                    self._next = time.monotonic() + self._wait
                    return False
                t.log().error("%s: an append that was held is refused: %s", self._task.id, error)
            self._held.popleft()
            self._bytes -= first.size
        self._wait = RETRY
        t.log().warning("%s: what was held in memory is durable", self._task.id)
        return True

    def _reopen(self, error: Error) -> None:
        """Opens a store again whose write failed, or whose process has ended."""
        native = self._task._store._native
        is_full = native.is_local and not isinstance(error, PoisonedError)
        if native.is_service or is_full:
            return
        try:
            native.reopen()
        except Error as failed:
            self._reason = str(failed)

    async def _write(self, held: Held) -> Appended:
        form = await self._task._ask("GET")
        if held.epoch not in (None, form["epoch"]):
            raise ConflictError(
                f"`{self._task.id}` was restored while a step ran: begin the next step"
            )
        lineage = self._task.on(form["active"])
        return await lineage._append(held.events, held.mark, held.key)
