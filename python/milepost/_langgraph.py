"""Forms of LangGraph's threads, checkpoints and writes in a store."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from langgraph.checkpoint.base import (
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ._milepost import alias as alias
from .values import Checkpoint

PREFIX = "lg:"

# A mark takes 64 KiB of metadata.
METADATA_MAX = 60_000

# The key of the metadata with the channels that later checkpoints are rebuilt from.
DELTAS: Final = "counters_since_delta_snapshot"

# What orders checkpoints of all namespaces is not their order in the store.
ALL = 2**31 - 1


def task(thread: str) -> str:
    """Returns the id of a thread's task."""
    return f"{PREFIX}{thread}"


def thread(task: str) -> str:
    """Returns the thread of a task."""
    return task[len(PREFIX) :]


def place(config: Any) -> tuple[str, str, Any]:
    """Returns thread, namespace and id of a checkpoint; the id may be `None`."""
    configurable = config["configurable"]
    namespace = configurable.get("checkpoint_ns") or ""
    return str(configurable["thread_id"]), namespace, get_checkpoint_id(config)


def config_of(thread: str, namespace: str, id: str) -> Any:
    """Returns the config of a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id}}


def config_of_all(task: str) -> Any:
    """Returns the config of all checkpoints of a thread, by its task."""
    return {"configurable": {"thread_id": thread(task)}}


def write(value: tuple[str, bytes], path: str) -> bytes:
    """Returns the bytes of a write: encoding, path of the task, value."""
    encoding, content = value
    return b"\0".join((encoding.encode(), path.encode(), content))


class Put:
    """A checkpoint to put: which values are serialized, and which are the parent's."""

    def __init__(
        self, serde: SerializerProtocol, config: Any, checkpoint: Any, metadata: Any, new: Any
    ) -> None:
        self._serde = serde
        self._values = checkpoint["channel_values"]
        self._versions = checkpoint["channel_versions"]
        self._new = {name for name in self._values if name in new or name not in self._versions}
        thread, namespace, parent = place(config)
        self.config = config_of(thread, namespace, checkpoint["id"])
        self._place = (task(thread), namespace, checkpoint["id"], parent)
        content = {name: part for name, part in checkpoint.items() if name != "channel_values"}
        self._content = (
            serde.dumps_typed(content),
            serde.dumps_typed(metadata),
            _filtered(metadata),
            _step(metadata),
        )
        self._given: list[Any] = [self._value(name) for name in self._values]

    def _value(self, name: str) -> Any:
        version = json.dumps(self._versions.get(name))
        value = self._serde.dumps_typed(self._values[name]) if name in self._new else None
        return name, version, value

    def parts(self) -> Any:
        """Returns what the native part takes."""
        return self._place, self._content, self._given

    def give(self, names: list[str]) -> None:
        """Serializes values that the parent does not have."""
        self._new.update(names)
        self._given = [
            self._value(given[0]) if given[0] in names else given for given in self._given
        ]


def _step(metadata: Any) -> Any:
    step = metadata.get("step")
    if not isinstance(step, int) or step < 0:
        return None
    source = metadata.get("source")
    return step, source if isinstance(source, str) else None


def _scalars(metadata: Any) -> dict[str, Any]:
    """Returns the values that the store can compare: no list, no long text, no NaN."""
    kinds = (str, int, float, bool, type(None))
    return {
        name: value
        for name, value in metadata.items()
        if isinstance(name, str)
        and isinstance(value, kinds)
        and (not isinstance(value, float) or math.isfinite(value))
        and len(json.dumps(value)) < 4096
    }


def _is_utf8(value: Any) -> bool:
    """Returns whether a value is a text without half a surrogate pair."""
    return isinstance(value, str) and not any("\ud800" <= one <= "\udfff" for one in value)


