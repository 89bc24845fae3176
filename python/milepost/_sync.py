"""Stores and tasks for programs without asyncio. Made of `_async.py` by `tools/sync.py`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Callable, Iterable, Mapping
from datetime import timedelta
from os import PathLike
from types import TracebackType
from typing import Any, TypeVar

from . import _transport as t
from ._milepost import Store as Native
from ._milepost import Ticket
from ._run import Run
from .errors import ConflictError, Error, InvalidError, NotFoundError
from .events import NewEvent
from .policies import Policy
from .progress import progress
from .reducers import Reducer
from .values import (
    Aligned,
    Appended,
    Attachment,
    Bisected,
    Blame,
    Checkpoint,
    CleanedTask,
    Comparison,
    Diff,
    Event,
    Hit,
    Lineage,
    Point,
    Summary,
    TaskInfo,
    Turn,
    encoded,
    table,
)

S = TypeVar("S")

# The number of answers that read no further after which a history counts as read.
READ_ON = 20

Address = str | Point | Checkpoint | Lineage
"""A point: an address such as `essay@draft`, or a value that has one."""


class Store:
    """A store: one that this process has open, one that another process has open, or a service.

    `milepost.open_async` and `milepost.connect_async` return it. Use it in an `async with`, or call
    `close`.
    """

    def __init__(self, native: Native) -> None:
        self._native = native

    def close(self) -> None:
        """Closes the store. What was appended is durable without it."""
        self._native.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The folder, or the address."""
        return self._native.name

    @property
    def is_local(self) -> bool:
        """`True` if this process has the store open."""
        return self._native.is_local

    def _ask(self, method: str, *path: object, **parts: Any) -> Any:
        return t.ask(self._native, t.request(method, *path, **parts))

    # Tasks

    def start(self, id: str, *, user: str | None = None, initial: Any = None) -> Task:
        """Starts a task, optionally with an initial state.

        Args:
            user: its owner. Default: the user of this process, or of the token.

        Raises:
            ConflictError: there is a task with the id.
        """
        if user is None and not self._native.is_service:
            user = t.user()
        self._ask("POST", "v1", "tasks", body=t.given(id=id, user=user, initial=initial))
        return Task(self, id)

    def task(self, id: str) -> Task:
        """Returns a task.

        Raises:
            NotFoundError: there is none with the id.
        """
        self._ask("GET", "v1", "tasks", id)
        return Task(self, id)

    def task_or_start(self, id: str, *, user: str | None = None) -> Task:
        """Returns a task, and starts it if there is none with the id."""
        try:
            return self.task(id)
        except NotFoundError:
            pass
        try:
            return self.start(id, user=user)
        except ConflictError:
            # Another thread or process was first.
            return self.task(id)

    def resume(
        self,
        id: str,
        *,
        user: str | None = None,
        initial: Any = None,
        every: int | None = 1,
        policy: Policy | None = None,
        autosave: float | None = 300.0,
        held_bytes: int = 16 << 20,
    ) -> Run:
        """Opens the run of a task, and begins it unless it is running or paused.

        The task is started if there is none with the id, so the same program starts a run and
        resumes it after a kill.

        Args:
            user: the owner of a task that is started.
            initial: the initial state of a task that is started.
            every: steps for a checkpoint; `None` marks none.
            policy: the policy of checkpoints in place of `every`: one of `milepost.policies`, or a
                function.
            autosave: the seconds without an event after which a paused run is saved while it
                waits; `None` for never.
            held_bytes: the most bytes of events that are held in memory while the store refuses
                them, as on a full disk; 0 for none.
        """
        try:
            task = self.task(id)
        except NotFoundError:
            try:
                task = self.start(id, user=user, initial=initial)
            except ConflictError:
                # Another thread or process was first.
                task = self.task(id)
        run = Run(task, every, policy, autosave, held_bytes)
        run._begin()
        return run

    def tasks(
        self, *, user: str | None = None, prefix: str | None = None
    ) -> Iterator[TaskInfo]:
        """Returns the tasks, newest first; with `prefix` those whose id begins with it, by id."""
        query = {"user": user, "prefix": prefix}
        return t.pages(self._native, TaskInfo._of, "v1", "tasks", **query)

    def summaries(
        self, q: str | None = None, *, sort: str | None = None, user: str | None = None
    ) -> Iterator[Summary]:
        """Returns the tasks with their counts and their usage, the last changed first.

        Args:
            q: words and conditions, as `rain has:failure`: see docs/HTTP.md.
            sort: the order, as `-cost`.
        """
        query = {"q": q, "sort": sort, "user": user}
        return t.pages(self._native, Summary._of, "v1", "summaries", **query)

    def search(
        self,
        text: str | None = None,
        *,
        kinds: Iterable[str] = (),
        failed: bool = False,
        user: str | None = None,
    ) -> Iterator[Hit]:
        """Returns the events of all tasks that have a text, in upper or lower case.

        Args:
            kinds: only events of these kinds.
            failed: only calls and steps that failed.
        """
        kind = ",".join(kinds) or None
        query: dict[str, Any] = {"text": text, "kind": kind, "user": user}
        query["failed"] = True if failed else None
        return t.pages(self._native, Hit._of, "v1", "search", **query)

    def delete_task(self, id: str) -> None:
        """Deletes a task with everything in it. It cannot be undone.

        Raises:
            NotFoundError: there is none with the id.
        """
        self._ask("DELETE", "v1", "tasks", id)

    def copy_task(self, source: str, target: str) -> Task:
        """Copies a task with its lineages, checkpoints and attached data under another id.

        Raises:
            ConflictError: there is a task with the id.
        """
        self._ask("POST", "v1", "tasks", body={"id": target, "copy_of": source})
        return Task(self, target)

    def clean_up(self, task: str, checkpoints: Iterable[str]) -> None:
        """Removes checkpoints of a task but those that are pinned, and trims the events before the
        oldest one that stays. It cannot be undone.

        Args:
            checkpoints: the ids of those that go. One that went already is ignored.
        """
        ids = list(checkpoints)
        # Also without ids: events that nothing needs since an earlier removal go.
        for begin in range(0, max(len(ids), 1), t.IDS_MAX):
            body = {"task": task, "remove": ids[begin : begin + t.IDS_MAX]}
            t.check_cleaned(self._ask("POST", "v1", "retention", body=body))

    def cleanup(
        self,
        *,
        keep: int | None = None,
        younger_than: timedelta | None = None,
        task: str | None = None,
        user: str | None = None,
        dry_run: bool = False,
        drop_lineages: bool = False,
        backup: bool = False,
    ) -> list[CleanedTask]:
        """Removes old checkpoints, and the events that only they need, as `milepost cleanup` does.
        It cannot be undone; `dry_run` returns what would go, and changes nothing.

        Args:
            keep: the number of checkpoints of each task that stay, the newest ones.
            younger_than: the age up to which checkpoints stay. One of the two is needed.
            drop_lineages: whether lineages go that no checkpoint needs that stays.
            backup: whether the tasks are exported into the store's folder before.

        Raises:
            UnavailableError: a task was not cleaned up; those before it were.
        """
        seconds = None if younger_than is None else math.ceil(younger_than.total_seconds())
        if seconds is not None and seconds <= 0:
            raise InvalidError("younger_than is a time of more than 0 seconds")
        limits = t.given(keep_count=keep, younger_than_seconds=seconds, task=task, user=user)
        body = {**limits, "drop_lineages": drop_lineages, "backup": backup}
        path = ("v1", "retention", "plan") if dry_run else ("v1", "retention")
        report = self._ask("POST", *path, body=body)
        t.check_cleaned(report)
        return [CleanedTask._of(form) for form in report["tasks"]]

    # Points

    def point(self, address: Address) -> Point:
        """Returns the point of an address, such as `essay`, `essay@draft`, `essay/1@12`."""
        return Point._of(self._ask("GET", "v1", "points", address))

    def state(
        self, address: Address, pointer: str | None = None, *, messages: int | None = None
    ) -> Any:
        """Returns the state at a point, or the part of it at a JSON pointer."""
        query = {"pointer": pointer, "messages": messages}
        found = self._ask("GET", "v1", "points", address, "state", query=query)
        return found["state" if pointer is None else "value"]

    def event(self, address: Address) -> Event:
        """Returns the event at a point."""
        return Event._of(self._ask("GET", "v1", "points", address, "event"))

    def diff(self, before: Address, after: Address) -> Diff:
        """Returns the changes of state between two points."""
        return Diff._of(self._ask("GET", "v1", "points", before, "diff", after))

    def compare(self, a: Address, b: Address, *, texts: bool = False) -> Comparison:
        """Compares two histories turn by turn: what is the same, and what one did and the other not.

        Args:
            texts: compare what was said also in turns with calls.
        """
        lines: list[Aligned] = []
        query: dict[str, Any] = {"limit": 1000, "texts": texts or None}
        while True:
            page = self._ask("GET", "v1", "points", a, "align", b, query=query)
            lines.extend(map(Aligned._of, page["items"]))
            if page["next"] is None:
                counts = {name: int(count) for name, count in page["counts"].items()}
                return Comparison(int(page["common"]), counts, lines)
            query["from"] = page["next"]

    def blame(self, address: Address, pointer: str, *, history: bool = False) -> Blame:
        """Returns the event that last set a part of a state, or all events that changed it."""
        query = {"pointer": pointer, "history": history or None}
        return Blame._of(self._ask("GET", "v1", "points", address, "blame", query=query))

    def restore(self, address: Address, *, description: str | None = None) -> Task:
        """Goes back to a point: opens a lineage there, which becomes the active one.

        Nothing is removed; `undo` of the task takes it back.
        """
        body = t.given(to=str(address), description=description)
        restored = self._ask("POST", "v1", "restores", body=body)
        return Task(self, restored["task"]["id"])

    def branch(
        self,
        address: Address,
        events: NewEvent | Iterable[NewEvent] = (),
        *,
        checkpoint: Mapping[str, Any] | str | None = None,
        description: str | None = None,
        key: str | None = None,
    ) -> Task:
        """Opens a lineage at a point, and leaves the active one as it is.

        With events they are appended in the same commit. Returns the task on the new lineage.
        """
        listed = t.events(events)
        if listed:
            mark = t.mark_text(checkpoint)
            lineage = (
                self._native.branch(str(address), listed, mark, description, key)
            )[-1]
        else:
            body = t.given(description=description)
            opened = self._ask("POST", "v1", "points", address, "branch", body=body)
            lineage = opened["id"]
        point = self.point(address)
        return Task(self, point.task, lineage)

    # Checkpoints

    def checkpoint(self, id: str) -> Checkpoint:
        """Returns a checkpoint, by its id, at least 8 digits of it, or an alias."""
        return Checkpoint._of(self._ask("GET", "v1", "checkpoints", id))

    def checkpoints(
        self,
        *,
        task: str | None = None,
        status: str | None = None,
        filter: Mapping[str, Any] | None = None,
        alias: str | None = None,
        before: str | None = None,
        order: str | None = None,
    ) -> Iterator[Checkpoint]:
        """Returns checkpoints, newest first.

        Args:
            filter: values that the metadata must have.
            alias: the alias that they must have.
            before: only those with an alias that sorts before it.
            order: `committed`, `created`, or `alias` (the greatest alias first).
        """
        query = t.given(
            task=task, status=status, filter=filter, alias=alias, before=before, order=order
        )
        return t.pages(self._native, Checkpoint._of, "v1", "checkpoints", **query)

    def remove_checkpoints(
        self,
        *,
        task: str | None = None,
        filter: Mapping[str, Any] | None = None,
        alias: str | None = None,
        before: str | None = None,
    ) -> int:
        """Removes the marks of checkpoints, in one commit, except pinned ones."""
        query = t.given(task=task, filter=filter, alias=alias, before=before)
        removed = self._ask("DELETE", "v1", "checkpoints", query=query)
        return int(removed["removed"])

    def bisect(
        self,
        good: Address,
        bad: Address,
        is_good: Callable[[Checkpoint, Any], Any],
    ) -> Bisected:
        """Finds the first checkpoint that is bad, between a good and a bad one of a lineage.

        `is_good` gets a checkpoint and its state. It is called about log2(n) times.

        Raises:
            ValueError: there is no checkpoint between the points.
        """
        start, end = self.point(good), self.point(bad)
        task = Task(self, end.task, end.lineage)
        forks = {one.id: one.parent for one in task.lineages()}
        marks: list[Checkpoint] = []
        # The checkpoints of a lineage, and those of its ancestors before each fork.
        place: tuple[int, int] | None = (end.lineage, end.offset)
        while place is not None:
            lineage, before = place
            found = [one for one in task.on(lineage).checkpoints()]
            marks += [one for one in found if start.offset <= one.at <= before]
            place = forks[lineage]
            place = place and (place[0], min(place[1], before))
            if lineage == start.lineage:
                break
        else:
            raise ValueError(f"{good} is not in the history of {bad}")
        marks.sort(key=lambda one: (one.at, one.mark))
        if len(marks) < 2:
            raise ValueError(f"no two checkpoints from {good} to {bad}: nothing to bisect")
        low, high, tested = 0, len(marks) - 1, 0
        with progress("bisect", max(1, (high - low).bit_length())) as step:
            while high - low > 1:
                middle = (low + high) // 2
                verdict = is_good(marks[middle], self.state(marks[middle]))
                low, high = (middle, high) if verdict else (low, middle)
                tested += 1
                step()
        return Bisected(marks[low], marks[high], tested)

    # Folders

    def capture(
        self, folder: str | PathLike[str], task: str, *, label: str | None = None
    ) -> str | None:
        """Records the files of a folder in a task. Returns the id of the checkpoint."""
        done = self._job("capture", t.given(folder=str(folder), task=task, label=label))
        return done["checkpoint"]

    def rollback(
        self,
        address: Address,
        folder: str | PathLike[str],
        *,
        theirs: Iterable[str] = (),
        keep_mine: Iterable[str] = (),
        description: str | None = None,
    ) -> Task:
        """Restores state and files of a folder together, or neither.

        Args:
            theirs: paths to take from the capture, although they changed since.
            keep_mine: paths to leave as they are.

        Raises:
            ConflictError: files changed since they were last captured; `paths` names them, and
                nothing was done.
        """
        choices = {"theirs": list(theirs), "keep_mine": list(keep_mine)}
        files = {"folder": str(folder), "choices": choices}
        asked = t.given(to=str(address), scope="all", files=files, description=description)
        done = self._job("restore", asked)
        return Task(self, done["task"])

    def _job(self, kind: str, asked: dict[str, Any]) -> Any:
        job = self._ask("POST", "v1", "jobs", body={kind: asked})
        with progress(kind, 1) as step:
            while job["state"] not in ("done", "failed", "cancelled"):
                query = {"wait": 10}
                job = self._ask("GET", "v1", "jobs", job["id"], query=query)
            step()
        return t.job_result(kind, job)

    # The store

    def stats(self) -> Mapping[str, Any]:
        """Returns counts and bytes of the store."""
        return self._ask("GET", "v1", "stats")

    def verify(self, *, acknowledge: bool = False) -> Mapping[str, Any]:
        """Computes every checksum and chain. Returns faults, and repairs of earlier damage.

        `acknowledge` ends the count of these repairs: the next verification has them no more.
        """
        return self._ask("POST", "v1", "verify", body={"acknowledge": acknowledge})

    def __repr__(self) -> str:
        closed = ", closed" if self._native.is_closed else ""
        return f"<milepost.{type(self).__name__} {self.name}{closed}>"


