"""A store with sessions and a pipeline, with nothing else of the house around it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.settings import DatabaseSettings
from lamina.index.engine import SearchEngine
from lamina.index.settings import IndexSettings
from lamina.kernel.clock import Clock, ManualClock
from lamina.kernel.tokens import estimate_tokens
from lamina.observability.metrics import Metrics
from lamina.observation.desk import Desk, Writers
from lamina.observation.pipeline import Pipeline, Turn
from lamina.observation.removing import remove_notes
from lamina.observation.settings import ObservationSettings
from lamina.observation.state import State, read_state
from lamina.observation.store import read_notes
from lamina.observation.types import Note
from lamina.session.archiving import compact_session
from lamina.session.reading import StoredSession, find_session
from lamina.session.service import SessionService
from lamina.session.settings import SessionSettings
from lamina.session.types import Message, Role
from tests.observation.scripted import ScriptedObserver, ScriptedReflector

KEY = "telegram:42:7"
TENANT = "default"
SMALL = ObservationSettings(
    enabled=True,
    message_token_threshold=100,
    observation_token_threshold=400,
    retained_tail_tokens=40,
    max_batch_tokens=200,
)
"""Thresholds that a handful of short messages passes."""


def compact(link: Link, held: StoredSession, *, up_to: int, summary: str, now: datetime) -> None:
    """The compactor that the house wires."""
    compact_session(link, held, up_to=up_to, summary=summary, tokens=estimate_tokens(summary), now=now)


@dataclass(slots=True, kw_only=True)
class Bench:
    """Sessions, a pipeline and who writes for it."""

    sessions: SessionService
    pipeline: Pipeline
    observer: ScriptedObserver
    reflector: ScriptedReflector
    clock: Clock

    @property
    def database(self) -> Database:
        return self.sessions.database

    async def say(self, number: int = 1, *, tokens: int = 24, role: Role = Role.USER, key: str = KEY) -> list[Message]:
        """Append messages of about so many tokens, the user's and the assistant's in turn."""
        said = []
        for _ in range(number):
            said.append(await self.sessions.append(role=role, content="harbour " * (tokens - 4), session_key=key))
            role = Role.ASSISTANT if role is Role.USER else Role.USER
        return said

    async def turn(self, key: str = KEY, *, force: bool = False, patient: bool = True) -> Turn:
        return await self.pipeline.turn(TENANT, key, force=force, patient=patient)

    async def turns(self, key: str = KEY) -> list[Turn]:
        """Turns until there is nothing more to do at once."""
        done = [await self.turn(key)]
        while done[-1].more:
            done.append(await self.turn(key))
        return done

    async def notes(self, key: str = KEY) -> list[Note]:
        def read(link: Link) -> list[Note]:
            found = find_session(link, TENANT, key)
            return [] if found is None else [one.note for one in read_notes(link, found)]

        return await self.database.read(read)

    async def state(self, key: str = KEY) -> State:
        def read(link: Link) -> State:
            found = find_session(link, TENANT, key)
            return (found and read_state(link, found)) or State()

        return await self.database.read(read)

    async def live(self, key: str = KEY) -> list[Message]:
        """The conversation as a model would see it."""
        return list(await self.sessions.messages(key, limit=1000))

    async def rows(self, table: str) -> list[dict[str, object]]:
        """Everything in a table."""
        found = await self.database.read(lambda link: link.connection.execute(sa.text(f"SELECT * FROM {table}")).all())
        return [dict(row._mapping) for row in found]


@asynccontextmanager
async def bench_on(
    url: str,
    *,
    clock: Clock | None = None,
    settings: ObservationSettings = SMALL,
    observer: ScriptedObserver | None = None,
    reflector: ScriptedReflector | None = None,
    model: str | None = "scripted",
    fallback: ScriptedObserver | None = None,
    metrics: Metrics | None = None,
    pool_size: int = 4,
) -> AsyncIterator[Bench]:
    """A bench on a store, which is closed at the end."""
    chosen = clock or ManualClock()
    database = Database(DatabaseSettings(url=url, pool_size=pool_size))
    await database.open()
    measured = metrics or Metrics()
    writes = observer or ScriptedObserver()
    condenses = reflector or ScriptedReflector()
    desk = Desk(
        database=database,
        settings=settings,
        clock=chosen,
        metrics=measured,
        writers=Writers(observer=writes, reflector=condenses, model=model, fallback=fallback),
        compactor=compact,
    )
    sessions = SessionService(
        database=database,
        engine=SearchEngine(IndexSettings(), measured),
        settings=SessionSettings(),
        clock=chosen,
        metrics=measured,
        tenant=TENANT,
        on_removed=(lambda link, held, _: remove_notes(link, held),),
    )
    try:
        yield Bench(sessions=sessions, pipeline=Pipeline(desk), observer=writes, reflector=condenses, clock=chosen)
    finally:
        await database.close()
