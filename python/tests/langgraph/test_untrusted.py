"""Nothing that was read from a store becomes code: bytes that a token, a clone or an import wrote."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
from dataclasses import dataclass
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import (
    EXT_CONSTRUCTOR_KW_ARGS,
    EXT_CONSTRUCTOR_POS_ARGS,
    EXT_CONSTRUCTOR_SINGLE_ARG,
    EXT_METHOD_SINGLE_ARG,
    EXT_PYDANTIC_V1,
    EXT_PYDANTIC_V2,
    JsonPlusSerializer,
)

from milepost.langgraph import MilepostSaver

CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
KEY = b"0123456789abcdef"


@dataclass
class Plan:
    """A type of the user's program."""

    goal: str


class Calls:
    """Pickled, a call of `os.mkdir`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (self.folder,)


class Masking(JsonPlusSerializer):
    """A serializer of the user, made of LangGraph's."""


def forms(folder: str) -> list[tuple[str, bytes]]:
    """Returns every form of LangGraph's serializer that can name a callable, with a call of
    `os.mkdir`."""

    def ext(code: int, *parts: Any) -> bytes:
        return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(parts)))

    calls = [
        ext(EXT_CONSTRUCTOR_SINGLE_ARG, "os", "mkdir", folder),
        ext(EXT_CONSTRUCTOR_POS_ARGS, "os", "mkdir", [folder]),
        ext(EXT_CONSTRUCTOR_KW_ARGS, "os", "mkdir", {"path": folder}),
        ext(EXT_METHOD_SINGLE_ARG, "os", "path", folder, "mkdir"),
        ext(EXT_METHOD_SINGLE_ARG, "pathlib", "os", folder, "mkdir"),
        ext(EXT_PYDANTIC_V1, "os", "mkdir", {"path": folder}),
        ext(EXT_PYDANTIC_V2, "os", "mkdir", {"path": folder}, "model_validate_json"),
    ]
    nested = ext(EXT_CONSTRUCTOR_SINGLE_ARG, "builtins", "set", [calls[0]])
    listed = ormsgpack.packb([ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", folder)))])
    lc = {"lc": 2, "type": "constructor", "id": ["os", "mkdir"], "args": [folder]}
    return [
        *(("msgpack", one) for one in [*calls, nested, listed]),
        ("json", json.dumps(lc).encode()),
        ("json", json.dumps({**lc, "lc": 1}).encode()),
        ("pickle", pickle.dumps(Calls(folder))),
    ]


class Attacker(JsonPlusSerializer):
    """Stores given bytes where the value `EVIL` is."""

    def __init__(self, form: tuple[str, bytes], place: str) -> None:
        super().__init__()
        self.form, self.place = form, place

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        is_metadata = isinstance(value, dict) and "source" in value
        is_content = isinstance(value, dict) and "channel_versions" in value
        is_here = {"value": value == "EVIL", "metadata": is_metadata, "content": is_content}
        return self.form if is_here[self.place] else super().dumps_typed(value)


def serializers() -> list[Any]:
    return [
        None,
        JsonPlusSerializer(),
        Masking(),
        EncryptedSerializer.from_pycryptodome_aes(key=KEY),
        JsonPlusSerializer(allowed_msgpack_modules=[Plan]),
    ]


def put(saver: MilepostSaver, value: Any) -> Any:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"x": value}
    checkpoint["channel_versions"] = {"x": "1"}
    return saver.put(CONFIG, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {"x": "1"})


def read_all(saver: MilepostSaver, config: Any) -> None:
    """Reads in each way, whatever each says."""

    async def both() -> None:
        await saver.aget_tuple(config)
        async for _ in saver.alist(CONFIG):
            pass
        await saver.aget_delta_channel_history(config=config, channels=["x"])

    for way in (
        lambda: saver.get_tuple(config),
        lambda: list(saver.list(CONFIG)),
        lambda: list(saver.list(None)),
        lambda: saver.get_delta_channel_history(config=config, channels=["x"]),
        lambda: saver.copy_thread("t", "other"),
        lambda: asyncio.run(both()),
    ):
        try:
            way()
        except Exception:
            pass  # Bytes that are no checkpoint may be refused.


@pytest.mark.parametrize("place", ["value", "metadata", "content", "write"])
def test_no_form_of_a_serializer_calls_what_a_store_names(shared, tmp_path, place):
    called = tmp_path / "called"
    for number, form in enumerate(forms(str(called))):
        for task in list(shared.tasks()):
            shared.delete_task(task.id)
        writer = MilepostSaver(shared)
        writer.serde = Attacker(form, "value" if place == "write" else place)
        config = put(writer, "fine" if place == "write" else "EVIL")
        if place == "write":
            writer.put_writes(config, [("x", "EVIL")], "w")
        for serde in serializers():
            read_all(MilepostSaver(shared, serde=serde), config)
            assert not called.exists(), f"form {number} with {serde}"


def test_the_attack_works_on_a_serializer_that_admits_every_module(tmp_path):
    called = tmp_path / "called"
    JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(forms(str(called))[0])
    assert called.exists()


def test_types_that_the_user_lists_come_back_and_others_as_their_content(shared):
    listed = JsonPlusSerializer(allowed_msgpack_modules=[Plan])
    config = put(MilepostSaver(shared, serde=listed), Plan("go"))

    def value(serde: Any) -> Any:
        found = MilepostSaver(shared, serde=serde).get_tuple(config)
        return found.checkpoint["channel_values"]["x"]

    assert value(listed) == Plan("go")
    assert value(None) == value(JsonPlusSerializer()) == {"goal": "go"}


def test_encrypted_values_come_back_through_a_serializer_made_strict(shared):
    serde = EncryptedSerializer.from_pycryptodome_aes(key=KEY)
    config = put(MilepostSaver(shared, serde=serde), ["a", {"b": 1}])
    other = EncryptedSerializer.from_pycryptodome_aes(key=KEY)
    found = MilepostSaver(shared, serde=other).get_tuple(config)
    assert found.checkpoint["channel_values"]["x"] == ["a", {"b": 1}]
