"""Conversations of pydantic-ai as tasks and events."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessagesTypeAdapter

from . import events
from .events import NewEvent
from .values import Event

PREFIX = "pydantic:"
ENTRY = "pydantic.entry"

records: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)


def address(id: str) -> str:
    """Returns the address of the task of a conversation."""
    return re.sub("[%/@~]", lambda found: f"%{ord(found[0]):02X}", PREFIX + id)


def alias(entry_id: str) -> str:
    """Returns the alias of the checkpoint that has an entry."""
    return f"{PREFIX}{entry_id}"


def data(entry: ConversationEntry) -> dict[str, Any]:
    """Returns an entry as JSON can have it."""
    (message,) = json.loads(ModelMessagesTypeAdapter.dump_json([entry.message]))
    return {"id": entry.id, "parent_id": entry.parent_id, "kind": entry.kind, "message": message}


def event(entry: ConversationEntry) -> NewEvent:
    """Returns the event of an entry."""
    return events.application(ENTRY, data(entry))


def entry(event: Event) -> ConversationEntry:
    """Returns the entry of an event."""
    found = json.loads(event.data) if isinstance(event.data, bytes) else event.data
    (message,) = ModelMessagesTypeAdapter.validate_python([found["message"]])
    return ConversationEntry(**{**found, "message": message})
