"""From a query to a prompt: six layers, beside the bare ranking work of the same layers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from benchmarks.floors import NumpyFloor
from benchmarks.report import Line, Target, timed
from benchmarks.timing import Call, take_turns
from benchmarks.world import World, fill
from lamina.app import App
from lamina.config import Settings
from lamina.context.service import ContextService
from lamina.context.tools import ToolDescriptor
from lamina.database.settings import DatabaseSettings
from lamina.knowledge.settings import KnowledgeSettings
from lamina.skill.settings import SkillSettings

WARM_UP = 3
BASE = "You are a helpful assistant. Answer briefly and say so when you do not know."
_AT_ONCE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layers:
    """The texts of each layer, as they are ranked."""

    memories: list[str]
    knowledge: list[str]
    learnings: list[str]
    references: list[str]
    skills: list[str]
    tools: list[str]

    @property
    def all(self) -> list[list[str]]:
        return [self.memories, self.knowledge, self.learnings, self.references, self.skills, self.tools]


async def measure_context(world: World) -> list[Line]:
    """Retrieve and assemble; the floor is the sum of the layers' bare numpy ranking, and one query of the engine."""
    sizes, language = world.sizes, world.language
    turns = language.turns(sizes.small, seed=21)
    layers = _Layers(
        memories=[turn.content for turn in turns],
        knowledge=language.notes(sizes.small, seed=22),
        learnings=language.notes(sizes.small // 5, seed=23),
        references=language.notes(sizes.small // 20, seed=24),
        skills=language.notes(sizes.small // 50, seed=25),
        tools=language.notes(sizes.small // 20, seed=26),
    )
    async with _open(world) as app:
        await fill(app, [turn.memory("owner") for turn in turns])
        await _fill_rooms(app, layers)
        world.engine.settle()
        tools = [ToolDescriptor(name=f"tool_{at}", description=text) for at, text in enumerate(layers.tools)]
        context = app.context.with_tools(tools)
        asked = [
            f"{text} {other}"
            for text, other in zip(
                language.notes(sizes.searches + WARM_UP, seed=27),
                language.notes(sizes.searches + WARM_UP, seed=28),
                strict=True,
            )
        ]
        return await _compare(world, app, context, layers, asked)


def _open(world: World) -> App:
    return App(
        Settings(
            database=DatabaseSettings(url=world.engine.new_store("context")),
            knowledge=KnowledgeSettings(enabled=True, max_saves_per_session=0, max_learnings_per_session=0),
            skill=SkillSettings(max_per_day=0, auto_approve=True),
        )
    )


async def _compare(world: World, app: App, context: ContextService, layers: _Layers, asked: list[str]) -> list[Line]:
    embedder = app.parts.embedder
    asked_vectors = await embedder.embed(asked, purpose="query")
    floors = [
        NumpyFloor(texts, await embedder.embed(texts, purpose="document"), asked, asked_vectors) for texts in layers.all
    ]
    vectors = await embedder.embed(layers.knowledge, purpose="document")
    items: list[int] = []

    async def assemble(number: int) -> None:
        prompt = await context.assemble(BASE, query=asked[number], user_id="owner", session_key="cli:1:1")
        items.append(len(prompt.items))

    def rank(number: int) -> None:
        for floor in floors:
            floor.search(number)

    calls: dict[str, Call] = {
        **world.engine.search_floors(layers.knowledge, vectors, asked, asked_vectors),
        "numpy, all layers": rank,
        "lamina": assemble,
    }
    taken = await take_turns(calls, count=world.sizes.searches, warm_up=WARM_UP)
    targets = {world.engine.word_floor: Target(bound=1, sense="<="), "numpy, all layers": Target(bound=3, sense="<=")}
    return [
        timed(
            taken,
            floor,
            engine=world.engine.name,
            bench="context",
            case="retrieve and assemble, six layers",
            target=targets.get(floor),
            detail={"items, mean": sum(items) / len(items)},
        )
        for floor in calls
        if floor != "lamina"
    ]


async def _fill_rooms(app: App, layers: _Layers) -> None:
    await _each(layers.knowledge, lambda at, text: app.knowledge.save(f"key-{at}", text, category="fact"))
    await _each(
        layers.learnings,
        lambda at, text: app.learning.save(
            f"Try {text}", tool=f"tool_{at % 50}", error=f"{text} did not work", origin="user"
        ),
    )
    await _each(
        layers.references,
        lambda at, text: app.references.save(f"ref-{at}", type="documentation", location=f"/docs/{at}", summary=text),
    )
    await _each(
        layers.skills,
        lambda at, text: app.skills.create(
            f"skill-{at}", description=text, type="template", definition={"template": text}
        ),
    )


async def _each(texts: Sequence[str], save: Callable[[int, str], Awaitable[object]]) -> None:
    for start in range(0, len(texts), _AT_ONCE):
        part = texts[start : start + _AT_ONCE]
        await asyncio.gather(*(save(start + at, text) for at, text in enumerate(part)))
