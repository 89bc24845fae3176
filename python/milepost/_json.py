"""Values of Python as JSON, in the forms of docs/PYTHON.md."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import date, datetime, time, timedelta
from enum import Enum
from os import PathLike, fsdecode
from typing import Any

from .errors import InvalidError

# Types whose modules take time to load, by name.
_AS_TEXT = {("uuid", "UUID"), ("decimal", "Decimal")}

# JSON has no such numbers: the log has them as these texts.
_TEXTS = {math.inf: "Infinity", -math.inf: "-Infinity"}


def text(value: Any, what: str) -> str:
    """Returns the JSON of a value. `what` names it in errors.

    Raises:
        InvalidError: a value in it has no form, or it contains itself.
    """
    try:
        return json.dumps(value, allow_nan=False, default=_form)
    except (TypeError, ValueError, RecursionError):
        # Not a number, or a value without a form: this is slower, and knows the place.
        converted = _converted(value, what, 0)
        try:
            return json.dumps(converted, allow_nan=False)
        except ValueError as error:
            raise InvalidError(f"{what}: {error}") from None


# Levels of lists and objects: what the log takes, and no more.
_DEPTH = 100


def _converted(value: Any, place: str, depth: int) -> Any:
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _TEXTS.get(value, "NaN")
    if depth > _DEPTH:
        raise InvalidError(f"{place} has more than {_DEPTH} levels, or contains itself")
    if isinstance(value, Mapping):
        return {
            _name(name, place): _converted(one, f"{place}.{name}", depth + 1)
            for name, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_converted(one, f"{place}[{n}]", depth + 1) for n, one in enumerate(value)]
    try:
        form = _form(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidError(f"{place}: {error}") from None
    return _converted(form, place, depth + 1)


def _name(name: Any, place: str) -> str:
    if isinstance(name, (str, int, float)) or name is None:
        # As json.dumps has it.
        return name if isinstance(name, str) else json.dumps(name)
    if hasattr(name, "dtype") and hasattr(name, "tolist"):
        return _name(name.tolist(), place)
    raise InvalidError(f"{place}: a name of a field is a text, and not {type(name).__name__}")


def _form(value: Any) -> Any:
    """Returns the form of a value that JSON does not have."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, PathLike):
        return fsdecode(value)
    if any((one.__module__, one.__name__) in _AS_TEXT for one in type(value).__mro__):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        # In one order: a repeated append under a key has the same bytes.
        try:
            return sorted(value)
        except TypeError:
            return sorted(value, key=repr)
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    # Scalars and arrays of numpy, torch, jax, tensorflow and polars.
    form: Callable[[], Any] | None = getattr(value, "tolist", None)
    if callable(form) and hasattr(value, "dtype"):
        return form()
    raise TypeError(
        f"a value of type {type(value).__name__} has no form in the log: "
        "give numbers, texts, lists and dictionaries, or bytes to events.application"
    )
