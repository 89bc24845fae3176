"""Nine edits of a closed store by somebody who knows docs/FORMAT.md, and has not its key.

An edit changes puts (a commit each) of the journal. Whatever can be computed without a key is
computed anew: offsets, chain hashes, ids of checkpoints that marks name as parents, numbers and
checks of the frames, the acknowledged commit. The index is removed, so that it is built of this.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from blake3 import blake3

CONTROL = 2**32 - 1
MARKED, OPENED, CREATED = 17, 257, 256
CLOSED = 1


class Reader:
    """Reads the variable encoding."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, count: int) -> bytes:
        taken = self.content[self.at : self.at + count]
        assert len(taken) == count
        self.at += count
        return taken

    def number(self) -> int:
        first = self.take(1)[0]
        if first <= 250:
            return first
        return int.from_bytes(self.take({251: 2, 252: 4, 253: 8}[first]), "little")

    def bytes(self) -> bytes:
        return self.take(self.number())

    def option(self, read: Callable[[], Any]) -> Any:
        return read() if self.number() else None

    def ended(self) -> bool:
        return self.at == len(self.content)


def number(value: int) -> bytes:
    for marker, size in ((251, 2), (252, 4), (253, 8)):
        if value <= 250:
            return bytes([value])
        if value < 1 << (8 * size):
            return bytes([marker]) + value.to_bytes(size, "little")
    raise ValueError(value)


def prefixed(content: bytes) -> bytes:
    return number(len(content)) + content


def option(value: Any, write: Callable[[Any], bytes] = bytes) -> bytes:
    return b"\0" if value is None else b"\1" + write(value)


def check(content: bytes) -> bytes:
    return blake3(content).digest()[:16]


@dataclass
class Record:
    header: bytes
    form: int
    payload: bytes

    @property
    def kind(self) -> int:
        return Reader(self.header).number()

    @property
    def time(self) -> int:
        reader = Reader(self.header)
        reader.number()
        return reader.number()

    def encoded(self) -> bytes:
        return prefixed(self.header) + bytes([self.form]) + prefixed(self.payload)


@dataclass
class Mark:
    """The body of a `checkpoint_marked`."""

    at: tuple[int, bytes] | None
    parent: bytes | None
    label: bytes | None
    cause: int
    status: int
    metadata: bytes | None
    aliases: list[bytes]

    @classmethod
    def read(cls, payload: bytes) -> Mark:
        r = Reader(payload)
        at = r.option(lambda: (r.number(), r.take(32)))
        parent = r.option(lambda: r.take(32))
        label = r.option(r.bytes)
        cause, status = r.number(), r.number()
        metadata = r.option(r.bytes)
        mark = cls(
            at, parent, label, cause, status, metadata, [r.bytes() for _ in range(r.number())]
        )
        assert r.ended() and mark.encoded() == payload
        return mark

    def encoded(self) -> bytes:
        return b"".join(
            (
                option(self.at, lambda head: number(head[0]) + head[1]),
                option(self.parent),
                option(self.label, prefixed),
                number(self.cause) + number(self.status),
                option(self.metadata, prefixed),
                number(len(self.aliases)) + b"".join(map(prefixed, self.aliases)),
            )
        )

    def id(self, origin: bytes, lineage: int, at: tuple[int, bytes], own: int, time: int) -> bytes:
        def text(value: bytes | None) -> bytes:
            return struct.pack("<BQ", value is not None, len(value or b"")) + (value or b"")

        parts = [b"milepost.mark.1\0", origin, struct.pack("<IQ", lineage, at[0]), at[1]]
        parts += [struct.pack("<Q", own), self.parent or bytes(32), struct.pack("<Q", time)]
        parts += [bytes([self.cause, self.status]), text(self.label), text(self.metadata)]
        parts += [struct.pack("<Q", len(self.aliases)), *map(text, self.aliases)]
        return sha256(b"".join(parts)).digest()


