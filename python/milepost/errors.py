"""Errors of milepost. Each message says what was wrong, where, and what to do next."""

from __future__ import annotations


class Error(Exception):
    """An error of milepost.

    Attributes:
        status: the HTTP status, if a service answered.
    """

    status: int | None = None


class InvalidError(Error, ValueError):
    """The request is not possible as made: change it."""


class NotFoundError(Error, KeyError):
    """A named task, checkpoint, lineage or event does not exist, or retention removed it."""

    def __str__(self) -> str:
        # `KeyError` would quote it.
        return str(self.args[0]) if self.args else ""


class ConflictError(Error):
    """Another writer was first: read the head, and decide again.

    Attributes:
        head: the actual head of the lineage, if the request expected another one.
        paths: the files that are in the way of a rollback.
    """

    head: int | None = None
    paths: list[str] = []


class UnavailableError(Error):
    """A temporary failure: a lock, a full disk, a service that is not there.

    After a failed append the outcome is unknown: append it again under the same key.

    Attributes:
        holder: the id of the process that has the store open, if that is the reason.
    """

    holder: int | None = None


class RefusedError(Error, PermissionError):
    """The service refuses the token, or the token may not do that."""


class CorruptError(Error):
    """Stored bytes differ from the written ones.

    Attributes:
        place: file, lineage and offset, as far as known.
    """

    place: str | None = None


class UnsupportedError(Error):
    """The data has a newer version than this package reads: install a newer one."""


class PoisonedError(Error):
    """An earlier write failed: close the store, and open it again."""


class ForkedError(Error):
    """The process was forked from the one that opened the store: open the store again."""


_CLASSES: dict[str, type[Error]] = {
    "invalid": InvalidError,
    "not_found": NotFoundError,
    "conflict": ConflictError,
    "unavailable": UnavailableError,
    "refused": RefusedError,
    "corrupt": CorruptError,
    "unsupported": UnsupportedError,
    "poisoned": PoisonedError,
    "forked": ForkedError,
}


def _of(kind: str, text: str, **fields: object) -> Error:
    """Creates an exception for the native part."""
    error = _CLASSES.get(kind, UnavailableError)(text)
    for name, value in fields.items():
        if value is not None:
            setattr(error, name, value)
    return error
