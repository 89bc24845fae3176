"""Reducers, which fold events into a state."""

from __future__ import annotations

from typing import Protocol, TypeVar

from .values import Event

S = TypeVar("S")


class Reducer(Protocol[S]):
    """Folds events into a state, one at a time.

    It must be a pure function of the events: no clock, no randomness, no I/O.

    >>> class Count:
    ...     def initial(self):
    ...         return 0
    ...     def apply(self, state, event):
    ...         return state + (event.kind == "message")
    """

    def initial(self) -> S:
        """Returns the state before the first event."""
        ...

    def apply(self, state: S, event: Event) -> S:
        """Returns the state after an event. The body of an erased event is `None`."""
        ...
