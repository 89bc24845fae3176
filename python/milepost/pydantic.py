"""A conversation store of pydantic-ai: conversations in a Milepost store.

>>> import milepost
>>> from milepost.pydantic import MilepostConversationStore
>>> conversations = MilepostConversationStore(milepost.open_async("runs"))
>>> async def turn(agent, id, prompt):
...     conversation = await conversations.load(id) or Conversation(conversation_id=id)
...     result = await agent.run(prompt, conversation=conversation)
...     await conversations.save(result)

A conversation is the task `pydantic:CONVERSATION`. Each message is an event, the record is at
`/variables/record` of the state, and each save is a checkpoint: a restore brings an earlier save
back, and writers that loaded a later one get a `ConversationConflict`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)

from . import AsyncStore, AsyncTask, Checkpoint, Point, events, mark
from . import _pydantic as form
from .errors import ConflictError, InvalidError, NotFoundError

RECORD = "/variables/record"
# A checkpoint has at most 8 aliases, and each entry is found by one.
ALIASES_MAX = 8
# Events that are read at once on the way back through a history.
WINDOW = 500


class MilepostConversationStore(ConversationStore):
    """Keeps conversations in a store.

    A save of up to 8 messages is one commit. One of more messages is several commits, of which the
    last one has the record: after a kill between them the conversation is as it was.

    `delete` removes the record only, and can be undone. Entries stay, because other conversations
    can share them: to erase a conversation that was not forked, use `delete_task` of the store.
    Checkpoints have to be kept: retention that removes them loses the entries.

    Args:
        store: the store, of `milepost.open_async`.
    """

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Returns the record of a conversation, or `None`."""
        try:
            return await self._record(form.address(conversation_id))
        except NotFoundError:
            return None

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Returns the records, or those of a scope, the last saved first."""
        tasks = self._store.tasks(prefix=form.PREFIX)
        ids = [info.id.removeprefix(form.PREFIX) async for info in tasks]
        read = await asyncio.gather(*map(self.read_record, ids))
        found = [one for one in read if one and (scope is None or one.scope == scope)]
        found.sort(key=lambda one: one.updated_at, reverse=True)
        return found[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Stores a record and new entries, or raises a `ConversationConflict`."""
        id = record.conversation_id
        new = {entry.id for entry in new_entries}
        while True:
            point = await self._expect(id, expected_revision)
            if record.head_id is not None and record.head_id not in new:
                try:
                    await self._mark(record.head_id)
                except NotFoundError:
                    raise ConversationConflict(id) from None
            if point is None:
                point = await self._start(id)
            try:
                await self._append(point, record, new_entries)
                return
            except ConflictError:
                continue  # Another writer was first: compare the revision again.

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Removes the record of a conversation, or raises a `ConversationConflict`."""
        while True:
            point = await self._expect(conversation_id, expected_revision)
            if point is None:
                raise ConversationConflict(conversation_id)
            task = AsyncTask(self._store, point.task, point.lineage)
            try:
                await task.append(events.variables(record=None), expected_head=point.offset)
                return
            except ConflictError:
                continue

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Returns an entry. It is in the commit of the checkpoint with its alias."""
        found = await self._entries(await self._mark(entry_id), ALIASES_MAX + 1)
        return found[entry_id]

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        """Returns the entries up to one, or the last ones of them, in order."""
        history: list[ConversationEntry] = []
        found: dict[str, ConversationEntry] = {}
        while head_id is not None and (limit is None or len(history) < limit):
            if head_id not in found:
                found = await self._entries(await self._mark(head_id), WINDOW)
            history.append(found[head_id])
            head_id = history[-1].parent_id
        history.reverse()
        return history

    async def _entries(self, to: Checkpoint, most: int) -> dict[str, ConversationEntry]:
        """Returns the entries of the last events before a checkpoint."""
        task = AsyncTask(self._store, to.task, to.lineage)
        found = task.events(max(0, to.at - most), to.at, kinds=["application"])
        entries = [
            form.entry(event) async for event in found if event.name == form.ENTRY and event.body
        ]
        return {entry.id: entry for entry in entries}

    async def _mark(self, entry_id: str) -> Checkpoint:
        return await self._store.checkpoint(form.alias(entry_id))

    async def _record(self, address: str) -> ConversationRecord:
        return form.records.validate_python(await self._store.state(address, RECORD))

    async def _expect(self, id: str, revision: str | None) -> Point | None:
        """Returns the point of a conversation, if its record has a revision."""
        stored = None
        try:
            point: Point | None = await self._store.point(form.address(id))
        except NotFoundError:
            point = None
        if point is not None:
            try:
                stored = (await self._record(point.address)).revision
            except NotFoundError:
                pass  # Deleted.
        if stored != revision:
            raise ConversationConflict(id)
        return point

    async def _start(self, id: str) -> Point:
        try:
            await self._store.start(form.PREFIX + id)
        except ConflictError:
            pass  # Another writer started it.
        return Point(form.PREFIX + id, 0, 1, "", "")

    async def _append(
        self, point: Point, record: ConversationRecord, entries: Sequence[ConversationEntry]
    ) -> None:
        task, head = AsyncTask(self._store, point.task, point.lineage), point.offset
        state = form.records.dump_python(record, mode="json")
        last = events.variables([{"op": "add", "path": "/record", "value": state}])
        starts = range(0, len(entries), ALIASES_MAX) or [0]
        for start in starts:
            some = entries[start : start + ALIASES_MAX]
            end = [last] if start == starts[-1] else []
            aliases = mark(aliases=[form.alias(entry.id) for entry in some])
            given = [form.event(entry) for entry in some] + end
            try:
                added = await task.append(given, checkpoint=aliases, expected_head=head)
            except InvalidError:
                # Such as more nesting than an event can have: as bytes every message goes.
                plain = [(form.ENTRY, json.dumps(form.data(entry)).encode()) for entry in some]
                added = await task.append(plain + end, checkpoint=aliases, expected_head=head)
            head = added.head
