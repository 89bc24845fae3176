"""Values that a store returns. Each has what the HTTP API (docs/HTTP.md) returns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, NamedTuple


def _time(us: Any) -> datetime:
    seconds, rest = divmod(int(us), 1_000_000)
    return datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=rest)


def _seconds(us: Any) -> float | None:
    return None if us is None else int(us) / 1_000_000


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def encoded(part: str) -> str:
    """Returns the id of a task, or a label, as a part of an address.

    >>> encoded("ana@x.org/1")
    'ana%40x.org%2F1'
    """
    for character in "%@~/":
        part = part.replace(character, f"%{ord(character):02X}")
    return part


def table(heads: list[str], rows: list[list[Any]], caption: str = "") -> str:
    """Returns an HTML table for notebooks."""
    from html import escape

    cell = "<td style='text-align:left;white-space:pre-wrap'>"
    head = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"{cell}{escape(str(value))}</td>" for value in row) + "</tr>"
        for row in rows
    )
    title = f"<caption style='text-align:left'>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def short(value: Any, most: int = 80) -> str:
    """Returns a value as one line of text, at most `most` characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True)
class Appended:
    """What an append did.

    Attributes:
        first: the offset of the first event.
        head: the head of the lineage behind it: the offset of the next event.
        checkpoint: the id of the checkpoint that was marked behind the events.
        repeated: `True` if an append with the same key did it earlier.
        hash: the chain hash at the head.
        lineage: the lineage that was opened, for a branch.
    """

    first: int
    head: int
    checkpoint: str | None
    repeated: bool
    hash: str = field(repr=False, default="")
    lineage: int | None = None


@dataclass(frozen=True)
class Event:
    """An event of a lineage.

    Attributes:
        offset: its number in the lineage.
        kind: its kind, as `message`.
        body: its fields; `None` if it was erased.
        data: the bytes of an application event with bytes.
        key: the idempotency key that it was appended under.
    """

    offset: int
    lineage: int
    kind: str
    body: Mapping[str, Any] | None
    time: datetime
    user: str | None = None
    actor: str | None = None
    correlation: str | None = None
    key: str | None = None

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Event:
        return cls(
            offset=int(form["offset"]),
            lineage=form["lineage"],
            kind=form["kind"],
            body=form.get("body"),
            time=_time(form["time_us"]),
            user=form.get("user"),
            actor=form.get("actor"),
            correlation=form.get("correlation"),
            key=form.get("key"),
        )

    @property
    def name(self) -> str | None:
        """The name of an application event."""
        return self.body.get("name") if self.body else None

    @property
    def data(self) -> Any:
        """The data of an application event: bytes, or a value."""
        data = self.body.get("data") if self.body else None
        if isinstance(data, dict) and data.keys() == {"base64"}:
            import base64

            try:
                return base64.b64decode(data["base64"], validate=True)
            except (TypeError, ValueError):
                # An object of the program that only looks like bytes.
                return data
        return data


