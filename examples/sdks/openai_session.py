"""A session of the OpenAI Agents SDK in a store: `python openai_session.py DIR`."""

import asyncio
import sys
import tempfile

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import milepost
from milepost.openai import MilepostSession


class Scripted(Model):
    """Answers with the number of items that it was given, in place of a model of a service."""

    async def get_response(self, system_instructions, input, *others, **more):
        text = f"items so far: {len(input)}"
        part = ResponseOutputText(text=text, type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="m", content=[part], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *others, **more):
        raise NotImplementedError


async def main(folder: str) -> None:
    set_tracing_disabled(True)
    agent = Agent(name="echo", model=Scripted())
    async with milepost.open_async(folder) as store:
        session = MilepostSession(store, "ana")
        for prompt in ("Hi", "And now?"):
            result = await Runner.run(agent, prompt, session=session)
            print(f"{prompt} -> {result.final_output}")
        await (await session.task()).checkpoint("two-turns")
        await session.pop_item()
        print(f"items after pop_item: {len(await session.get_items())}")
        await store.restore("openai:ana@two-turns")
        print(f"items after a restore: {len(await session.get_items())}")
    print(f"milepost --store {folder} log openai:ana")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()))
