"""Sessions of the OpenAI Agents SDK: the protocol, real runs, and what a log adds to them."""

import asyncio

import pytest

pytest.importorskip("agents")

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from agents.memory import Session, SQLiteSession
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

import milepost
from milepost.openai import MilepostSession

set_tracing_disabled(True)

HI = {"role": "user", "content": "Hi"}
HELLO = {"role": "assistant", "content": [{"type": "output_text", "text": "Hello", "n": None}]}


def text(content):
    part = ResponseOutputText(text=content, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="m", content=[part], role="assistant", status="completed", type="message"
    )


class Scripted(Model):
    """A model that gives prepared outputs, and keeps its inputs."""

    def __init__(self, *outputs):
        self.outputs = list(outputs)
        self.inputs = []

    async def get_response(self, system_instructions, input, *others, **more):
        self.inputs.append(input)
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *others, **more):
        raise NotImplementedError


@function_tool
def weather(city: str) -> str:
    return f"rain in {city}"


async def test_a_session_is_one_of_the_protocol(async_store):
    session = MilepostSession("s", async_store)
    assert isinstance(session, Session)
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.add_items([])
    await session.add_items([HI, HELLO])
    await session.add_items([{**HI, "content": "Bye"}])
    assert await session.get_items() == [HI, HELLO, {**HI, "content": "Bye"}]
    assert await session.pop_item() == {**HI, "content": "Bye"}
    assert await MilepostSession("s", async_store).get_items() == [HI, HELLO]
    await session.clear_session()
    assert await session.get_items() == []


async def test_limits_are_those_of_the_sessions_of_the_sdk(async_store):
    items = [{"role": "user", "content": f"{n}"} for n in range(5)]
    for settings in (None, {"limit": 2}):
        ours = MilepostSession(f"s-{settings}", async_store, session_settings=settings)
        theirs = SQLiteSession("s", session_settings=settings)
        for session in (ours, theirs):
            await session.add_items(items)
        for limit in (None, 0, 1, 3, 5, 9):
            assert await ours.get_items(limit) == await theirs.get_items(limit), limit


async def test_sessions_whose_names_have_characters_of_addresses_are_kept_apart(async_store):
    names = ["a", "a/0", "a/1", "ana@example.com", "50%", "~", "a%2F0", "é"]
    for name in names:
        await MilepostSession(name, async_store).add_items([{"role": "user", "content": name}])
    for name in names:
        session = MilepostSession(name, async_store)
        assert await session.get_items() == [{"role": "user", "content": name}]
        assert await session.pop_item()


async def test_a_session_that_was_cleared_comes_back_by_a_restore(async_store):
    session = MilepostSession("s", async_store)
    await session.add_items([HI, HELLO])
    point = await session.point()
    await session.clear_session()
    assert await session.get_items() == []
    task = await async_store.restore(point.address)
    assert await session.get_items() == [HI, HELLO]
    await task.undo()
    assert await session.get_items() == []


async def test_an_item_that_was_popped_is_in_the_difference_and_blamed(async_store):
    session = MilepostSession("s", async_store)
    await session.add_items([HI, HELLO])
    before = await session.point()
    await session.pop_item()
    diff = await async_store.diff(before, await session.point())
    assert [(one.kind, one.path) for one in diff] == [("remove", "/variables/items/1")]
    blame = await async_store.blame((await session.point()).address, "/variables/items/0")
    assert blame.changes[0]["offset"] == 1
    last = await async_store.event(before.address)
    assert last.body["patch"] == [{"op": "remove", "path": "/items/1"}]


async def test_each_item_is_popped_once_by_several_workers(folder):
    async with milepost.open_async(folder) as one, milepost.open_async(folder) as two:
        sessions = [MilepostSession("s", one), MilepostSession("s", two)]
        await sessions[0].add_items([{"role": "user", "content": f"{n}"} for n in range(12)])
        popped = await asyncio.gather(*[sessions[n % 2].pop_item() for n in range(16)])
        found = [item["content"] for item in popped if item]
        assert sorted(found, key=int) == [f"{n}" for n in range(12)]
        assert (await (await sessions[0].task()).state())["last_error"] is None


async def test_a_conversation_goes_on_in_the_next_run(async_store):
    model = Scripted(text("Hello"), text("Ana, as you said"))
    agent = Agent(name="a", model=model)
    await Runner.run(agent, "I am Ana", session=MilepostSession("s", async_store))
    await Runner.run(agent, "Who am I?", session=MilepostSession("s", async_store))
    said = [item["content"] for item in model.inputs[1] if item["role"] == "user"]
    assert said == ["I am Ana", "Who am I?"]
    assert model.inputs[1][1]["content"][0]["text"] == "Hello"


async def test_a_run_with_tools_gives_the_items_of_a_session_of_the_sdk(async_store):
    found = []
    for session in (MilepostSession("s", async_store), SQLiteSession("s")):
        call = ResponseFunctionToolCall(
            call_id="c", name="weather", arguments='{"city": "Ulm"}', type="function_call"
        )
        model = Scripted(call, text("Take a coat."))
        agent = Agent(name="a", model=model, tools=[weather])
        result = await Runner.run(agent, "And in Ulm?", session=session)
        assert result.final_output == "Take a coat."
        found.append(await session.get_items())
    assert found[0] == found[1]
    assert [item.get("type") for item in found[0]][1:3] == ["function_call", "function_call_output"]


async def test_a_restored_session_does_not_know_what_was_said_later(async_store):
    model = Scripted(text("Hello"), text("Ok"), text("What secret?"))
    agent, session = Agent(name="a", model=model), MilepostSession("s", async_store)
    await Runner.run(agent, "Hi", session=session)
    point = await session.point()
    await Runner.run(agent, "The secret is 7", session=session)
    await async_store.restore(point.address)
    await Runner.run(agent, "The secret?", session=session)
    said = [item["content"] for item in model.inputs[2] if item["role"] == "user"]
    assert said == ["Hi", "The secret?"]


async def test_the_log_has_the_turns_and_calls_that_the_sdk_counted(async_store):
    calls = [
        ResponseFunctionToolCall(
            call_id=f"c{n}", name="weather", arguments='{"city": "Rome"}', type="function_call"
        )
        for n in range(3)
    ]
    agent = Agent(name="a", model=Scripted(*calls, text("It rains.")), tools=[weather])
    session = MilepostSession("trip", async_store)
    result = await Runner.run(agent, "Shall I go?", session=session)
    called = [item for item in result.new_items if item.type == "tool_call_item"]
    (summary,) = [one async for one in async_store.summaries()]
    assert (summary.title, summary.calls, summary.failed) == ("Shall I go?", len(called), 0)
    turns = [turn async for turn in (await async_store.task(summary.id)).turns()]
    assert sum(len(turn.calls) for turn in turns) == len(called)
    assert turns[-1].said == result.final_output
    # The prompt is a line of its own before the answers of the model.
    assert len([turn for turn in turns if turn.calls or turn.said]) == len(result.raw_responses)