def _filtered(metadata: Any) -> str | None:
    """Returns the metadata as JSON for filters: its scalars if JSON cannot have all of it, and the
    shortest of them if there is no room for all. It says in any case whether there are deltas."""
    try:
        text = json.dumps(metadata, allow_nan=False)
        if len(text) <= METADATA_MAX:
            return text
    except (TypeError, ValueError):
        pass
    fitting: dict[str, Any] = {DELTAS: True} if metadata.get(DELTAS) else {}
    room = METADATA_MAX - len(json.dumps(fitting))
    for name, value in sorted(_scalars(metadata).items(), key=lambda one: len(json.dumps(one))):
        room -= len(json.dumps({name: value})) + 2
        if room < 0:
            break
        fitting[name] = value
    return json.dumps(fitting)


def tuple_of(serde: SerializerProtocol, thread: str, found: Any) -> CheckpointTuple:
    """Converts a checkpoint of the native part."""
    namespace, id, parent, content, metadata, channels, attached = found
    checkpoint = serde.loads_typed(content)
    checkpoint["channel_values"] = {
        name: value if isinstance(value, list) else serde.loads_typed(value)
        for name, value in channels
    }
    return CheckpointTuple(
        config=config_of(thread, namespace, id),
        checkpoint=checkpoint,
        metadata=serde.loads_typed(metadata),
        parent_config=config_of(thread, namespace, parent) if parent else None,
        pending_writes=_writes(serde, attached),
    )


def _writes(serde: SerializerProtocol, attached: Any) -> list[tuple[str, str, Any]]:
    writes = []
    for writer, index, channel, data in attached:
        encoding, path, value = data.split(b"\0", 2)
        key = writes_sort_key(path.decode(), writer, index)
        writes.append((key, (writer, channel, serde.loads_typed((encoding.decode(), value)))))
    writes.sort(key=lambda one: one[0])
    return [one for _, one in writes]


def history(
    serde: SerializerProtocol, ancestors: list[Any], channels: Sequence[str]
) -> dict[str, DeltaChannelHistory]:
    """Returns the value that each channel begins with, and its writes, of ancestors of which the
    parent is the first."""
    found: dict[str, DeltaChannelHistory] = {name: {"writes": []} for name in channels}
    for *_, values, attached in reversed(ancestors):
        for name, value in values:
            found[name]["seed"] = serde.loads_typed(value)
        for write in _writes(serde, attached):
            found[write[1]]["writes"].append(write)
    return found


def id_of(found: CheckpointTuple) -> str:
    """Returns the id of a checkpoint."""
    return found.checkpoint["id"]


def first(found: Iterator[CheckpointTuple], limit: int | None) -> Iterator[CheckpointTuple]:
    """Returns the first checkpoints."""
    return found if limit is None else itertools.islice(found, limit)


class List:
    """A list of checkpoints, asked for page by page."""

    def __init__(self, config: Any, filter: Any, before: Any, limit: int | None, page: int) -> None:
        configurable = config["configurable"]
        self._thread = str(configurable["thread_id"])
        self._namespace = configurable.get("checkpoint_ns")
        self._id = get_checkpoint_id(config)
        self._before = get_checkpoint_id(before) if before else None
        self._filter = filter or {}
        self._left = limit
        self._page = page if self._namespace is not None else ALL
        self._ended = limit is not None and limit <= 0

    def next(self) -> Any:
        """Returns the next request, or `None`."""
        if self._ended:
            return None
        # The store compares texts. What a filter has more is compared here: in Python an absent
        # value is None, and 1, 1.0 and True are equal.
        scalars = _scalars(self._filter).items()
        texts = {name: one for name, one in scalars if _is_utf8(name) and _is_utf8(one)}
        text = json.dumps(texts) if texts else None
        most = self._page
        if self._left is not None and len(texts) == len(self._filter) and self._id is None:
            most = min(most, self._left)
        before = self._before
        if self._id is not None and (before is None or self._id < before):
            before = f"{self._id}\0"
        return task(self._thread), self._namespace, before, text, most

    def take(self, serde: SerializerProtocol, found: list[Any]) -> Iterator[CheckpointTuple]:
        """Returns the checkpoints of an answer that fit."""
        asked = self.next()
        self._ended = len(found) < asked[-1] or self._namespace is None or self._id is not None
        for one in found:
            self._before = one[1]
            if self._id is not None and one[1] != self._id:
                continue
            one = tuple_of(serde, self._thread, one)
            if any(one.metadata.get(name) != value for name, value in self._filter.items()):
                continue
            yield one
            if self._left is not None:
                self._left -= 1
                if self._left == 0:
                    self._ended = True
                    return


