"""Futures of event loops, settled with results of the native part."""

from __future__ import annotations

import asyncio
from typing import Any


def settle(items: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    """Settles futures, on the thread of their loop. A cancelled one keeps its state."""
    for future, value, error in items:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
