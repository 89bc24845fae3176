"""Appends that a store does not accept for a time for programs without asyncio. Made of `_spool_async.py` by `tools/sync.py`."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _transport as t
from .errors import ConflictError, Error, InvalidError, PoisonedError, UnavailableError
from .values import Appended

if TYPE_CHECKING:
    from ._sync import Task

# Seconds between two attempts: the first wait, and the longest.
RETRY = 0.1
RETRY_MAX = 10.0

# Answers of a service or of a proxy after which the same request may succeed. Without an answer
# there was no connection.
AWAY = (None, 408, 429, 502, 503, 504, 507)


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


class Spool:
    """The appends of a run, in order: written, or held in memory while the store refuses them."""

    def __init__(self, task: Task, limit: int) -> None:
        self._task = task
        self._limit = limit
        self._held: deque[Held] = deque()
        self._bytes = 0
        self._lock = t.lock()
        self._wait = RETRY
        self._next = 0.0
        self._reason = ""
        # Whether the store of a folder has to be opened again.
        self._is_broken = False

    def __len__(self) -> int:
        return len(self._held)

    def is_away(self, error: Exception) -> bool:
        """Returns whether a store may accept later what it refuses now with an error."""
        native = self._task._store._native
        if self._limit == 0 or native.is_closed or not isinstance(error, Error):
            return False
        is_lost = isinstance(error, UnavailableError) and error.status in AWAY
        return is_lost or isinstance(error, PoisonedError)

    def has(self, key: str) -> bool:
        """Returns whether an append with a key is held."""
        return any(held.key == key for held in self._held)

    def result(self, key: str) -> tuple[Any] | None:
        """Returns what a held application event has, by its key."""
        for held in self._held:
            if held.key == key:
                kind, fields = held.events[0]
                is_json = kind == "application" and not isinstance(fields, bytes)
                return (json.loads(fields)["data"] if is_json else fields,)
        return None

    def append(
        self, events: Any, checkpoint: Any, key: str | None, epoch: str | None, known: str | None
    ) -> Appended | None:
        """Appends events. Returns `None` if they are held.

        With `epoch` they are for that activation, and otherwise for the one at the time of the
        write; if they are held, for the known one.
        """
        # With a key an append whose outcome is unknown can be made again.
        key = key or f"run-{t.new_id()}"
        held = Held(t.events(events), t.mark_text(checkpoint), key, epoch)
        if self._held:
            with self._lock:
                if not self._emptied():
                    self._hold(held._replace(epoch=epoch or known), None)
                    return None
        try:
            return self._write(held)
        except Error as error:
            if not self.is_away(error):
                raise
            with self._lock:
                self._hold(held._replace(epoch=epoch or known), error)
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
            self._is_broken = self._is_broken or self._needs_opening(error)
            t.log().error("%s: appends are held in memory: %s", self._task.id, error)
        self._held.append(held)
        self._bytes += held.size

    def emptied(self) -> bool:
        """Writes what is held, if it is time to. Returns whether nothing is held.

        Raises:
            Error: an error other than one of a store that is not there, as of a token that is no
                longer accepted. What is held stays.
        """
        if not self._held:
            return True
        with self._lock:
            return self._emptied()

    def settle(self) -> None:
        """Waits until nothing is held."""
        while not self.emptied():
            t.sleep(max(0.01, self._next - time.monotonic()))

    def recover(self, error: Error) -> None:
        """Waits a moment after an error, and opens the store again if it has to be."""
        with self._lock:
            if time.monotonic() >= self._next:
                self._retry_later(error)
        self.emptied()

    def _emptied(self) -> bool:
        if not self._held:
            return True
        if time.monotonic() < self._next:
            return False
        if self._is_broken:
            self._open_again()
        refused = 0
        while self._held:
            first = self._held[0]
            try:
                self._write(first)
            except (ConflictError, InvalidError) as error:
                if isinstance(error, InvalidError) and first.mark is not None:
                    # The events count without a checkpoint that is refused.
                    self._held[0] = first._replace(mark=None)
                    t.log().error("%s: a checkpoint is refused: %s", self._task.id, error)
                    continue
                refused += 1
                t.log().error("%s: an append that was held is refused: %s", self._task.id, error)
            except Error as error:
                if not self.is_away(error):
                    raise
                self._retry_later(error)
                return False
            self._held.popleft()
            self._bytes -= first.size
        self._wait = RETRY
        but = f", but for {refused} that were refused" if refused else ""
        t.log().warning("%s: what was held in memory is durable%s", self._task.id, but)
        return True

    def _needs_opening(self, error: Error) -> bool:
        """Returns whether a folder's store has to be opened again after an error."""
        native = self._task._store._native
        # A store of this process that only refuses appends stays open.
        return not native.is_service and (isinstance(error, PoisonedError) or not native.is_local)

    def _retry_later(self, error: Error) -> None:
        self._reason = str(error)
        self._is_broken = self._is_broken or self._needs_opening(error)
        if self._is_broken:
            self._open_again()
        self._wait = min(self._wait * 2, RETRY_MAX)
        self._next = time.monotonic() + self._wait

    def _open_again(self) -> None:
        try:
            t.reopen(self._task._store._native)
            self._is_broken = False
        except Error as error:
            # It is closed until an opening succeeds.
            self._reason = str(error)

    def lineage(self, epoch: str | None) -> Task:
        """Returns the task on its active lineage, if that is of an activation.

        Raises:
            ConflictError: the task was restored since.
        """
        form = self._task._ask("GET")
        if epoch not in (None, form["epoch"]):
            raise ConflictError(
                f"`{self._task.id}` was restored while a step ran: begin the next step"
            )
        return self._task.on(form["active"])

    def _write(self, held: Held) -> Appended:
        lineage = self.lineage(held.epoch)
        return lineage._append(held.events, held.mark, held.key)
