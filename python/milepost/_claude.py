"""Sessions of the Claude Agent SDK as tasks and events."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from claude_agent_sdk.types import SessionKey, SessionStoreEntry, SessionSummaryEntry

from . import events
from .events import NewEvent
from .values import Event

ENTRY = "claude.entry"
# The most bytes of a part of a task id; all of them have at most 200.
PART_MAX = 60


def part(text: str) -> str:
    """Returns a part of a task id, without characters of addresses. A long one ends with a hash."""
    quoted = quote(text, safe="").replace("~", "%7E").replace("%", "=")
    if len(quoted) <= PART_MAX:
        return quoted
    return quoted[: PART_MAX - 34] + "==" + hashlib.sha256(text.encode()).hexdigest()[:32]


def task_id(key: SessionKey) -> str:
    """Returns the task of a session, or of a subagent."""
    parts = [key["project_key"], key["session_id"], *filter(None, [key.get("subpath")])]
    return "claude:" + ":".join(map(part, parts))


def batch_id(entries: list[SessionStoreEntry]) -> str | None:
    """Returns the name of a batch that may be sent again, or `None` if that cannot be told."""
    if not any("uuid" in entry for entry in entries):
        return None
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()[:32]


def unseen(entries: list[SessionStoreEntry], uuids: set[str]) -> list[SessionStoreEntry]:
    """Returns the entries whose uuids are not known, each once."""
    new: dict[object, SessionStoreEntry] = {}
    for entry in entries:
        uuid = entry.get("uuid")
        if not uuid:
            new[object()] = entry
        elif uuid not in uuids:
            new.setdefault(uuid, entry)
    return list(new.values())


def event(entry: SessionStoreEntry) -> NewEvent:
    """Returns a message if the entry has one, without what a message has already."""
    message = entry.get("message")
    if not isinstance(message, dict) or message.get("content") is None:
        return events.application(ENTRY, entry)
    role, content = message.get("role"), message["content"]
    if not isinstance(role, str):
        return events.application(ENTRY, entry)
    rest = {name: value for name, value in message.items() if name not in ("role", "content")}
    return events.message(role, content, claude={**entry, "message": rest})


def entry(event: Event) -> Any:
    """Returns the entry that an event has."""
    if event.kind == "message" and event.body and "claude" in event.body:
        found, body = dict(event.body["claude"]), event.body
        found["message"] = {**found["message"], "role": body["role"], "content": body["content"]}
        return found
    if event.name == ENTRY and event.body:
        data = event.data
        return json.loads(data) if isinstance(data, bytes) else data
    return None


def patched(event: Event) -> dict[str, Any] | None:
    """Returns what an append said of its session."""
    if event.kind != "variables_patched" or not event.body:
        return None
    patch = event.body["patch"]
    is_ours = isinstance(patch, list) and patch and patch[0]["path"] == "/claude"
    return patch[0]["value"] if is_ours else None


def summary(state: dict[str, Any]) -> SessionSummaryEntry | None:
    """Returns the summary of a session. A subagent has none."""
    if "summary" not in state:
        return None
    session = state["key"]["session_id"]
    return {"session_id": session, "mtime": state["mtime"], "data": state["summary"]}