@dataclass(frozen=True)
class Point:
    """A point of a lineage: before the event at its offset."""

    task: str
    lineage: int
    offset: int
    hash: str = field(repr=False)
    address: str
    checkpoint: str | None = None

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Point:
        return cls(
            form["task"],
            form["lineage"],
            int(form["offset"]),
            form["hash"],
            form["address"],
            form.get("checkpoint"),
        )

    def __str__(self) -> str:
        return self.address


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint: a mark on a point of a lineage."""

    id: str
    task: str
    lineage: int
    at: int
    mark: int
    label: str | None
    status: str
    cause: str
    time: datetime
    metadata: Mapping[str, Any] | None
    aliases: tuple[str, ...]
    parent: str | None = field(repr=False)
    hash: str = field(repr=False)

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Checkpoint:
        return cls(
            id=form["id"],
            task=form["task"],
            lineage=form["lineage"],
            at=int(form["at"]),
            mark=int(form["mark"]),
            label=form.get("label"),
            status=form["status"],
            cause=form["cause"],
            time=_time(form["time_us"]),
            metadata=form.get("metadata"),
            aliases=tuple(form.get("aliases") or ()),
            parent=form.get("parent"),
            hash=form["hash"],
        )

    @property
    def address(self) -> str:
        """The address of the checkpoint."""
        return f"@{self.id}"

    def __str__(self) -> str:
        return self.address

    def _row(self) -> list[Any]:
        when = self.time.strftime("%Y-%m-%d %H:%M:%S")
        names = ", ".join(self.aliases) or self.id[:8]
        place = f"{self.lineage}@{self.at}"
        return [names, self.label or "", place, self.status, when, short(self.metadata or {})]

    def _repr_html_(self) -> str:
        return table(_CHECKPOINT, [self._row()], f"checkpoint of {self.task}")


_CHECKPOINT = ["checkpoint", "label", "point", "status", "time", "metadata"]


@dataclass(frozen=True)
class Lineage:
    """A lineage of a task: one line of its history."""

    task: str
    id: int
    type: str
    head: int
    active: bool
    events: int
    opened: datetime
    description: str | None
    parent: tuple[int, int] | None

    @classmethod
    def _of(cls, task: str, form: dict[str, Any]) -> Lineage:
        parent = form.get("parent")
        return cls(
            task=task,
            id=form["id"],
            type=form["type"],
            head=int(form["head"]),
            active=form["active"],
            events=int(form["events"]),
            opened=_time(form["opened_us"]),
            description=form.get("description"),
            parent=(parent["lineage"], int(parent["offset"])) if parent else None,
        )

    @property
    def address(self) -> str:
        """The address of its head."""
        return f"{encoded(self.task)}/{self.id}"

    def __str__(self) -> str:
        return self.address

    def _row(self) -> list[Any]:
        parent = f"{self.parent[0]}@{self.parent[1]}" if self.parent else ""
        active = "active" if self.active else ""
        return [self.id, self.type, parent, self.head, active, self.description or ""]

    def _repr_html_(self) -> str:
        return table(_LINEAGE, [self._row()], f"lineage of {self.task}")


_LINEAGE = ["lineage", "type", "from", "head", "", "description"]


@dataclass(frozen=True)
class TaskInfo:
    """What a list of tasks says of one."""

    id: str
    user: str
    created: datetime
    lineages: int
    active: int
    head: int
    events: int

    @classmethod
    def _of(cls, form: dict[str, Any]) -> TaskInfo:
        return cls(
            id=form["id"],
            user=form["user"],
            created=_time(form["created_us"]),
            lineages=form["lineages"],
            active=form["active"],
            head=int(form["head"]),
            events=int(form["events"]),
        )


class Summary(NamedTuple):
    """A task in a list: what it is about, what it did, and what that took.

    Attributes:
        title: its first message, or the like.
        failed: calls and steps that failed.
        input: tokens of requests, where they were recorded; `None` otherwise.
        output: tokens of answers.
        cost: the recorded cost, in `currency`.
    """

    id: str
    user: str
    title: str | None
    control: str
    steps: int
    calls: int
    failed: int
    events: int
    changed: datetime
    input: int | None = None
    output: int | None = None
    cost: float | None = None
    currency: str | None = None

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Summary:
        usage = form.get("usage") or {}
        counts = {name: int(form[name]) for name in ("steps", "calls", "failed", "events")}
        tokens = {
            name: int(usage[name]) for name in ("input", "output") if usage.get(name) is not None
        }
        return cls(
            id=form["id"],
            user=form["user"],
            title=form.get("title"),
            control=form["control"],
            changed=_time(form["changed_us"]),
            cost=usage.get("cost"),
            currency=usage.get("currency"),
            **counts,
            **tokens,
        )


class Hit(NamedTuple):
    """An event that a search found.

    Attributes:
        text: its line, as `milepost log` has it.
    """

    address: str
    task: str
    kind: str
    text: str

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Hit:
        row = form["row"]
        return cls(form["address"], form["task"], row["kind"], row["text"])


class TurnCall(NamedTuple):
    """A call of a tool in a turn.

    Attributes:
        arguments: the arguments in brief.
        ok: whether it returned well; `None` if its result is missing.
        result: the output on one line.
        seconds: the time from the call to its return.
        at: the offset of the call.
    """

    call: str
    tool: str
    arguments: str
    ok: bool | None
    result: str | None
    seconds: float | None
    at: int

    @classmethod
    def _of(cls, form: dict[str, Any]) -> TurnCall:
        return cls(
            form["call"],
            form["tool"],
            form["arguments"],
            form.get("ok"),
            form.get("result"),
            _seconds(form.get("took_us")),
            int(form["at"]),
        )


class CleanedTask(NamedTuple):
    """What a cleanup did to a task, or would do.

    Attributes:
        removed: the number of checkpoints that go.
        kept: the number of those that stay.
        pinned: the number of those that stay because they are pinned.
        dropped: the lineages that go as a whole.
    """

    id: str
    user: str
    removed: int
    kept: int
    pinned: int
    dropped: list[int]

    @classmethod
    def _of(cls, form: dict[str, Any]) -> CleanedTask:
        return cls(
            id=form["id"],
            user=form["user"],
            removed=int(form["go"]),
            kept=int(form["stay"]),
            pinned=int(form["pinned"]),
            dropped=[int(lineage) for lineage in form["dropped"]],
        )


class Turn(NamedTuple):
    """A line of a run as a person reads it: see docs/READING.md. Its texts have one line each.

    Attributes:
        number: its number in the lineage, from 0.
        first: the offset of its first event.
        next: the offset after its last event.
        said: what the assistant said.
        calls: the first calls, at most 1,000.
        heard: the last message of another role.
        failed: the reason of a failure.
        usage: the tokens and the cost of its answers.
        label: the label of a mark in it or behind it.
    """

    number: int
    step: int | None
    name: str | None
    first: int
    next: int
    time: datetime
    seconds: float | None
    said: str | None
    calls: list[TurnCall]
    heard: str | None
    failed: str | None
    metrics: Mapping[str, float]
    usage: Mapping[str, Any]
    label: str | None

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Turn:
        step = form.get("step")
        return cls(
            number=int(form["number"]),
            step=None if step is None else int(step),
            name=form.get("name"),
            first=int(form["first"]),
            next=int(form["next"]),
            time=_time(form["time_us"]),
            seconds=_seconds(form.get("took_us")),
            said=form.get("said"),
            calls=[TurnCall._of(call) for call in form.get("calls") or ()],
            heard=form.get("heard"),
            failed=form.get("failed"),
            metrics={name: float(value) for name, value in (form.get("metrics") or {}).items()},
            usage=form.get("usage") or {},
            label=(form.get("mark") or {}).get("label"),
        )


class Aligned(NamedTuple):
    """A line of a comparison.

    Attributes:
        op: `same`, `said` (otherwise), `changed`, `only_a`, `only_b` or `moved`.
        a: the turn of the first history.
        b: the turn of the second one.
    """

    op: str
    a: Turn | None
    b: Turn | None

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Aligned:
        a, b = (form.get(side) and Turn._of(form[side]) for side in "ab")
        return cls(form["op"], a or None, b or None)


@dataclass(frozen=True)
class Comparison:
    """Two histories, turn by turn.

    Attributes:
        common: the number of turns that are the same at the beginning.
        counts: the number of lines of each kind.
        lines: all lines.
    """

    common: int
    counts: Mapping[str, int]
    lines: list[Aligned]


@dataclass(frozen=True)
class Change:
    """A change between two states: a JSON pointer, and the values before and after it."""

    path: str
    kind: str
    before: Any = None
    after: Any = None

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Change:
        return cls(form["path"], form["kind"], form.get("before"), form.get("after"))

    def __str__(self) -> str:
        sign = {"add": "+", "remove": "-"}.get(self.kind, "~")
        if self.kind == "replace":
            return f"{sign} {self.path}: {short(self.before, 40)} -> {short(self.after, 40)}"
        return f"{sign} {self.path}: {short(self.after if self.kind == 'add' else self.before)}"


class Diff(list[Change]):
    """The changes between two states, in the order of their paths.

    Attributes:
        more: `True` if there are more changes than the list has.
    """

    more: bool = False

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Diff:
        diff = cls(Change._of(item) for item in form["items"])
        diff.more = form["more"]
        return diff

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no change"

    def _repr_html_(self) -> str:
        rows = [[one.kind, one.path, short(one.before), short(one.after)] for one in self]
        return table(["", "path", "before", "after"], rows)


@dataclass(frozen=True)
class Blame:
    """The events that set a part of a state, newest first."""

    value: Any
    changes: list[Mapping[str, Any]]
    before_oldest: bool

    @classmethod
    def _of(cls, form: dict[str, Any]) -> Blame:
        return cls(form.get("value"), form["changes"], form["before_oldest"])

    def _repr_html_(self) -> str:
        rows = [
            [
                one["point"],
                one["kind"],
                one["time"],
                short(one.get("before")),
                short(one.get("after")),
            ]
            for one in self.changes
        ]
        return table(["point", "event", "time", "before", "after"], rows)


class Step:
    """A step of a run that is being worked on.

    Attributes:
        number: its number in the run, from 1.
        metrics: measured values, recorded with the end of the step.
        result: a value of JSON, recorded with the end of the step.
        ends_run: whether the run ends with this step.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.metrics: dict[str, float] = {}
        self.result: Any = None
        self.ends_run = False

    def __repr__(self) -> str:
        return f"<milepost.Step {self.number}>"

    def end_run(self) -> None:
        """Ends the run with this step."""
        self.ends_run = True


@dataclass(frozen=True)
class Attachment:
    """Data attached to a checkpoint by its alias.

    Attributes:
        writer: who wrote it.
        index: the writer's number of it. From 0 on the first one counts, below 0 the last one.
        data: bytes, or a value.
        name: its name, which may be empty.
    """

    writer: str
    index: int
    data: Any
    name: str = ""


@dataclass(frozen=True)
class Bisected:
    """The result of a bisection: the last good checkpoint, and the first bad one."""

    good: Checkpoint
    bad: Checkpoint
    tested: int
