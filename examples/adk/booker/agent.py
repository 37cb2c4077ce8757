"""The agent, as ADK's commands load it: `adk web examples/adk`, `adk run examples/adk/booker`.

Without a key it runs on a scripted model; with GOOGLE_API_KEY on Gemini. Everything it remembers is in `lamina.db`, or
where LAMINA_STORE says.
"""

import os

from google.adk.agents import LlmAgent
from google.adk.apps import App

import lamina
from lamina.integrations.adk import ContextAwareModel, LaminaPlugin

from .scripted import ScriptedModel

memory = lamina.open(knowledge={"enabled": True})


def book_room(day: str) -> dict[str, str]:
    """Book the meeting room for a day."""
    if len(day) != 10 or day[4] != "-":
        return {"error": f"cannot read the day {day!r}"}
    return {"result": f"Booked for {day}."}


async def remember(fix: str) -> str:
    """Remember what the user says is the right way to book a room."""
    await memory.learning.correct("booking a room for a day", fix, tool="book_room", error="cannot read the day 'x'")
    return "Thank you, I will remember that."


inner = "gemini-flash-latest" if os.environ.get("GOOGLE_API_KEY") else ScriptedModel()

root_agent = LlmAgent(
    name="booker",
    model=ContextAwareModel(inner, memory),
    instruction="You book the meeting room. When the user corrects you, remember the right way.",
    tools=[book_room, remember],
)

app = App(name="booker", root_agent=root_agent, plugins=[LaminaPlugin(memory)])
