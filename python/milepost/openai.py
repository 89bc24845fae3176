"""A session of the OpenAI Agents SDK: a conversation in a Milepost store.

>>> import milepost
>>> from milepost.openai import MilepostSession
>>> store = milepost.open_async("runs")
>>> session = MilepostSession("ana", store)        # await Runner.run(agent, "Hi", session=session)

A session is the task `openai:SESSION`. Each item is an event, and so are `pop_item` and
`clear_session`: the items are at `/variables/items` of the state, `blame` tells what set one, and a
restore brings back what was popped or cleared.
"""

from __future__ import annotations

import re
from typing import Any

from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import (
    SessionSettings,
    coerce_session_settings,
    resolve_session_limit,
)

from . import AsyncStore, AsyncTask, Point, events
from .errors import ConflictError, InvalidError, NotFoundError
from .events import NewEvent

ITEMS = "/variables/items"


class MilepostSession(SessionABC):
    """Keeps the items of a session in a task of a store.

    Args:
        session_id: the id of the session. The id of its task is `openai:` and this id, at most 200
            bytes together.
        store: the store, of `milepost.open_async`. It may come first, as in the other adapters.
        session_settings: the settings, such as the limit of `get_items`.
    """

    def __init__(
        self,
        session_id: str | AsyncStore,
        store: AsyncStore | str,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        if isinstance(store, str):
            session_id, store = store, session_id
        if isinstance(store, str) or not isinstance(session_id, str):
            raise InvalidError("MilepostSession takes an id and a store of milepost.open_async")
        self.session_id = session_id
        settings = SessionSettings() if session_settings is None else session_settings
        self.session_settings: SessionSettings | None = coerce_session_settings(settings)
        self._store = store
        self._id = f"openai:{session_id}"

    async def task(self) -> AsyncTask:
        """Returns the task of the session, and starts it if there is none."""
        try:
            return await self._store.task(self._id)
        except NotFoundError:
            return await self._start()

    async def point(self) -> Point:
        """Returns the point of the session: the end of its conversation, to restore later.

        >>> async def try_it(session, store):
        ...     before = await session.point()
        ...     await session.clear_session()
        ...     await store.restore(before.address)
        """
        address = re.sub("[%/@~]", lambda found: f"%{ord(found[0]):02X}", self._id)
        try:
            return await self._store.point(address)
        except NotFoundError:
            await self._start()
            return await self._store.point(address)

    async def _start(self) -> AsyncTask:
        try:
            return await self._store.start(self._id, initial={"variables": {"items": []}})
        except ConflictError:
            return await self._store.task(self._id)  # Another process started it.

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the items, or the last `limit` of them, in the order of the conversation."""
        most = resolve_session_limit(limit, self.session_settings)
        items = await self._items(await self.point())
        if most is None:
            return items
        return items[-most:] if most > 0 else []

    async def _items(self, point: Point) -> list[TResponseInputItem]:
        return await self._store.state(point.address, ITEMS)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items, in one commit."""
        if items:
            task = await self.task()
            await task.append([_patch(op="add", path="/items/-", value=item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the last item, and returns it. Returns `None` if there is none."""
        while True:
            point = await self.point()
            items = await self._items(point)
            if not items:
                return None
            last = _patch(op="remove", path=f"/items/{len(items) - 1}")
            if await self._append(last, point):
                return items[-1]

    async def clear_session(self) -> None:
        """Removes all items."""
        while True:
            point = await self.point()
            if not await self._items(point):
                return
            if await self._append(_patch(op="replace", path="/items", value=[]), point):
                return

    async def _append(self, event: NewEvent, point: Point) -> bool:
        """Appends an event at a point. Returns `False` if the conversation is elsewhere by now."""
        task = AsyncTask(self._store, self._id, point.lineage)
        try:
            await task.append(event, expected_head=point.offset)
        except ConflictError:
            return False
        return True


def _patch(**operation: Any) -> NewEvent:
    return events.variables([operation])
