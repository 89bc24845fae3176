"""Requests to a store, and the forms of events for the native part."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import IO, Any, TypeVar

from . import errors as errors_module
from ._json import text as json_text
from ._milepost import Following
from ._milepost import Store as Native
from .events import NewEvent
from .values import Appended, Attachment

T = TypeVar("T")

# Ids of checkpoints in one request, at most.
IDS_MAX = 100_000
Request = tuple[str, list[str], list[tuple[str, str]], list[tuple[str, str]], "bytes | None"]


def request(
    method: str,
    *path: object,
    query: Mapping[str, Any] | None = None,
    body: Any = None,
    key: str | None = None,
    head: int | None = None,
) -> Request:
    """Returns a request; parameters that are `None` are left out."""
    pairs = [(name, _text(value)) for name, value in (query or {}).items() if value is not None]
    headers = []
    if key is not None:
        headers.append(("idempotency-key", key))
    if head is not None:
        headers.append(("if-match", f'"{head}"'))
    content = None if body is None else json_text(body, "the request").encode()
    return method, [str(part) for part in path], pairs, headers, content


def user() -> str:
    """Returns the name of the user of this process."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "local"


def _text(value: Any) -> str:
    if isinstance(value, (bool, dict, list)):
        return json.dumps(value)
    return str(value)


def log() -> Any:
    """Returns the logger of the package. A program in which nothing fails does not load it."""
    import logging

    return logging.getLogger("milepost")


def new_id() -> str:
    """Returns 32 digits that no other call returns."""
    return os.urandom(16).hex()


def lock() -> Any:
    """Returns a lock."""
    import threading

    return threading.Lock()


def async_lock() -> Any:
    """Returns a lock."""
    import asyncio

    return asyncio.Lock()


def no_awaitable(result: Any) -> None:
    """Refuses the result of work that is for asyncio."""
    if hasattr(result, "__await__"):
        if hasattr(result, "close"):
            result.close()
        raise errors_module.InvalidError(
            "the work is async: milepost.open_async gives stores whose runs await it"
        )


def reopen(native: Native) -> None:
    """Opens the store of a folder again."""
    native.reopen()


async def async_reopen(native: Native) -> None:
    """Opens the store of a folder again, on a thread: it may wait for another process."""
    import asyncio

    await asyncio.to_thread(native.reopen)


def sleep(seconds: float) -> None:
    """Waits."""
    time.sleep(seconds)


async def async_sleep(seconds: float) -> None:
    """Waits."""
    # A program without asyncio does not load it.
    import asyncio

    await asyncio.sleep(seconds)


def given(**fields: Any) -> dict[str, Any]:
    """Returns the fields that are not `None`."""
    return {name: value for name, value in fields.items() if value is not None}


def ask(native: Native, asked: Request) -> Any:
    """Sends a request, and returns the parsed answer."""
    answer = content(native, asked)
    return json.loads(answer) if answer else None


async def async_ask(native: Native, asked: Request) -> Any:
    """Sends a request, and returns the parsed answer."""
    answer = await async_content(native, asked)
    return json.loads(answer) if answer else None


def content(native: Native, asked: Request) -> bytes:
    """Sends a request, and returns the bytes of the answer."""
    try:
        return native.call(asked)
    except errors_module.Error as error:
        raise in_words(native, error) from None


async def async_content(native: Native, asked: Request) -> bytes:
    """Sends a request, and returns the bytes of the answer."""
    try:
        return await native.start(asked)
    except errors_module.Error as error:
        raise in_words(native, error) from None


# What an answer of a service begins and ends with.
_ROUTE = re.compile(r"^(?:GET|POST|PUT|PATCH|DELETE) /v1/\S+: ")
_REQUEST = re.compile(r" \[request [\w-]+\]$")


def in_words(native: Native, error: errors_module.Error) -> errors_module.Error:
    """Returns the error of a store on this machine without the request that a service would get."""
    if not native.is_service and error.args and isinstance(error.args[0], str):
        error.args = (_REQUEST.sub("", _ROUTE.sub("", error.args[0])), *error.args[1:])
    return error


def pages(native: Native, parse: Callable[[Any], T], *path: object, **query: Any) -> Iterator[T]:
    """Returns the items of a list, page by page as they are needed."""
    while True:
        page = ask(native, request("GET", *path, query=query))
        yield from map(parse, page["items"])
        if page["next"] is None:
            return
        query["cursor"] = page["next"]


async def async_pages(
    native: Native, parse: Callable[[Any], T], *path: object, **query: Any
) -> AsyncIterator[T]:
    """Returns the items of a list, page by page as they are needed."""
    while True:
        page = await async_ask(native, request("GET", *path, query=query))
        for item in page["items"]:
            yield parse(item)
        if page["next"] is None:
            return
        query["cursor"] = page["next"]


