"""A session store of the Claude Agent SDK: transcripts in a Milepost store.

>>> import milepost
>>> from claude_agent_sdk import ClaudeAgentOptions
>>> from milepost.claude import MilepostSessionStore
>>> store = milepost.open_async("runs")
>>> options = ClaudeAgentOptions(session_store=MilepostSessionStore(store))

A session is the task `claude:PROJECT:SESSION`, and a subagent of it `claude:PROJECT:SESSION:SUBPATH`.
Messages of a transcript are messages of the task, so `milepost state`, `diff` and `blame` show the
conversation. After `milepost restore` a session is resumed from the restored point.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from . import AsyncStore, AsyncTask, events
from . import _claude as form
from .errors import ConflictError, InvalidError, NotFoundError

STATE = "/variables/claude"


@dataclass
class _Seen:
    """What is known of a task: the entries that it has, up to an offset of a lineage."""

    lineage: int
    next: int = 0
    uuids: set[str] = field(default_factory=set)
    batches: set[str] = field(default_factory=set)
    summary: SessionSummaryEntry | None = None


class MilepostSessionStore(SessionStore):
    """Keeps transcripts in a store. An entry with a `uuid` is there once, however often it is sent.

    Args:
        store: the store, of `milepost.open_async`.
    """

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._seen: dict[str, _Seen] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Appends entries, in one commit. Those that are there are left out."""
        if not entries:
            return
        id = form.task_id(key)
        batch = form.batch_id(entries)
        async with self._locks.setdefault(id, asyncio.Lock()):
            while True:
                seen = await self._look(id)
                if batch in seen.batches:
                    return
                new = form.unseen(entries, seen.uuids)
                if not new:
                    return
                try:
                    await self._append(id, key, seen, new, batch)
                    return
                except ConflictError:
                    continue  # Another process appended: look again.

    async def _append(
        self, id: str, key: SessionKey, seen: _Seen, new: list[SessionStoreEntry], batch: str | None
    ) -> None:
        state: dict[str, Any] = {"key": key, "mtime": time.time_ns() // 1_000_000}
        if batch:
            state["batch"] = batch
        if not key.get("subpath"):
            state["summary"] = fold_session_summary(seen.summary, key, new)["data"]
        # A JSON patch, because a merge would drop what is `null`.
        last = events.variables([{"op": "add", "path": "/claude", "value": state}])
        task = AsyncTask(self._store, id, seen.lineage)
        try:
            await task.append([*map(form.event, new), last], expected_head=seen.next)
        except InvalidError:
            # Such as more nesting than an event can have: as bytes everything goes.
            plain = [events.application(form.ENTRY, json.dumps(entry).encode()) for entry in new]
            await task.append([*plain, last], expected_head=seen.next)

    async def _look(self, id: str) -> _Seen:
        """Reads what came since the last look, on the lineage that is active now."""
        try:
            point = await self._store.point(id)
        except NotFoundError:
            try:
                await self._store.start(id)
            except ConflictError:
                pass  # Another process started it.
            point = await self._store.point(id)
        seen = self._seen.get(id)
        if seen is None or seen.lineage != point.lineage or seen.next > point.offset:
            seen = self._seen[id] = _Seen(point.lineage)
        async for event in AsyncTask(self._store, id, seen.lineage).events(seen.next):
            seen.next = event.offset + 1
            if (entry := form.entry(event)) is not None:
                seen.uuids.add(entry.get("uuid") or "")
            elif (state := form.patched(event)) is not None:
                seen.batches.add(state.get("batch") or "")
                seen.summary = form.summary(state)
        return seen

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Returns the entries of a session, or `None` if there are none."""
        try:
            task = await self._store.task(form.task_id(key))
        except NotFoundError:
            return None
        found = task.events(kinds=["message", "application"])
        return [entry async for event in found if (entry := form.entry(event)) is not None] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Returns the sessions of a project."""
        states = await self._states("claude:" + form.part(project_key) + ":")
        return [
            {"session_id": state["key"]["session_id"], "mtime": state["mtime"]}
            for state in states
            if not state["key"].get("subpath")
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Returns the summaries of the sessions of a project."""
        states = await self._states("claude:" + form.part(project_key) + ":")
        return [summary for state in states if (summary := form.summary(state)) is not None]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Returns the subpaths of a session."""
        main: SessionKey = {"project_key": key["project_key"], "session_id": key["session_id"]}
        states = await self._states(form.task_id(main) + ":")
        return [state["key"]["subpath"] for state in states]

    async def _states(self, prefix: str) -> list[dict[str, Any]]:
        found = self._store.tasks(prefix=prefix)
        ids = [info.id async for info in found]
        states = await asyncio.gather(*map(self._state, ids))
        return [state for state in states if state is not None]

    async def _state(self, id: str) -> dict[str, Any] | None:
        try:
            return await self._store.state(id, STATE)
        except NotFoundError:
            return None  # Deleted just now, or without an entry.

    async def delete(self, key: SessionKey) -> None:
        """Deletes a session with its subagents, or one subagent. It cannot be undone."""
        ids = [form.task_id(key)]
        if not key.get("subpath"):
            ids += [info.id async for info in self._store.tasks(prefix=f"{ids[0]}:")]
        for id in reversed(ids):
            self._seen.pop(id, None)
            try:
                await self._store.delete_task(id)
            except NotFoundError:
                pass
