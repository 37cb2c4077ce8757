"""Apps with a graph, on a given store."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import lamina
from lamina.app import App
from lamina.graph.types import Reach, Triple
from lamina.kernel.clock import ManualClock
from tests.stores import static_embedder


@asynccontextmanager
async def graph_app(url: str, *, clock: ManualClock | None = None, **graph: object) -> AsyncIterator[App]:
    """An open app whose graph and knowledge are on."""
    app = lamina.open(
        url,
        embedder=static_embedder(),
        clock=clock or ManualClock(),
        graph={"enabled": True, **graph},
        knowledge={"enabled": True},
        memory={"sweep_interval_s": 0},
    )
    async with app:
        yield app


def user(name: str, session_key: str | None = None) -> Reach:
    """What a user sees."""
    return Reach.of([f"user:{json.dumps({'user_id': name}, separators=(',', ':'))}"], session_key)


def said(triple: Triple) -> tuple[str, str, str]:
    """A triple without its time and source."""
    return triple.subject, triple.predicate.value, triple.object
