"""The session store of the Claude Agent SDK: its own contracts, and what a log adds to them."""

import asyncio
import itertools

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk.testing import run_session_store_conformance

import milepost
from milepost.claude import MilepostSessionStore

KEY = {"project_key": "-home-ana-site", "session_id": "5f0c9c1e-0000-4000-8000-000000000001"}
TASK = "claude:-home-ana-site:5f0c9c1e-0000-4000-8000-000000000001"


def said(uuid, text, role="user", **more):
    message = {"role": role, "content": text, **more}
    return {"type": role, "uuid": uuid, "timestamp": "2026-01-01T00:00:00.000Z", "message": message}


async def test_the_contracts_of_the_sdk_hold(tmp_path):
    numbers = itertools.count()
    opened = []

    def make():
        opened.append(milepost.open_async(tmp_path / f"store-{next(numbers)}"))
        return MilepostSessionStore(opened[-1])

    await run_session_store_conformance(make)
    assert len(opened) == 15  # A probe, and the 14 contracts.
    for store in opened:
        await store.close()


async def test_the_contracts_hold_with_projects_that_share_a_store(async_store):
    """The contracts need empty stores, and names that differ serve as such."""
    numbers = itertools.count()

    class Apart(MilepostSessionStore):
        def __init__(self, store):
            super().__init__(store)
            self.number = next(numbers)

        def named(self, key):
            return {**key, "project_key": f"{self.number}-{key['project_key']}"}

        async def append(self, key, entries):
            await super().append(self.named(key), entries)

        async def load(self, key):
            return await super().load(self.named(key))

        async def delete(self, key):
            await super().delete(self.named(key))

        async def list_subkeys(self, key):
            return await super().list_subkeys(self.named(key))

        async def list_sessions(self, project):
            return await super().list_sessions(f"{self.number}-{project}")

        async def list_session_summaries(self, project):
            return await super().list_session_summaries(f"{self.number}-{project}")

    await run_session_store_conformance(lambda: Apart(async_store))


async def test_an_entry_that_is_sent_again_is_there_once(async_store):
    first = [said("a", "one"), said("b", "two")]
    await MilepostSessionStore(async_store).append(KEY, first)
    sessions = MilepostSessionStore(async_store)
    await sessions.append(KEY, [said("b", "two"), said("c", "three"), said("c", "three")])
    assert [entry["uuid"] for entry in await sessions.load(KEY)] == ["a", "b", "c"]


async def test_a_batch_that_is_sent_again_does_not_repeat_its_entries_without_a_uuid(async_store):
    batch = [said("a", "one"), {"type": "title", "customTitle": "rain"}]
    for _ in range(2):
        await MilepostSessionStore(async_store).append(KEY, batch)
    assert await MilepostSessionStore(async_store).load(KEY) == batch


async def test_entries_without_a_uuid_are_appended_each_time(async_store):
    sessions = MilepostSessionStore(async_store)
    for title in ("rain", "sun", "rain"):
        await sessions.append(KEY, [{"type": "title", "customTitle": title}])
    assert [entry["customTitle"] for entry in await sessions.load(KEY)] == ["rain", "sun", "rain"]
    (summary,) = await sessions.list_session_summaries(KEY["project_key"])
    assert summary["data"]["custom_title"] == "rain"


async def test_two_writers_of_one_session_lose_and_repeat_nothing(folder):
    async with milepost.open_async(folder) as one, milepost.open_async(folder) as two:
        writers = [MilepostSessionStore(one), MilepostSessionStore(two)]
        await asyncio.gather(
            *[
                writers[n % 2].append(KEY, [said(f"{n // 2}", f"{n // 2}"), said(f"own-{n}", "x")])
                for n in range(20)
            ]
        )
        found = [entry["uuid"] for entry in await writers[0].load(KEY)]
    assert sorted(found) == sorted([f"{n}" for n in range(10)] + [f"own-{n}" for n in range(20)])


@pytest.mark.parametrize(
    "entry",
    [
        said("u", "plain"),
        said("u", [{"type": "text", "text": "x"}], role="assistant", id="m", usage={"n": 1.0}),
        said("u", None),
        {"type": "user", "message": "text"},
        {"type": "user", "message": {"content": "no role"}},
        {"type": "x", "message": {"role": "user", "content": {"base64": "YQ=="}}, "null": None},
        {"type": "x", "surrogate": "\ud83d", "zero": "\x00", "big": 2**70, "float": -0.0},
        {"type": "x", "empty": {}, "list": [[], {}, None, True], "": ""},
        {"type": "image", "data": "x" * 3_000_000},
    ],
)
async def test_an_entry_comes_back_as_it_was(async_store, entry):
    sessions = MilepostSessionStore(async_store)
    await sessions.append(KEY, [entry])
    assert await sessions.load(KEY) == [entry]


async def test_an_entry_that_json_of_the_store_refuses_comes_back(async_store):
    deep = 1
    for _ in range(150):
        deep = [deep]
    batch = [said("a", "one"), {"type": "x", "uuid": "b", "deep": deep, "nan": float("inf")}]
    sessions = MilepostSessionStore(async_store)
    await sessions.append(KEY, batch)
    await MilepostSessionStore(async_store).append(KEY, batch)
    assert await sessions.load(KEY) == batch


async def test_a_restored_session_goes_on_from_there_and_undo_brings_the_rest_back(async_store):
    sessions = MilepostSessionStore(async_store)
    await sessions.append(KEY, [said("a", "one")])
    point = await async_store.point(TASK)
    await sessions.append(KEY, [said("b", "two")])
    restored = await async_store.restore(point.address)
    assert [entry["uuid"] for entry in await sessions.load(KEY)] == ["a"]
    await sessions.append(KEY, [said("b", "two, again"), said("a", "one")])
    texts = [entry["message"]["content"] for entry in await sessions.load(KEY)]
    assert texts == ["one", "two, again"]
    await restored.undo()
    texts = [entry["message"]["content"] for entry in await sessions.load(KEY)]
    assert texts == ["one", "two"]


async def test_the_conversation_is_the_state_of_the_task(async_store):
    sessions = MilepostSessionStore(async_store)
    await sessions.append(KEY, [said("a", "Build it."), said("b", "Built.", role="assistant")])
    messages = await async_store.state(TASK, "/messages")
    assert [(one["role"], one["content"]) for one in messages] == [
        ("user", "Build it."),
        ("assistant", "Built."),
    ]


async def test_names_that_are_long_or_odd_are_kept_apart(async_store):
    sessions = MilepostSessionStore(async_store)
    ends = ("a", "b", "/", "%2F", "~", "é", "/a")
    keys = [{"project_key": "p" * 150 + end, "session_id": "s" * 150 + end} for end in ends]
    keys += [{**keys[0], "subpath": "subagents/" + "n" * 150 + end} for end in ends]
    for number, key in enumerate(keys):
        await sessions.append(key, [{"type": "x", "n": number}])
    for number, key in enumerate(keys):
        assert await sessions.load(key) == [{"type": "x", "n": number}]
    assert sorted(await sessions.list_subkeys(keys[0])) == sorted(
        key["subpath"] for key in keys[7:]
    )
    (found,) = await sessions.list_sessions(keys[1]["project_key"])
    assert found["session_id"] == keys[1]["session_id"]


async def test_a_deleted_session_can_be_written_again(async_store):
    sessions = MilepostSessionStore(async_store)
    await sessions.append(KEY, [said("a", "one")])
    await sessions.delete(KEY)
    await sessions.append(KEY, [said("a", "one")])
    assert [entry["uuid"] for entry in await sessions.load(KEY)] == ["a"]
