"""Records of `logging` as events of a task.

>>> import logging, milepost
>>> from milepost import logs
>>> with milepost.open("runs") as store:
...     handler = logs.Handler(store.task_or_start("training"))
...     logging.getLogger("train").addHandler(handler)
...     logging.getLogger("train").warning("the loss is %s", 3)
...     handler.close()
...     [event.data["message"] for event in store.task("training").events(kinds=["application"])]
['the loss is 3']
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from . import events
from ._milepost import Ticket
from ._sync import Task

if TYPE_CHECKING:
    from ._async import AsyncTask

# Appends that may wait for the disk at once.
_WAITING = 1_000


class Handler(logging.Handler):
    """Appends each log record to a task, in order, as an application event `log`.

    Its data has `level`, `logger`, `message` and, for an exception, `exception`. In a store that
    this process has open, records share the syncs of the disk: `flush` waits until those so far
    are durable, and `close` does too. Otherwise each record is durable when the call that logs it
    returns. A record that cannot be appended goes to `handleError`, as in other handlers.
    """

    def __init__(self, task: Task | AsyncTask, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._task = task
        self._waiting: deque[tuple[Ticket, logging.LogRecord]] = deque()

    def emit(self, record: logging.LogRecord) -> None:
        """Appends a record."""
        try:
            event = events.application("log", self._data(record))
            if self._task.store.is_local:
                self._waiting.append((self._task.submit(event), record))
            else:
                # Requests to another process may overtake each other.
                self._task.submit(event).wait()
        except Exception:
            self.handleError(record)
        while len(self._waiting) > _WAITING:
            self._wait()

    def flush(self) -> None:
        """Waits until the records so far are durable."""
        self.acquire()
        try:
            while self._waiting:
                self._wait()
        finally:
            self.release()

    def close(self) -> None:
        """Waits until the records are durable, and ends the handler."""
        self.flush()
        super().close()

    def _data(self, record: logging.LogRecord) -> dict[str, str]:
        data = {
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            formatter = self.formatter or logging.Formatter()
            data["exception"] = formatter.formatException(record.exc_info)
        return data

    def _wait(self) -> None:
        ticket, record = self._waiting.popleft()
        try:
            ticket.wait()
        except Exception:
            self.handleError(record)