class Task:
    """A task of a store: one piece of work, whose history is its lineages.

    Events go to the active lineage, or to the one that the handle names.
    """

    def __init__(self, store: Store, id: str, lineage: int | None = None) -> None:
        self._store = store
        self._native = store._native
        self._lineage = lineage
        self.id = id

    @property
    def store(self) -> Store:
        """The store of the task."""
        return self._store

    @property
    def address(self) -> str:
        """The address of its head."""
        task = encoded(self.id)
        return task if self._lineage is None else f"{task}/{self._lineage}"

    def on(self, lineage: int) -> Task:
        """Returns the task on one of its lineages."""
        return Task(self._store, self.id, lineage)

    def _ask(self, method: str, *path: object, **parts: Any) -> Any:
        asked = t.request(method, "v1", "tasks", self.id, *path, **parts)
        return t.ask(self._native, asked)

    # Writing

    def append(
        self,
        events: NewEvent | Iterable[NewEvent],
        *,
        checkpoint: Mapping[str, Any] | str | None = None,
        key: str | None = None,
        expected_head: int | None = None,
    ) -> Appended:
        """Appends events. They are durable when it returns.

        Args:
            events: one event or several, of `milepost.events`; several are one commit.
            checkpoint: a checkpoint behind them, in the same commit: its label, or
                `milepost.mark(...)`.
            key: an idempotency key: appended twice under it, the events are there once.
            expected_head: the head that the lineage must have.

        Raises:
            ConflictError: the head is another one, or the key was used for other events.
        """
        return self._append(t.events(events), t.mark_text(checkpoint), key, expected_head)

    def _append(
        self,
        events: list[tuple[str, Any]],
        mark: str | None,
        key: str | None,
        expected_head: int | None = None,
    ) -> Appended:
        given = (self._lineage, key, expected_head)
        try:
            added = self._native.append(self.id, events, mark, given)
        except Error as error:
            raise t.in_words(self._native, error) from None
        return t.appended(added)

    def submit(
        self,
        events: NewEvent | Iterable[NewEvent],
        *,
        checkpoint: Mapping[str, Any] | str | None = None,
        key: str | None = None,
        expected_head: int | None = None,
    ) -> Ticket:
        """Queues events, as `append`, and returns a ticket: `wait()` for it, or `await` it.

        Tickets of many appends share the syncs of the disk.
        """
        given = (self._lineage, key, expected_head)
        return self._native.submit(self.id, t.events(events), t.mark_text(checkpoint), given)

    def checkpoint(
        self,
        label: str | None = None,
        *,
        status: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        aliases: Iterable[str] = (),
        at: int | None = None,
        key: str | None = None,
    ) -> Checkpoint:
        """Marks a checkpoint at the head, or at an offset."""
        body = t.mark(label, status, None, metadata, aliases)
        body.update(t.given(lineage=self._lineage, at=None if at is None else str(at)))
        return Checkpoint._of(self._ask("POST", "checkpoints", body=body, key=key))

    def attach(self, alias: str, attachments: Attachment | Iterable[Attachment]) -> int:
        """Attaches data to the checkpoint that has an alias, marked already or later.

        Returns the number of new attachments: one that is there already is left out.
        """
        listed = [attachments] if isinstance(attachments, Attachment) else attachments
        return self._native.attach(self.id, alias, t.attachments(listed))

    def attached(self, alias: str) -> list[Attachment]:
        """Returns the data that is attached by an alias."""
        return t.attached(self._native.attached(self.id, alias))

    def once(self, key: str, work: Callable[[], Any]) -> Any:
        """Does work once for a key, and returns its result; later calls return the first result.

        The result is attached to the task under the alias `once:KEY`, and must be a value of JSON. A
        crash before that leaves the work to be done again. A restore does not: `Run.once` records
        the result on the lineage.
        """
        alias = f"once:{key}"
        for known in self.attached(alias):
            return known.data
        result = work()
        t.no_awaitable(result)
        self.attach(alias, Attachment("once", 0, result, key))
        return (self.attached(alias))[0].data

    # Reading

    def head(self) -> int:
        """Returns the offset of the next event."""
        return (self._store.point(self.address)).offset

    def info(self) -> TaskInfo:
        """Returns user, times and counts of the task."""
        return TaskInfo._of(self._ask("GET"))

    def state(self, pointer: str | None = None, *, messages: int | None = None) -> Any:
        """Returns the state at the head, or the part of it at a JSON pointer."""
        return self._store.state(self.address, pointer, messages=messages)

    def lineages(self) -> list[Lineage]:
        """Returns the lineages of the task."""
        listed = self._ask("GET", "lineages")
        return [Lineage._of(self.id, form) for form in listed["items"]]

    def events(
        self, start: int = 0, end: int | None = None, *, kinds: Iterable[str] = ()
    ) -> Iterator[Event]:
        """Returns the events of the lineage from an offset on, before another one."""
        query: dict[str, Any] = {"to": end, "lineage": self._lineage, "limit": 1000}
        query["kind"] = ",".join(kinds) or None
        next_offset: Any = start
        while next_offset is not None:
            query["from"] = next_offset
            page = self._ask("GET", "events", query=query)
            for form in page["items"]:
                yield Event._of(form)
            next_offset = page["next"]

    def checkpoints(
        self,
        *,
        status: str | None = None,
        filter: Mapping[str, Any] | None = None,
        alias: str | None = None,
        before: str | None = None,
        order: str | None = None,
    ) -> Iterator[Checkpoint]:
        """Returns the checkpoints of the task, newest first: see `Store.checkpoints`."""
        query = t.given(
            lineage=self._lineage,
            status=status,
            filter=filter,
            alias=alias,
            before=before,
            order=order,
        )
        path = ("v1", "tasks", self.id, "checkpoints")
        return t.pages(self._native, Checkpoint._of, *path, **query)

    def states(
        self, start: int | None = None, end: int | None = None, *, messages: int | None = None
    ) -> Iterator[tuple[Checkpoint, Any]]:
        """Returns each checkpoint of the lineage with its state, oldest first, in one pass."""
        query = {"from": start, "to": end, "lineage": self._lineage, "messages": messages}
        path = ("v1", "tasks", self.id, "states")
        asked = t.request("GET", *path, query=query)
        for line in t.lines(self._native, asked):
            form = json.loads(line)
            yield Checkpoint._of(form["checkpoint"]), form["state"]

    def share(
        self,
        path: str | PathLike[str],
        *,
        redact: bool = True,
        withhold: Iterable[str] = (),
        max: int | None = None,
    ) -> None:
        """Writes the task into one file of HTML, which shows it without a service.

        Args:
            path: the file, which is new.
            redact: withhold events with a text that resembles a secret.
            withhold: regular expressions: events with a text that matches are withheld, too.
            max: the most bytes of the file. The longest texts are withheld first.

        Raises:
            FileExistsError: there is a file at the path.
        """
        if isinstance(withhold, str):
            raise InvalidError("`withhold` is a list of regular expressions")
        query = {"redact": redact, "max": max}
        asked = t.request("GET", "v1", "tasks", self.id, "share", query=query)
        asked[2].extend(("withhold", one) for one in withhold)
        with t.new_file(path) as file:
            file.write(t.content(self._native, asked))

    def export(
        self, path: str | PathLike[str], *, files: bool = False, redact: bool = False
    ) -> None:
        """Writes the task into a file, from which `milepost import` makes it in another store.

        A file of a store with a key, as `open` makes them, is imported as a copy: `--as NAME`.

        Args:
            path: the file, which is new.
            files: include the captured files.
            redact: replace each text that resembles a secret. Such a file is imported as a copy.

        Raises:
            FileExistsError: there is a file at the path.
            InvalidError: `files` and `redact` are both given, or the task has captured files that
                its export needs.
        """
        query = t.given(files=files or None, redact=redact or None)
        asked = t.request("GET", "v1", "tasks", self.id, "export", query=query)
        with t.new_file(path) as file:
            for line in t.lines(self._native, asked):
                file.write(line + b"\n")

    def turns(self, *, failed: bool = False, text: str | None = None) -> Iterator[Turn]:
        """Returns the turns of the lineage, oldest first: what was said, called and returned.

        Args:
            failed: only those that failed.
            text: only those with this text in an event.
        """
        query = t.given(lineage=self._lineage, failed=failed or None, text=text, limit=1000)
        last, idle = -1, 0
        while True:
            page = self._ask("GET", "turns", query=query)
            read = int(page["read"])
            if read < int(page["head"]) and idle < READ_ON:
                # A long history is read in parts.
                idle = 0 if read > last else idle + 1
                last = max(last, read)
                t.sleep(0.1 if idle else 0)
                continue
            for form in page["items"]:
                yield Turn._of(form)
            if page["next"] is None:
                return
            query["from"] = page["next"]

    def metrics(self) -> Iterator[dict[str, Any]]:
        """Returns the metrics of the steps of the lineage, as rows for a data frame.

        A row has the number of the step as `step`, the time of its end as `time`, and its metrics:
        `pandas.DataFrame(task.metrics())` is a table. Metrics of these two names are `metric.step`
        and `metric.time`.
        """
        for event in self.events(kinds=["step_finished"]):
            body = event.body or {}
            row: dict[str, Any] = {"step": body.get("step"), "time": event.time}
            for name, value in body.get("metrics", {}).items():
                row[f"metric.{name}" if name in ("step", "time") else name] = float(value)
            yield row

    def fold(self, reducer: Reducer[S], end: int | None = None) -> S:
        """Folds the events of the lineage by a reducer, up to the head or before an offset."""
        state = reducer.initial()
        for event in self.events(0, end):
            state = reducer.apply(state, event)
        return state

    def follow(
        self, start: int | None = None, *, timeout: float | None = None
    ) -> Iterator[Event]:
        """Returns events from an offset on, and then each one as it becomes durable.

        It goes across restores. It ends if nothing came for `timeout` seconds, the time to connect
        included.
        """
        following = self._native.follow(self.id, start)
        while True:
            found = t.next_followed(following, timeout)
            if found is None:
                return
            kind, text = found
            if kind == "event":
                yield Event._of(json.loads(text))

    # Going back

    def undo(self) -> Task:
        """Takes back the last restore."""
        self._ask("POST", "undo", body={})
        return Task(self._store, self.id)

    def redo(self) -> Task:
        """Takes back the last undo."""
        self._ask("POST", "redo", body={})
        return Task(self._store, self.id)

    def switch(self, lineage: int) -> Task:
        """Makes another lineage the active one."""
        self._ask("PUT", "active", body={"lineage": lineage})
        return Task(self._store, self.id)

    # Steering

    def control(self, to: str | None = None, *, reason: str | None = None) -> str:
        """Returns the control of the run, or changes it.

        Args:
            to: `running`, `paused`, `stopped` or `idle`.
        """
        if to is None:
            return self.state("/control")
        changed = self._ask("POST", "control", body=t.given(to=to, reason=reason))
        return changed["control"]

    def guide(self, text: str, *, target: str | None = None) -> None:
        """Gives guidance, which the run reads at its next step."""
        self._ask("POST", "guidance", body=t.given(text=text, target=target))

    def __repr__(self) -> str:
        return f"<milepost.{type(self).__name__} {self.address} of {self._store.name}>"

    def _repr_html_(self) -> str:
        return table(["task", "store"], [[self.address, self._store.name]])
