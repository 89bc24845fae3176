"""Conversations of pydantic-ai: the five methods, real runs, and what a log adds to them."""

import asyncio
import dataclasses
import datetime

import pytest

pytest.importorskip("pydantic_ai.conversation_store")

from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, RunUsage
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel

import milepost
from milepost.pydantic import MilepostConversationStore


def said(text):
    return ModelRequest(parts=[UserPromptPart(content=text)])


def texts(messages):
    return [part.content for message in messages for part in message.parts]


def echo(messages, info):
    return ModelResponse(parts=[TextPart(f"re: {texts(messages)[-1]}")])


def chain(count, parent=None):
    entries = []
    for number in range(count):
        entries.append(ConversationEntry(parent_id=parent, message=said(f"{number}")))
        parent = entries[-1].id
    return entries


@pytest.fixture(params=["milepost", "memory"])
async def either(request, async_store):
    """Our store, and that of the SDK: what holds for one has to hold for the other."""
    if request.param == "memory":
        return InMemoryConversationStore()
    return MilepostConversationStore(async_store)


async def test_runs_of_an_agent_are_a_conversation(either):
    agent = Agent(FunctionModel(echo))
    for prompt in ("one", "two", "three"):
        conversation = await either.load("c") or Conversation(conversation_id="c")
        await either.save(await agent.run(prompt, conversation=conversation))
    loaded = await either.load("c")
    assert texts(loaded.messages) == ["one", "re: one", "two", "re: two", "three", "re: three"]
    assert loaded.usage.requests == 3
    assert texts((await either.load("c", limit=3)).messages) == ["re: two", "three", "re: three"]
    assert [entry.message for entry in await either.load_entries("c")] == loaded.messages


async def test_a_writer_that_loaded_an_older_revision_conflicts(either):
    await either.save(Conversation(conversation_id="c", messages=[said("one")]))
    first, second = await either.load("c"), await either.load("c")
    first.messages.append(said("first"))
    second.messages.append(said("second"))
    await either.save(first)
    with pytest.raises(ConversationConflict):
        await either.save(second)
    with pytest.raises(ConversationConflict):
        await either.save(Conversation(conversation_id="c"))
    assert texts((await either.load("c")).messages) == ["one", "first"]


async def test_one_of_several_writers_wins_each_revision(folder):
    async with milepost.open_async(folder) as one, milepost.open_async(folder) as two:
        stores = [MilepostConversationStore(one), MilepostConversationStore(two)]
        await stores[0].save(Conversation(conversation_id="c"))

        async def write(number):
            while True:
                conversation = await stores[number % 2].load("c")
                conversation.messages.append(said(f"{number}"))
                try:
                    return await stores[number % 2].save(conversation)
                except ConversationConflict:
                    continue

        await asyncio.gather(*map(write, range(8)))
        loaded = await stores[0].load("c")
    assert sorted(texts(loaded.messages)) == [f"{n}" for n in range(8)]


async def test_of_writers_that_create_one_conversation_one_wins(async_store):
    conversations = MilepostConversationStore(async_store)
    saves = [
        conversations.save(Conversation(conversation_id="c", messages=[said(f"{n}")]))
        for n in range(5)
    ]
    done = await asyncio.gather(*saves, return_exceptions=True)
    assert sorted(isinstance(one, ConversationConflict) for one in done) == [False] + [True] * 4


async def test_a_fork_and_branches_share_the_entries(either):
    messages = [said(f"{n}") for n in range(30)]
    saved = await either.save(Conversation(conversation_id="c", messages=messages))
    fork = await either.fork("c", at=11, new_conversation_id="f")
    fork.messages.append(said("forked"))
    await either.save(fork)
    assert texts((await either.load("f")).messages) == [*[f"{n}" for n in range(11)], "forked"]
    revision = (await either.load("c")).revision
    branch = await either.branch("c", at=5, expected_revision=revision)
    branch.messages.append(said("branched"))
    await either.save(branch)
    assert texts((await either.load("c")).messages) == ["0", "1", "2", "3", "4", "branched"]
    revision = (await either.load("c")).revision
    back = await either.branch("c", from_entry=saved[-1].id, expected_revision=revision)
    assert back.messages == messages
    for entry in (saved[0], saved[7], saved[8], saved[29]):
        assert await either.read_entry(entry.id) == entry


