"""Removal, copies and pruning of LangGraph's threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base.id import uuid6

from . import _langgraph as form
from ._async import AsyncStore
from ._milepost import Store as Native
from ._sync import Store
from .errors import ConflictError, NotFoundError


class Retention(BaseCheckpointSaver[str]):
    """What removes and copies threads."""

    _store: Store
    _async_store: AsyncStore
    _native: Native
    # The threads that were deleted, and an id behind those of their checkpoints.
    _deleted: dict[str, str]

    def delete_thread(self, thread_id: str) -> None:
        """Deletes a thread with all its namespaces. Late writes to it are dropped."""
        self._deleted[str(thread_id)] = str(uuid6())
        try:
            self._store.delete_task(form.task(thread_id))
        except NotFoundError:
            pass

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes a thread with all its namespaces. Late writes to it are dropped."""
        self._deleted[str(thread_id)] = str(uuid6())
        try:
            await self._async_store.delete_task(form.task(thread_id))
        except NotFoundError:
            pass

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes the checkpoints of runs that have ended, those of a thread in one commit.

        Of a thread with a `DeltaChannel`, those that another run is rebuilt from stay, and each has
        a commit of its own.
        """
        for run in run_ids:
            found = self._store.checkpoints(filter={"run_id": run})
            for task in form.tasks_of(list(found)):
                if not form.has_deltas(self._store.checkpoints(task=task)):
                    self._store.remove_checkpoints(task=task, filter={"run_id": run})
                    continue
                listed = list(self.list(form.config_of_all(task)))
                for alias in form.of_a_run(listed, run):
                    self._store.remove_checkpoints(task=task, alias=alias)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes the checkpoints of runs that have ended, those of a thread in one commit.

        Of a thread with a `DeltaChannel`, those that another run is rebuilt from stay, and each has
        a commit of its own.
        """
        for run in run_ids:
            found = [one async for one in self._async_store.checkpoints(filter={"run_id": run})]
            for task in form.tasks_of(found):
                marks = [one async for one in self._async_store.checkpoints(task=task)]
                if not form.has_deltas(marks):
                    await self._async_store.remove_checkpoints(task=task, filter={"run_id": run})
                    continue
                listed = [one async for one in self.alist(form.config_of_all(task))]
                for alias in form.of_a_run(listed, run):
                    await self._async_store.remove_checkpoints(task=task, alias=alias)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies a thread with all its checkpoints and writes, into another one, or a new one."""
        try:
            self._store.copy_task(form.task(source_thread_id), form.task(target_thread_id))
            return
        except NotFoundError:
            return
        except ConflictError:
            pass
        config: Any = {"configurable": {"thread_id": source_thread_id}}
        for found in form.parents_first(list(self.list(config))):
            self.put(*form.copied(found, target_thread_id))
            source, target = form.task(source_thread_id), form.task(target_thread_id)
            if attached := self._native.attached(source, form.alias_of(found)):
                self._native.attach(target, form.alias_of(found), attached)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies a thread with all its checkpoints and writes, into another one, or a new one."""
        try:
            source, target = form.task(source_thread_id), form.task(target_thread_id)
            await self._async_store.copy_task(source, target)
            return
        except NotFoundError:
            return
        except ConflictError:
            pass
        config: Any = {"configurable": {"thread_id": source_thread_id}}
        for found in form.parents_first([one async for one in self.alist(config)]):
            await self.aput(*form.copied(found, target_thread_id))
            source, target = form.task(source_thread_id), form.task(target_thread_id)
            if attached := await self._native.attached_ticket(source, form.alias_of(found)):
                await self._native.attach_ticket(target, form.alias_of(found), attached)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes all checkpoints of threads, or all but the newest of each namespace.

        Ancestors of the newest that a `DeltaChannel` is rebuilt from stay, and so do pending
        writes.
        """
        for thread in thread_ids:
            if form.removes_all(strategy):
                self.delete_thread(thread)
                continue
            config: Any = {"configurable": {"thread_id": thread}}
            if listed := list(self.list(config)):
                task = form.task(thread)
                pruned = form.pruned(listed, self._store.checkpoints(task=task))
                self._store.clean_up(task, pruned)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes all checkpoints of threads, or all but the newest of each namespace.

        Ancestors of the newest that a `DeltaChannel` is rebuilt from stay, and so do pending
        writes.
        """
        for thread in thread_ids:
            if form.removes_all(strategy):
                await self.adelete_thread(thread)
                continue
            config: Any = {"configurable": {"thread_id": thread}}
            if listed := [one async for one in self.alist(config)]:
                task = form.task(thread)
                marks = [one async for one in self._async_store.checkpoints(task=task)]
                await self._async_store.clean_up(task, form.pruned(listed, marks))
