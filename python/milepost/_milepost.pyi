"""The native part: bytes in, bytes out. The classes of the package are written on top of it."""

from collections.abc import Generator
from os import PathLike
from typing import Any, final

__version__: str

_Request = tuple[str, list[str], list[tuple[str, str]], list[tuple[str, str]], bytes | None]
_Events = list[tuple[str, Any]]
_Conditions = tuple[int | None, str | None, int | None]

def alias(namespace: str, id: str) -> str:
    """Returns the alias of a checkpoint of LangGraph."""

def command(arguments: list[str], program: str, words: list[str]) -> int:
    """Does what a command line asks for, and returns the exit code. A process calls it once.

    `program` is the path of what starts another process of the command, and `words` what precedes
    its arguments.
    """

@final
class Ticket:
    """An operation in progress: `wait()` for its result, or `await` it."""

    def is_done(self) -> bool: ...
    def wait(self) -> Any: ...
    def __await__(self) -> Generator[Any, None, Any]: ...

@final
class Lines:
    """The lines of an answer."""

    def next(self) -> bytes | None: ...
    def next_ticket(self) -> Ticket: ...

@final
class Following:
    """The events of a task as they are committed."""

    def next(self, seconds: float | None = None) -> tuple[str, str] | None: ...
    def next_ticket(self, seconds: float | None = None) -> Ticket: ...

@final
class Store:
    """A store that this process has open, or that another process or a service answers for."""

    @staticmethod
    def open(
        path: str | PathLike[str],
        key: str | None = None,
        anchor: str | None = None,
        create: bool = True,
        wait: float = 5.0,
        cache_bytes: int | None = None,
    ) -> Store: ...
    @staticmethod
    def connect(url: str, token: str | None = None) -> Store: ...
    @property
    def name(self) -> str: ...
    @property
    def is_local(self) -> bool: ...
    @property
    def is_service(self) -> bool: ...
    @property
    def is_closed(self) -> bool: ...
    def reopen(self) -> None: ...
    def close(self) -> None: ...
    def append(
        self,
        task: str,
        events: _Events,
        mark: str | None = None,
        conditions: _Conditions = (None, None, None),
    ) -> tuple[Any, ...]: ...
    def submit(
        self,
        task: str,
        events: _Events,
        mark: str | None = None,
        conditions: _Conditions = (None, None, None),
    ) -> Ticket: ...
    def branch(
        self,
        address: str,
        events: _Events,
        mark: str | None = None,
        description: str | None = None,
        key: str | None = None,
    ) -> tuple[Any, ...]: ...
    def branch_ticket(
        self,
        address: str,
        events: _Events,
        mark: str | None = None,
        description: str | None = None,
        key: str | None = None,
    ) -> Ticket: ...
    def attach(self, task: str, alias: str, attachments: list[Any]) -> int: ...
    def attach_ticket(self, task: str, alias: str, attachments: list[Any]) -> Ticket: ...
    def attached(self, task: str, alias: str) -> list[Any]: ...
    def attached_ticket(self, task: str, alias: str) -> Ticket: ...
    def call(self, request: _Request) -> bytes: ...
    def start(self, request: _Request) -> Ticket: ...
    def lines(self, request: _Request) -> Lines: ...
    def follow(self, task: str, start: int | None = None) -> Following: ...

@final
class Threads:
    """Threads of LangGraph in a store."""

    def __init__(self, store: Store, user: str, raises: bool, texts: bool) -> None: ...
    def put(self, place: Any, content: Any, values: Any) -> list[str] | None: ...
    def put_ticket(self, place: Any, content: Any, values: Any) -> Ticket: ...
    def get(self, task: str, namespace: str, id: str | None = None) -> list[Any]: ...
    def get_ticket(self, task: str, namespace: str, id: str | None = None) -> Ticket: ...
    def ancestors(self, place: Any, channels: set[str]) -> list[Any]: ...
    def ancestors_ticket(self, place: Any, channels: set[str]) -> Ticket: ...
    def list(self, which: Any) -> list[Any]: ...
    def list_ticket(self, which: Any) -> Ticket: ...
