"""Talks to the agent, each message a turn of one session: `python examples/adk/talk.py SESSION MESSAGE...`"""

import asyncio
import sys

from booker.agent import app
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService


async def main(session: str, messages: list[str]) -> None:
    """Say each message, and print what the agent does and says."""
    sessions = SqliteSessionService("sessions.db")
    async with Runner(app=app, session_service=sessions, auto_create_session=True) as runner:
        for message in messages:
            print(f"you:    {message}")
            for event in await runner.run_debug(message, user_id="ann", session_id=session, quiet=True):
                for part in event.content.parts or [] if event.content else []:
                    if part.function_call:
                        print(f"booker: {part.function_call.name}({part.function_call.args})")
                    elif part.text:
                        print(f"booker: {part.text}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
