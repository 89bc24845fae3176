"""A transcript of the Claude Agent SDK in a store: `python claude_session.py DIR`.

The SDK appends entries while an agent works: `ClaudeAgentOptions(session_store=sessions)`. Here
they are appended as it does, without the agent.
"""

import asyncio
import sys
import tempfile
import uuid

import milepost
from milepost.claude import MilepostSessionStore

KEY = {"project_key": "-home-ana-site", "session_id": "5f0c9c1e-0000-4000-8000-000000000001"}
TASK = f"claude:{KEY['project_key']}:{KEY['session_id']}"


def said(role: str, text: str) -> dict:
    message = {"role": role, "content": text}
    time = "2026-01-01T00:00:00.000Z"
    return {"type": role, "uuid": str(uuid.uuid4()), "timestamp": time, "message": message}


async def main(folder: str) -> None:
    async with milepost.open_async(folder) as store:
        sessions = MilepostSessionStore(store)
        await sessions.append(KEY, [said("user", "Fix the test."), said("assistant", "It passes.")])
        await (await store.task(TASK)).checkpoint("fixed")
        await sessions.append(KEY, [said("user", "Remove it."), said("assistant", "It is gone.")])
        print(f"{len(await sessions.load(KEY))} entries")
        await store.restore(f"{TASK}@fixed")
        print(f"{len(await sessions.load(KEY))} entries after a restore: the session resumes there")
    print(f"milepost --store {folder} log {TASK}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()))