async def test_a_deleted_conversation_is_gone_and_its_forks_are_not(either):
    await either.save(Conversation(conversation_id="c", messages=[said("one")]))
    stale = await either.load("c")
    await either.fork("c", new_conversation_id="f")
    await either.delete("c")
    assert await either.load("c") is None
    assert [record.conversation_id for record in await either.list_conversations()] == ["f"]
    assert texts((await either.load("f")).messages) == ["one"]
    with pytest.raises(ConversationConflict):
        await either.save(stale)
    with pytest.raises(ConversationConflict):
        await either.delete_record("c", expected_revision="x")
    await either.save(Conversation(conversation_id="c", messages=[said("new")]))
    assert texts((await either.load("c")).messages) == ["new"]


async def test_conversations_are_listed_by_scope_the_last_saved_first(either):
    for name, scope in (("a", "ana"), ("b", "ben"), ("c", "ana")):
        await either.save(Conversation(conversation_id=name), scope=scope)
    first = await either.load("a", scope="ana")
    await either.save(first)
    listed = [one.conversation_id for one in await either.list_conversations(scope="ana")]
    assert listed == ["a", "c"]
    assert len(await either.list_conversations(limit=2)) == 2
    assert await either.load("b", scope="ana") is None
    with pytest.raises(UserError):
        await either.fork("b", source_scope="ana")


async def test_a_head_that_is_not_stored_is_a_conflict_and_an_unknown_entry_an_error(either):
    record = ConversationRecord(conversation_id="c", head_id="missing")
    with pytest.raises(ConversationConflict):
        await either.write_record(record, expected_revision=None)
    assert await either.read_record("c") is None
    with pytest.raises(LookupError):
        await either.read_entry("missing")


async def test_a_record_and_its_entries_come_back_as_they_were(either):
    deferred = DeferredToolRequests(
        calls=[ToolCallPart("pay", {"sum": 1.5, "to": None}, tool_call_id="t")],
        approvals=[ToolCallPart("send", '{"a": 1}', tool_call_id="u")],
        metadata={"t": {"reason": "much"}},
    )
    record = ConversationRecord(
        conversation_id="c",
        head_id="e2",
        usage=RunUsage(requests=2, input_tokens=7, details={"cached": 3}),
        deferred_tool_requests=deferred,
        scope="ana",
        forked_from="p",
        forked_at="e0",
        branches=["e1"],
        updated_at=datetime.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc),
    )
    deep = 1
    for _ in range(150):
        deep = [deep]
    binary = BinaryContent(data=bytes(range(256)), media_type="application/pdf")
    entries = [
        ConversationEntry(
            id="e1",
            parent_id=None,
            message=ModelRequest(
                parts=[UserPromptPart(content=["see", binary])], instructions="Be kind."
            ),
        ),
        ConversationEntry(
            id="e2",
            parent_id="e1",
            message=ModelRequest(
                parts=[ToolReturnPart("look", {"rain": [1, 2.0], "deep": deep}, tool_call_id="t")]
            ),
        ),
    ]
    await either.write_record(record, new_entries=entries, expected_revision=None)
    assert await either.read_record("c") == record
    assert [await either.read_entry(one.id) for one in entries] == entries
    assert await either.read_history("e2") == entries


async def test_a_long_history_is_read_in_order_and_from_its_end(async_store):
    conversations = MilepostConversationStore(async_store)
    entries = chain(1203)
    record = ConversationRecord(conversation_id="c", head_id=entries[-1].id)
    await conversations.write_record(record, new_entries=entries, expected_revision=None)
    assert await conversations.read_history(entries[-1].id) == entries
    assert await conversations.read_history(entries[-1].id, limit=3) == entries[-3:]
    assert await conversations.read_history(entries[600].id) == entries[:601]


async def test_names_with_characters_of_addresses_are_kept_apart(async_store):
    conversations = MilepostConversationStore(async_store)
    names = ["a", "a/0", "ana@example.com", "50%", "~", "é"]
    for name in names:
        await conversations.save(Conversation(conversation_id=name, messages=[said(name)]))
    for name in names:
        assert texts((await conversations.load(name)).messages) == [name]
    assert len(await conversations.list_conversations()) == len(names)