def events(given: NewEvent | Iterable[NewEvent]) -> list[tuple[str, Any]]:
    """Returns one event, or several, in the form of the native part."""
    is_one = isinstance(given, Mapping) or (
        isinstance(given, tuple) and len(given) > 0 and isinstance(given[0], str)
    )
    if isinstance(given, (str, bytes)) or not (is_one or hasattr(given, "__iter__")):
        raise _no_event(given)
    listed: Any = [given] if is_one else given
    return [_event(one) for one in listed]


def _event(given: Any) -> tuple[str, Any]:
    if isinstance(given, Mapping) and isinstance(given.get("kind"), str):
        # As a line of JSON has it: the fields beside the kind, or in `body`.
        fields = {name: value for name, value in given.items() if name != "kind"}
        kind, fields = given["kind"], fields["body"] if fields.keys() == {"body"} else fields
    elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        kind, fields = given
    else:
        raise _no_event(given)
    return kind, fields if isinstance(fields, bytes) else json_text(fields, kind)


def _no_event(given: Any) -> Exception:
    return errors_module.InvalidError(
        f"{type(given).__name__} is no event: one is a pair of kind and fields, as "
        "milepost.events.message('user', 'hi') makes, or {'kind': 'message', 'role': 'user', ..}"
    )


def appended(added: tuple[Any, ...]) -> Appended:
    """Converts what the native part says of an append, or of a branch."""
    first, head, checkpoint, repeated, hash, *lineage = added
    return Appended(first, head, checkpoint, repeated, hash, *lineage)


def mark(
    label: str | None = None,
    status: str | None = None,
    cause: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    aliases: Iterable[str] = (),
) -> dict[str, Any]:
    """Returns the form of a mark."""
    fields = given(label=label, status=status, cause=cause, metadata=metadata)
    aliases = list(aliases)
    return {**fields, "aliases": aliases} if aliases else fields


def mark_text(mark: Mapping[str, Any] | str | None) -> str | None:
    """Returns the JSON text of a mark. A text is its label."""
    if mark is None:
        return None
    return json_text({"label": mark} if isinstance(mark, str) else mark, "checkpoint")


def attachments(given: Iterable[Attachment]) -> list[tuple[str, int, str, Any]]:
    """Returns attachments in the form of the native part."""
    return [
        (
            one.writer,
            one.index,
            one.name,
            one.data
            if isinstance(one.data, bytes)
            else json_text(one.data, one.name or one.writer),
        )
        for one in given
    ]


def attached(found: list[tuple[str, int, str, Any]]) -> list[Attachment]:
    """Converts attachments of the native part."""
    return [
        Attachment(writer, index, data if isinstance(data, bytes) else json.loads(data), name)
        for writer, index, name, data in found
    ]


def job_result(kind: str, job: Mapping[str, Any]) -> Any:
    """Returns the result of a job that has ended, or raises its error."""
    result = (job["result"] or {}).get(kind)
    if job["state"] == "done":
        return result
    problem = job["error"] or {"type": "unavailable", "detail": f"the {kind} was cancelled"}
    text = problem["detail"]
    conflicts = ((result or {}).get("files") or {}).get("conflicts") or []
    for conflict in conflicts[:10]:
        text += f"\n  {conflict['path']}: {conflict['text']}"
    error = errors_module._of(
        problem["type"].rsplit("/", 1)[-1], text, status=problem.get("status")
    )
    if isinstance(error, errors_module.ConflictError):
        error.paths = [conflict["path"] for conflict in conflicts]
    raise error


def check_cleaned(report: Mapping[str, Any]) -> None:
    """Raises the error of a task that could not be cleaned up."""
    for task in report["tasks"]:
        if task.get("error"):
            raise errors_module.UnavailableError(
                f"{task['id']} was not cleaned up: {task['error']}"
            )


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Opens a file that gets its name, which is new, when the block ends without an error."""
    path = os.path.abspath(path)
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    place, name = tempfile.mkstemp(".part", ".milepost-", os.path.dirname(path))
    try:
        with open(place, "wb") as file:
            yield file
        try:
            # Unlike a rename, it replaces no file that another program has made since.
            os.link(name, path)
        except FileExistsError:
            raise
        except OSError:
            # The file system has no links.
            os.rename(name, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def lines(native: Native, asked: Request) -> Iterator[bytes]:
    """Returns the lines of an answer."""
    try:
        found = native.lines(asked)
        while (line := found.next()) is not None:
            yield line
    except errors_module.Error as error:
        raise in_words(native, error) from None


async def async_lines(native: Native, asked: Request) -> AsyncIterator[bytes]:
    """Returns the lines of an answer."""
    try:
        found = native.lines(asked)
        while (line := await found.next_ticket()) is not None:
            yield line
    except errors_module.Error as error:
        raise in_words(native, error) from None


def next_followed(following: Following, timeout: float | None) -> tuple[str, str] | None:
    """Returns what happened next in a task."""
    return following.next(timeout)


async def async_next_followed(
    following: Following, timeout: float | None
) -> tuple[str, str] | None:
    """Returns what happened next in a task."""
    return await following.next_ticket(timeout)
