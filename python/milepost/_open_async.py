"""Stores for asyncio."""

from __future__ import annotations

from os import PathLike

from . import _connected, _native
from ._async import AsyncStore as AsyncStore
from ._async import AsyncTask as AsyncTask
from ._run_async import AsyncRun as AsyncRun


def open_async(
    path: str | PathLike[str] = ".milepost",
    *,
    key: str | None = "auto",
    anchor: str | PathLike[str] | None = "auto",
    create: bool = True,
    wait: float = 5.0,
    cache_bytes: int | None = None,
) -> AsyncStore:
    """Opens a store for asyncio: see `open`. It takes about 10 ms, and does not await."""
    return AsyncStore(_native(path, key, anchor, create, wait, cache_bytes))


def connect_async(url: str, *, token: str | None = None) -> AsyncStore:
    """Connects to a service for asyncio: see `connect`."""
    return AsyncStore(_connected(url, token))
