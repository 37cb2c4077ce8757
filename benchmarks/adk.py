"""What Lamina adds to a turn of an ADK agent whose model answers at once: the same turns with and without it."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from google.adk.agents import LlmAgent
from google.adk.apps import App as AdkApp
from google.adk.models import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from benchmarks.report import Line, Target
from benchmarks.timing import Timings, resident_bytes
from benchmarks.world import World, fill
from lamina.app import App
from lamina.config import Settings
from lamina.context.settings import ContextSettings
from lamina.database.settings import DatabaseSettings
from lamina.integrations.adk import ContextAwareModel, LaminaPlugin

AT_ONCE = (1, 16, 64)
_NAME = "house"
SYSTEM = "You are a helpful assistant. Answer briefly and say so when you do not know."
_USAGE = types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1, total_token_count=2)

Turn = Callable[[int], Awaitable[None]]


class _Prompt(BaseLlm):
    """A model that answers at once."""

    model: str = "prompt"

    @property
    def capabilities(self) -> LlmCapabilities:
        return LlmCapabilities(output_schema_and_tools=True)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        content = types.Content(role="model", parts=[types.Part(text="Yes.")])
        yield LlmResponse(content=content, usage_metadata=_USAGE)


async def measure_adk(world: World) -> list[Line]:
    """Turns of new sessions, one, 16 and 64 at a time: bare, with Lamina, and retrieve and assemble alone."""
    logging.getLogger("google_adk").setLevel(logging.ERROR)
    turns = world.language.turns(world.sizes.small, seed=41)
    asked = world.language.notes(max(world.sizes.searches, AT_ONCE[-1]), seed=42)
    # No deadlines: 64 turns at once take as long as they take.
    settings = Settings(
        database=DatabaseSettings(url=world.engine.new_store("adk")),
        context=ContextSettings(deadline_s=0, turn_deadline_s=0),
    )
    async with App(settings) as app:
        await fill(app, [turn.memory("owner") for turn in turns])
        world.engine.settle()

        async def assemble(number: int) -> None:
            await app.context.assemble(SYSTEM, query=asked[number % len(asked)], user_id="owner", session_key="cli:1:1")

        sessions = InMemorySessionService()
        calls: dict[str, Turn] = {
            "bare": _turns(_Prompt(), asked, InMemorySessionService()),
            "lamina": _turns(ContextAwareModel(_Prompt(), app), asked, sessions, LaminaPlugin(app)),
            "assemble": assemble,
        }
        chosen = [at_once for at_once in AT_ONCE if at_once <= 2 * world.sizes.searches]
        lines = [_line(world, at_once, await _side_by_side(calls, at_once, world)) for at_once in chosen]

        async def forget(number: int) -> None:
            await sessions.delete_session(app_name=_NAME, user_id="owner", session_id=f"s{number}")

        return [*lines, await _soak(world, calls["lamina"], forget)]


def _turns(model: BaseLlm, asked: list[str], sessions: InMemorySessionService, *plugins: LaminaPlugin) -> Turn:
    agent = LlmAgent(name="helper", model=model, instruction=SYSTEM)
    adk = AdkApp(name=_NAME, root_agent=agent, plugins=list(plugins))
    runner = Runner(app=adk, session_service=sessions, auto_create_session=True)

    async def turn(number: int) -> None:
        message = types.Content(role="user", parts=[types.Part(text=asked[number % len(asked)])])
        events = runner.run_async(user_id="owner", session_id=f"s{number}", new_message=message)
        async with aclosing(events) as stream:
            async for _ in stream:
                pass

    return turn


async def _side_by_side(calls: dict[str, Turn], at_once: int, world: World) -> dict[str, Timings]:
    """The duration of every turn, in rounds that alternate, so that a busy moment hits all of them."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    rounds = max(1, world.sizes.searches // at_once)
    number = at_once * 1_000_000
    for round_number in range(rounds + 1):  # the first one only warms up
        for name, call in calls.items():
            taken = await asyncio.gather(*(_elapsed(call, number + one) for one in range(at_once)))
            number += at_once
            if round_number:
                samples[name] += taken
    return {name: Timings(samples=tuple(taken)) for name, taken in samples.items()}


async def _elapsed(call: Turn, number: int) -> float:
    started = time.perf_counter()
    await call(number)
    return (time.perf_counter() - started) * 1000


async def _soak(world: World, turn: Turn, forget: Callable[[int], Awaitable[None]]) -> Line:
    """Many rounds of new sessions at once, each forgotten by ADK: what the process has at the end and half way."""
    most = AT_ONCE[-1]
    halves = []
    for half in range(2):
        for round_number in range(world.sizes.searches // 4):
            first = (half * world.sizes.searches + round_number + 1) * 1_000_000_000
            await asyncio.gather(*(turn(first + one) for one in range(most)))
            await asyncio.gather(*(forget(first + one) for one in range(most)))
        halves.append(resident_bytes() / 1e6)
    return Line(
        engine=world.engine.name,
        bench="adk",
        case=f"memory of a process with {most} sessions at once",
        unit="MB",
        value=halves[1],
        floor_name="half way",
        floor=halves[0],
        target=Target(bound=1.05, sense="<="),
        detail={"turns": 2 * most * (world.sizes.searches // 4)},
    )


def _line(world: World, at_once: int, taken: dict[str, Timings]) -> Line:
    mine, bare, alone = taken["lamina"], taken["bare"], taken["assemble"]
    return Line(
        engine=world.engine.name,
        bench="adk",
        case=f"what Lamina adds to a turn of an agent, {at_once} at once",
        unit="ms",
        value=mine.p50 - bare.p50,
        value_p95=mine.p95 - bare.p95,
        floor_name="retrieve and assemble",
        floor=alone.p50,
        floor_p95=alone.p95,
        target=Target(bound=5, sense="<="),
        detail={"with it, p50": mine.p50, "without it, p50": bare.p50},
    )
