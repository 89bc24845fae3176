"""Milepost: an append-only log for programs that work in iterations.

>>> import milepost
>>> with milepost.open("runs") as store:
...     task = store.start("essay")
...     _ = task.append(milepost.events.message("user", "Write about rain."))
...     _ = task.checkpoint("draft")
...     task.state("/messages/0/content")
'Write about rain.'
"""

from __future__ import annotations

import atexit
import weakref
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import events, policies
from ._milepost import Store as _Native
from ._milepost import Ticket, __version__
from ._run import Run
from ._sync import Store, Task
from ._transport import mark
from .errors import (
    ConflictError,
    CorruptError,
    Error,
    ForkedError,
    InvalidError,
    NotFoundError,
    PoisonedError,
    RefusedError,
    UnavailableError,
    UnsupportedError,
)
from .reducers import Reducer
from .values import (
    Aligned,
    Appended,
    Attachment,
    Bisected,
    Blame,
    Change,
    Checkpoint,
    CleanedTask,
    Comparison,
    Diff,
    Event,
    Hit,
    Lineage,
    Point,
    Step,
    Summary,
    TaskInfo,
    Turn,
    TurnCall,
)

if TYPE_CHECKING:
    from ._async import AsyncStore, AsyncTask
    from ._open_async import connect_async, open_async
    from ._run_async import AsyncRun

__all__ = [
    "Aligned",
    "Appended",
    "AsyncRun",
    "AsyncStore",
    "AsyncTask",
    "Attachment",
    "Bisected",
    "Blame",
    "Change",
    "Checkpoint",
    "CleanedTask",
    "Comparison",
    "ConflictError",
    "CorruptError",
    "Diff",
    "Error",
    "Event",
    "ForkedError",
    "Hit",
    "InvalidError",
    "Lineage",
    "NotFoundError",
    "Point",
    "PoisonedError",
    "Reducer",
    "RefusedError",
    "Run",
    "Step",
    "Store",
    "Summary",
    "Task",
    "TaskInfo",
    "Ticket",
    "Turn",
    "TurnCall",
    "UnavailableError",
    "UnsupportedError",
    "__version__",
    "connect",
    "connect_async",
    "events",
    "mark",
    "open",
    "open_async",
    "policies",
]


# A program without asyncio does not load what is for it.
_OF_ASYNCIO = ("AsyncRun", "AsyncStore", "AsyncTask", "connect_async", "open_async")


def __getattr__(name: str) -> Any:
    if name not in _OF_ASYNCIO:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _open_async

    globals().update((one, getattr(_open_async, one)) for one in _OF_ASYNCIO)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_OF_ASYNCIO})


_opened: weakref.WeakSet[Any] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Closes stores that the program left open, so that their anchors are up to date."""
    for native in list(_opened):
        try:
            native.close()
        except Error:
            pass


def _native(
    path: str | PathLike[str],
    key: str | None,
    anchor: str | PathLike[str] | None,
    create: bool,
    wait: float,
    cache_bytes: int | None,
) -> _Native:
    place = None if anchor is None else fspath(anchor)
    native = _Native.open(fspath(path), key, place, create, wait, cache_bytes)
    _opened.add(native)
    return native


def open(
    path: str | PathLike[str] = ".milepost",
    *,
    key: str | None = "auto",
    anchor: str | PathLike[str] | None = "auto",
    create: bool = True,
    wait: float = 5.0,
    cache_bytes: int | None = None,
) -> Store:
    """Opens a store, and creates it if it does not exist.

    If another process has it open, the store is used through that process.

    Args:
        path: the folder of the store.
        key: `auto`: a new store gets a key in `~/.local/share/milepost/keys`, and an existing one
            is opened with its own. `None`: without a key. Or the 64 digits of a key.
        anchor: `auto`: the last known head is kept in `~/.local/state/milepost/anchors`, and the
            store is compared with it. `None`: no anchor. Or the path of a file.
        create: `False`: there has to be a store.
        wait: the longest wait, in seconds, for a process that has the store open and does not
            answer.
        cache_bytes: the memory for the index, in bytes.

    Raises:
        CorruptError: the store was changed by another program, or is behind its anchor.
        UnavailableError: another process has it open and does not answer.
        InvalidError: the key is not on this machine.
    """
    return Store(_native(path, key, anchor, create, wait, cache_bytes))


def connect(url: str, *, token: str | None = None) -> Store:
    """Connects to a service (`milepost serve`) at an address, as `http://127.0.0.1:7733`."""
    return Store(_connected(url, token))


def _connected(url: str, token: str | None) -> _Native:
    if not url.startswith(("http://", "https://")):
        raise InvalidError(
            f"`{url}` is no address of a service: one begins with http:// or https://; "
            "milepost.open opens a store in a folder"
        )
    return _Native.connect(url, token)