def tasks_of(found: list[Any]) -> list[str]:
    """Returns the tasks of threads that checkpoints are of."""
    return sorted({one.task for one in found if one.task.startswith(PREFIX)})


def _namespace_of(found: CheckpointTuple) -> str:
    return found.config["configurable"]["checkpoint_ns"]


def _key_of(found: CheckpointTuple) -> tuple[str, str]:
    return _namespace_of(found), id_of(found)


def _parent_of(found: CheckpointTuple) -> Any:
    return found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None


def parents_first(found: list[CheckpointTuple]) -> list[CheckpointTuple]:
    """Returns checkpoints so that each parent is before its children."""
    by_id = {_key_of(one): one for one in found}
    ordered: dict[tuple[str, str], CheckpointTuple] = {}
    for one in sorted(found, key=id_of):
        chain = []
        key = _key_of(one)
        while key in by_id and key not in ordered and key not in chain:
            chain.append(key)
            key = (key[0], _parent_of(by_id[key]))
        for key in reversed(chain):
            ordered[key] = by_id[key]
    return list(ordered.values())


def alias_of(found: CheckpointTuple) -> str:
    """Returns the alias of a checkpoint."""
    return alias(_namespace_of(found), id_of(found))


def copied(found: CheckpointTuple, thread: str) -> tuple[Any, Any, Any, Any]:
    """Returns the arguments of `put` for a copy in a thread."""
    parent: Any = config_of(thread, _namespace_of(found), _parent_of(found))
    return parent, found.checkpoint, found.metadata, found.checkpoint["channel_versions"]


def removes_all(strategy: str) -> bool:
    """Returns whether a strategy of pruning removes everything."""
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"the strategies are 'keep_latest' and 'delete', not {strategy!r}")
    return strategy == "delete"


def pruned(found: list[CheckpointTuple], marks: Iterable[Checkpoint]) -> list[str]:
    """Returns the ids of the marks that pruning removes: those of the checkpoints that were found,
    but for the newest of each namespace, and those that a `DeltaChannel` of it is rebuilt from."""
    newest: dict[str, CheckpointTuple] = {}
    for one in sorted(found, key=id_of):
        newest[_namespace_of(one)] = one
    gone = _unneeded(found, list(newest.values()))
    return [mark.id for mark in marks if gone.intersection(mark.aliases)]


def has_deltas(marks: Iterable[Checkpoint]) -> bool:
    """Returns whether checkpoints have a `DeltaChannel`."""
    return any((mark.metadata or {}).get(DELTAS) for mark in marks)


def of_a_run(found: list[CheckpointTuple], run: str) -> list[str]:
    """Returns the aliases of a run's checkpoints, but for those that a `DeltaChannel` of another
    run is rebuilt from."""
    return sorted(_unneeded(found, [one for one in found if one.metadata.get("run_id") != run]))


def _unneeded(found: list[CheckpointTuple], stay: list[CheckpointTuple]) -> set[str]:
    """Returns the aliases of the checkpoints that were found and that those that stay do not
    need."""
    by_id = {_key_of(one): one for one in found}
    # The channels that each needed checkpoint and its ancestors are already needed for.
    needed: dict[tuple[str, str], set[str]] = {}
    for one in stay:
        needed.setdefault(_key_of(one), set())
        deltas = set(one.metadata.get(DELTAS) or ())
        deltas -= one.checkpoint["channel_values"].keys()
        while deltas and (key := (_namespace_of(one), _parent_of(one))) in by_id:
            deltas -= needed.get(key, set())
            needed.setdefault(key, set()).update(deltas)
            one = by_id[key]
            deltas -= one.checkpoint["channel_values"].keys()
    return {alias(*key) for key in by_id.keys() - needed.keys()}
