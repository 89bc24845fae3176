"""A conversation of pydantic-ai in a store: `python pydantic_conversation.py DIR`."""

import asyncio
import sys
import tempfile

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

import milepost
from milepost.pydantic import MilepostConversationStore


def count(messages, info):
    """Answers with the number of messages, in place of a model of a service."""
    return ModelResponse(parts=[TextPart(f"{len(messages)} messages so far")])


async def main(folder: str) -> None:
    agent = Agent(FunctionModel(count))
    async with milepost.open_async(folder) as store:
        conversations = MilepostConversationStore(store)

        async def turn(prompt: str) -> None:
            conversation = await conversations.load("trip")
            conversation = conversation or Conversation(conversation_id="trip")
            result = await agent.run(prompt, conversation=conversation)
            await conversations.save(result)
            print(f"{prompt} -> {result.output}")

        await turn("Where to?")
        task = await store.task("pydantic:trip")
        await task.checkpoint("asked")
        await turn("By train.")
        # The second turn is taken back, and another one follows the first.
        await store.restore("pydantic:trip@asked")
        await turn("By ship.")
    print(f"milepost --store {folder} compare pydantic:trip/0 pydantic:trip/1")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()))
