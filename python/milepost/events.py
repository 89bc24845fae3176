"""Events to append: each function returns one event.

An event is a pair. `("message", {"role": "user", "content": "hi"})` names a kind of
docs/FORMAT.md and its fields, and `("my.bytes", b"...")` is an application event with bytes. The
form of a line of JSON is an event, too: `{"kind": "message", "role": "user", "content": "hi"}`.

>>> from milepost import events
>>> events.message("user", "Shorten it.")
('message', {'role': 'user', 'content': 'Shorten it.'})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, Any] | bytes
NewEvent = tuple[str, Fields] | Mapping[str, Any]


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def message(role: str, content: Any, *, name: str | None = None, **extra: Any) -> NewEvent:
    """A message: role, content (a text, or parts as in the API of the model), further fields."""
    return "message", {"role": role, "content": content, **_given(name=name), **extra}


def tool_called(call: str, tool: str, arguments: Any) -> NewEvent:
    """A call of a tool: its id, the tool, the arguments."""
    return "tool_called", {"call": call, "tool": tool, "arguments": arguments}


def tool_returned(
    call: str, output: Any = None, *, ok: bool = True, tool: str | None = None
) -> NewEvent:
    """The result of a tool call."""
    return "tool_returned", {"call": call, "ok": ok, **_given(output=output, tool=tool)}


def step_started(step: int, *, name: str | None = None, iteration: int | None = None) -> NewEvent:
    """The begin of a step."""
    return "step_started", {"step": step, **_given(name=name, iteration=iteration)}


def step_finished(
    step: int, *, result: Any = None, metrics: Mapping[str, float] | None = None
) -> NewEvent:
    """The end of a step, with its result and its metrics."""
    return "step_finished", {"step": step, **_given(result=result, metrics=metrics)}


def step_failed(step: int, error: str) -> NewEvent:
    """The failure of a step."""
    return "step_failed", {"step": step, "error": error}


def phase(phase: str, *, iteration: int = 0, previous: str | None = None) -> NewEvent:
    """The begin of a phase."""
    return "phase_changed", {"phase": phase, "iteration": iteration, **_given(previous=previous)}


def prompt(prompt: str) -> NewEvent:
    """A change of the prompt."""
    return "prompt_changed", {"prompt": prompt}


def variables(patch: Any = None, /, **values: Any) -> NewEvent:
    """A change of variables: names with values (`None` removes one), or a JSON patch (RFC 6902).

    >>> variables(score=0.7)
    ('variables_patched', {'patch': {'score': 0.7}})
    """
    if isinstance(patch, list):
        return "variables_patched", {"form": "patch", "patch": patch}
    return "variables_patched", {"patch": {**(patch or {}), **values}}


def artifacts(**values: Any) -> NewEvent:
    """A change of artifacts: names with values; `None` removes one."""
    return "artifacts_edited", {"artifacts": values}


def application(name: str, data: Any) -> NewEvent:
    """An event that only your program knows: bytes, or a value that JSON can have."""
    if isinstance(data, bytes):
        return name, data
    return "application", {"name": name, "data": data}
