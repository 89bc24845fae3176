"""Serializers of LangGraph that build no object that the user did not list.

The bytes of a checkpoint are not the user's alone: a token of a task, a store in a cloned folder
and an import write them. LangGraph's MessagePack names a module and a callable for each object, and
calls whatever is named, unless the serializer has a list.
"""

from __future__ import annotations

import copy

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer


def strict(serde: SerializerProtocol | None) -> SerializerProtocol:
    """Returns the serializer, with LangGraph's own types for one that admits every module.

    `JsonPlusSerializer()` admits every module, and so does an `EncryptedSerializer` around it: it
    reads what is not encrypted, too.
    """
    own = JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=None)
    if serde is None:
        return own
    if isinstance(serde, EncryptedSerializer):
        inner = strict(serde.serde)
        if inner is serde.serde:
            return serde
        encrypted = copy.copy(serde)
        encrypted.serde = inner
        return encrypted
    if isinstance(serde, JsonPlusSerializer) and serde._allowed_msgpack_modules is True:
        # As `with_msgpack_allowlist` clones, which returns this one as it is.
        listed = copy.copy(serde)
        listed._allowed_msgpack_modules = own._allowed_msgpack_modules
        if not listed._custom_unpack_ext_hook:
            listed._unpack_ext_hook = own._unpack_ext_hook
        return listed
    return serde