async def test_a_restore_brings_an_earlier_save_back_and_later_writers_conflict(async_store):
    conversations = MilepostConversationStore(async_store)
    await conversations.save(Conversation(conversation_id="c", messages=[said("one")]))
    point = await async_store.point("pydantic:c")
    later = await conversations.load("c")
    later.messages.append(said("two"))
    await conversations.save(later)
    fork = await conversations.fork("c", new_conversation_id="f")
    task = await async_store.restore(point.address)
    assert texts((await conversations.load("c")).messages) == ["one"]
    later.messages.append(said("three"))
    with pytest.raises(ConversationConflict):
        await conversations.save(later)
    again = await conversations.load("c")
    again.messages.append(said("other two"))
    await conversations.save(again)
    assert texts((await conversations.load("c")).messages) == ["one", "other two"]
    # The entries of the lineage that was left are still those of the fork.
    assert texts((await conversations.load("f")).messages) == texts(fork.messages) == ["one", "two"]
    await task.undo()
    assert texts((await conversations.load("c")).messages) == ["one", "two"]


async def test_a_deleted_conversation_comes_back_by_a_restore(async_store):
    conversations = MilepostConversationStore(async_store)
    await conversations.save(Conversation(conversation_id="c", messages=[said("one")]))
    point = await async_store.point("pydantic:c")
    await conversations.delete("c")
    await async_store.restore(point.address)
    assert texts((await conversations.load("c")).messages) == ["one"]


async def test_a_save_of_few_messages_is_one_commit_and_a_conflict_leaves_nothing(async_store):
    conversations = MilepostConversationStore(async_store)
    entries = chain(8)
    record = ConversationRecord(conversation_id="c", head_id=entries[-1].id)
    await conversations.write_record(record, new_entries=entries, expected_revision=None)
    task = await async_store.task("pydantic:c")
    assert [one.at async for one in task.checkpoints()] == [10]
    head = await task.head()
    with pytest.raises(ConversationConflict):
        await conversations.write_record(
            dataclasses.replace(record), new_entries=chain(1), expected_revision="other"
        )
    assert await task.head() == head


async def test_a_long_save_that_stops_in_the_middle_leaves_the_conversation_as_it_was(
    async_store, monkeypatch
):
    conversations = MilepostConversationStore(async_store)
    await conversations.save(Conversation(conversation_id="c", messages=[said("one")]))
    loaded = await conversations.load("c")
    loaded.messages.extend(said(f"{n}") for n in range(20))
    append, calls = milepost.AsyncTask.append, []

    async def stops(self, *given, **options):
        calls.append(given)
        if len(calls) == 3:
            raise milepost.UnavailableError("no disk")
        return await append(self, *given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(milepost.AsyncTask, "append", stops)
        with pytest.raises(milepost.UnavailableError):
            await conversations.save(loaded)
    assert texts((await conversations.load("c")).messages) == ["one"]
    await conversations.save(loaded)
    assert len((await conversations.load("c")).messages) == 21


async def test_the_log_has_the_turns_calls_and_tokens_that_the_sdk_counted(async_store):
    def model(messages, info):
        if len(messages) == 1:
            call = ToolCallPart("weather", {"city": "Rome"}, tool_call_id="c1")
            return ModelResponse(parts=[TextPart("I look."), call])
        return ModelResponse(parts=[TextPart("It rains.")])

    agent = Agent(FunctionModel(model))

    @agent.tool_plain
    def weather(city: str) -> str:
        return f"rain in {city}"

    conversations = MilepostConversationStore(async_store)
    result = await agent.run("Shall I go?", conversation=Conversation(conversation_id="trip"))
    await conversations.save(result)
    usage = result.usage
    (summary,) = [one async for one in async_store.summaries()]
    assert summary.title == "Shall I go?"
    assert (summary.calls, summary.failed) == (usage.tool_calls, 0)
    assert (summary.input, summary.output) == (usage.input_tokens, usage.output_tokens)