@dataclass
class Batch:
    """Records of one append to one log."""

    task: int
    log: int
    first: int
    salts: tuple[bytes, int] | list[bytes]
    records: list[Record]

    def salt(self, position: int) -> bytes:
        if isinstance(self.salts, list):
            return self.salts[position]
        seed, index = self.salts
        counted = struct.pack("<Q", index + position)
        return blake3(b"milepost.salt.1\0" + seed + counted).digest()[:16]

    def encoded(self, commit: int) -> bytes:
        if isinstance(self.salts, list):
            salts, listed = b"\1", b"".join(self.salts)
        else:
            salts, listed = b"\0" + self.salts[0] + number(self.salts[1]), b""
        place = number(self.task) + number(self.log) + number(self.first)
        records = b"".join(record.encoded() for record in self.records)
        count = number(len(self.records))
        return place + number(commit) + salts + count + listed + prefixed(records)


@dataclass
class Commit:
    flags: int
    batches: list[Batch]

    def replaced(self, *pairs: tuple[bytes, bytes], task: int | None = None) -> Commit:
        """Returns the commit with other bytes of the same length."""
        made = []
        for batch in self.batches:
            records = []
            for record in batch.records:
                payload = record.payload
                for number, (old, new) in enumerate(pairs):
                    assert len(old) == len(new)
                    payload = payload.replace(old, b"\0%d\0" % number)
                for number, (_, new) in enumerate(pairs):
                    payload = payload.replace(b"\0%d\0" % number, new)
                records.append(Record(record.header, record.form, payload))
            into = batch.task if task is None else task
            made.append(Batch(into, batch.log, batch.first, batch.salts, records))
        return Commit(self.flags, made)


def batches(payload: bytes) -> list[Batch]:
    r = Reader(payload)
    found = []
    while not r.ended():
        task, log, first, _ = (r.number() for _ in range(4))
        salts: Any
        if r.number():
            count = r.number()
            salts = [r.take(16) for _ in range(count)]
        else:
            salts = (r.take(16), r.number())
            count = r.number()
        section = Reader(r.bytes())
        records = []
        for _ in range(count):
            header, form = section.bytes(), section.take(1)[0]
            records.append(Record(header, form, section.bytes()))
        assert section.ended()
        found.append(Batch(task, log, first, salts, records))
    return found


