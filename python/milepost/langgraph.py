"""A checkpointer of LangGraph: threads in a Milepost store.

>>> import milepost
>>> from milepost.langgraph import MilepostSaver
>>> store = milepost.open("runs")
>>> saver = MilepostSaver(store)           # graph = builder.compile(checkpointer=saver)

A thread is the task `lg:THREAD`, a checkpoint a mark whose alias is its id. Lists are stored as
their new items, so a growing conversation costs what it grows. `milepost state`, `diff`, `blame`
and `bisect` work on threads.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from os import PathLike
from random import random
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from . import AsyncStore, Store, open
from . import _langgraph as form
from ._langgraph_retention import Retention
from ._langgraph_serde import strict
from ._milepost import Threads
from ._transport import user
from .errors import NotFoundError

log = logging.getLogger(__name__)

PAGE = 500


class MilepostSaver(Retention):
    """Keeps the threads of a graph in a store. All methods have a native asynchronous form.

    Args:
        store: the store, of `milepost.open` or `milepost.open_async`.
        serde: the serializer. Without one, and with one that admits every module, only LangGraph's
            own types are built from what is read: list others with
            `JsonPlusSerializer(allowed_msgpack_modules=[Plan])`. With one that encrypts, each
            changed channel is stored as a whole.
        on_conflict: a second child of a checkpoint opens a lineage of its own (`fork`), or is a
            `ConflictError` (`raise`): two workers on one thread then see each other.
    """

    def __init__(
        self,
        store: Store | AsyncStore,
        *,
        serde: SerializerProtocol | None = None,
        on_conflict: str = "fork",
    ) -> None:
        super().__init__(serde=strict(serde))
        if on_conflict not in ("fork", "raise"):
            raise ValueError(f"on_conflict is 'fork' or 'raise', not {on_conflict!r}")
        self._store = Store(store._native)
        self._async_store = AsyncStore(store._native)
        self._native = store._native
        # A subclass may read texts in its own way.
        texts = type(self.serde) is JsonPlusSerializer
        self._threads = Threads(store._native, user(), on_conflict == "raise", texts)
        self._deleted: dict[str, str] = {}

    @classmethod
    @contextmanager
    def from_path(
        cls, path: str | PathLike[str] = ".milepost", **options: Any
    ) -> Iterator[MilepostSaver]:
        """Opens a store for a `with`, and closes it behind it."""
        with open(path) as store:
            yield cls(store, **options)

    @classmethod
    @asynccontextmanager
    async def from_path_async(
        cls, path: str | PathLike[str] = ".milepost", **options: Any
    ) -> AsyncIterator[MilepostSaver]:
        """Opens a store for an `async with`, and closes it behind it."""
        with open(path) as store:
            yield cls(store, **options)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Returns a version that sorts behind the current one, and is that of no other fork."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random():016}"

    # Checkpoints

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint, in one commit."""
        put = self._put(config, checkpoint, metadata, new_versions)
        while missing := self._threads.put(*put.parts()):
            put.give(missing)
        return put.config

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint, in one commit."""
        put = self._put(config, checkpoint, metadata, new_versions)
        while missing := await self._threads.put_ticket(*put.parts()):
            put.give(missing)
        return put.config

    def _put(self, config: Any, checkpoint: Any, metadata: Any, new: Any) -> form.Put:
        metadata = get_checkpoint_metadata(config, metadata)
        return form.Put(self.serde, config, checkpoint, metadata, new)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Stores writes of a task, also before their checkpoint is stored."""
        if parts := self._writes(config, writes, task_id, task_path):
            try:
                self._native.attach(*parts)
            except NotFoundError:
                self._store.task_or_start(parts[0])
                self._native.attach(*parts)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Stores writes of a task, also before their checkpoint is stored."""
        if parts := self._writes(config, writes, task_id, task_path):
            try:
                await self._native.attach_ticket(*parts)
            except NotFoundError:
                await self._async_store.task_or_start(parts[0])
                await self._native.attach_ticket(*parts)

    def _writes(self, config: Any, writes: Any, task_id: str, task_path: str) -> Any:
        thread, namespace, id = form.place(config)
        if id is not None and id <= self._deleted.get(thread, ""):
            log.debug("the thread %s was deleted: %d late writes are dropped", thread, len(writes))
            return None
        attachments = [
            (
                task_id,
                WRITES_IDX_MAP.get(channel, index),
                channel,
                form.write(self.serde.dumps_typed(value), task_path),
            )
            for index, (channel, value) in enumerate(writes)
        ]
        return form.task(thread), form.alias(namespace, id), attachments

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns a checkpoint, or the newest one of a thread and namespace."""
        thread, namespace, id = form.place(config)
        found = self._threads.get(form.task(thread), namespace, id)
        return form.tuple_of(self.serde, thread, found[0]) if found else None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns a checkpoint, or the newest one of a thread and namespace."""
        thread, namespace, id = form.place(config)
        found = await self._threads.get_ticket(form.task(thread), namespace, id)
        return form.tuple_of(self.serde, thread, found[0]) if found else None

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Returns the value that each `DeltaChannel` is rebuilt from, and the writes since."""
        thread, *place = form.place(config)
        found = self._threads.ancestors((form.task(thread), *place), set(channels))
        return form.history(self.serde, found, channels)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Returns the value that each `DeltaChannel` is rebuilt from, and the writes since."""
        thread, *place = form.place(config)
        found = await self._threads.ancestors_ticket((form.task(thread), *place), set(channels))
        return form.history(self.serde, found, channels)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Returns checkpoints, newest first: of a thread, or of all threads."""
        if config is None:
            threads = [form.thread(task.id) for task in self._store.tasks(prefix=form.PREFIX)]
            configs: Any = [{"configurable": {"thread_id": thread}} for thread in threads]
            each = [self.list(one, filter=filter, before=before, limit=limit) for one in configs]
            yield from form.first(heapq.merge(*each, key=form.id_of, reverse=True), limit)
            return
        listing = form.List(config, filter, before, limit, PAGE)
        while asked := listing.next():
            found = self._threads.list(asked)
            yield from listing.take(self.serde, found)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Returns checkpoints, newest first: of a thread, or of all threads."""
        if config is None:
            all: list[CheckpointTuple] = []
            async for task in self._async_store.tasks(prefix=form.PREFIX):
                one: RunnableConfig = {"configurable": {"thread_id": form.thread(task.id)}}
                all += [found async for found in self.alist(one, filter=filter, before=before)]
            for found in form.first(iter(sorted(all, key=form.id_of, reverse=True)), limit):
                yield found
            return
        listing = form.List(config, filter, before, limit, PAGE)
        while asked := listing.next():
            for found in listing.take(self.serde, await self._threads.list_ticket(asked)):
                yield found