class Journal:
    """The journal of a small store: one segment, no archive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (self.path,) = (folder / "journal").glob("*.seg")
        assert not list(folder.glob("archive/*"))
        content = self.path.read_bytes()
        self.segment = content[:4096]
        self.epoch = self.segment[32:40]
        self.size = len(content)
        self.commits: list[Commit] = []
        self.ends: list[int] = []
        at, prev = 4096, bytes(16)
        while content[at + 16 : at + 20] == b"MPFR":
            length, seq = struct.unpack_from("<IQ", content, at + 20)
            if content[at + 32 : at + 40] != self.epoch or content[at + 48 : at + 64] != prev:
                break
            assert seq == len(self.commits) + 1
            (flags,) = struct.unpack_from("<I", content, at + 40)
            payload = content[at + 64 : at + 64 + length]
            self.commits.append(Commit(flags, batches(payload)))
            prev = content[at : at + 16]
            at += -(-(64 + length) // 8) * 8
            self.ends.append(at)

    def puts(self, task: int) -> list[int]:
        """Returns the numbers of the commits with a mark in a task, oldest first."""
        return [
            number
            for number, commit in enumerate(self.commits)
            for batch in commit.batches
            if batch.task == task and any(record.kind == MARKED for record in batch.records)
        ]

    def task(self, name: bytes) -> int:
        for commit in self.commits:
            for batch in commit.batches:
                for record in batch.records:
                    if record.kind == OPENED and batch.task == 0:
                        r = Reader(record.payload)
                        task = r.number()
                        if r.bytes() == name:
                            return task
        raise KeyError(name)

    def renew(self) -> None:
        """Computes what depends on the records before: offsets, chain hashes, parents of marks."""
        for mark, record, _, _, head, parent in self._marks():
            if mark.at is not None:
                mark.at = head
            mark.parent = parent
            record.payload = mark.encoded()

    def ids(self) -> dict[bytes, bytes]:
        """Returns the ids of marks by their first aliases."""
        return {
            mark.aliases[0]: mark.id(origin, log, mark.at or head, head[0], record.time)
            for mark, record, origin, log, head, _ in self._marks()
        }

    def _marks(self) -> Iterator[tuple[Mark, Record, bytes, int, tuple[int, bytes], bytes | None]]:
        """Returns marks with the head before each and the id of the mark before it."""
        origins: dict[int, bytes] = {}
        heads: dict[tuple[int, int], tuple[int, bytes]] = {}
        parents: dict[tuple[int, int], bytes] = {}
        for commit in self.commits:
            for batch in commit.batches:
                key = (batch.task, batch.log)
                for position, record in enumerate(batch.records):
                    self._opened(record, batch, origins)
                    origin = origins[batch.task]
                    if key not in heads:
                        root = b"milepost.root.1\0" + origin + struct.pack("<I", batch.log)
                        heads[key] = (0, blake3(root).digest())
                    head = heads[key]
                    if position == 0:
                        batch.first = head[0]
                    if record.kind == MARKED:
                        mark = Mark.read(record.payload)
                        yield mark, record, origin, batch.log, head, parents.get(key)
                        at = mark.at or head
                        parents[key] = mark.id(origin, batch.log, at, head[0], record.time)
                    heads[key] = after(head, record, batch, position, origin)

    @staticmethod
    def _opened(record: Record, batch: Batch, origins: dict[int, bytes]) -> None:
        if batch.task == 0 and record.kind == CREATED:
            origins[0] = record.payload[:16]
        if batch.task == 0 and record.kind == OPENED:
            r = Reader(record.payload)
            task = r.number()
            r.bytes(), r.bytes()
            origins[task] = r.take(16)

    def write(self) -> None:
        """Writes the journal and the acknowledged commit, and removes the index."""
        self.renew()
        content = bytearray(self.segment)
        prev = bytes(16)
        for seq, commit in enumerate(self.commits, 1):
            payload = b"".join(batch.encoded(seq) for batch in commit.batches)
            rest = b"MPFR" + struct.pack("<IQ", len(payload), seq) + self.epoch
            rest += struct.pack("<II", commit.flags, 0) + prev + payload
            prev = check(rest)
            content += prev + rest
            content += bytes(-len(content) % 8)
        self._end(content, len(self.commits))

    def cut(self, count: int) -> None:
        """Cuts the journal behind a commit, and keeps the bytes before."""
        self._end(bytearray(self.path.read_bytes()[: self.ends[count - 1]]), count)

    def _end(self, content: bytearray, seq: int) -> None:
        self.path.write_bytes(content + bytes(max(0, self.size - len(content))))
        acked = (self.folder / "acked").read_bytes()
        acked = acked[:24] + struct.pack("<Q", seq) + acked[32:48]
        (self.folder / "acked").write_bytes(acked + check(acked))
        shutil.rmtree(self.folder / "sled")
        (self.folder / "sled-closed").unlink(missing_ok=True)


def after(
    head: tuple[int, bytes], record: Record, batch: Batch, position: int, origin: bytes
) -> tuple[int, bytes]:
    """Returns the next offset and the chain hash behind a record."""
    if record.form == 2:
        body = record.payload
    else:
        salted = batch.salt(position) + bytes([record.form]) + record.payload
        body = blake3(b"milepost.body.1\0" + salted).digest()
    place = origin + struct.pack("<IQ", batch.log, head[0])
    content = place + head[1] + struct.pack("<I", len(record.header)) + body + record.header
    return head[0] + 1, blake3(b"milepost.event.1" + content).digest()
