"""Items for tests, and layers that misbehave."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from lamina.context.types import ContextItem, ContextLayer, LayerRequest, Origin, Place, Semantic

START = datetime(2026, 5, 1, tzinfo=UTC)
PLACES: tuple[Place, ...] = (*ContextLayer, *Semantic)


def item(
    place: Place = ContextLayer.USER_KNOWLEDGE,
    key: str = "key",
    content: str = "Some text.",
    *,
    score: float = 0.5,
    origin: Origin = Origin.USER,
    category: str | None = None,
    location: str | None = None,
    session_key: str | None = None,
    minutes: int | None = None,
) -> ContextItem:
    """An item with sensible values for everything that a test does not care about."""
    return ContextItem(
        layer=place,
        key=key,
        content=content,
        score=score,
        origin=origin,
        category=category,
        location=location,
        session_key=session_key,
        at=None if minutes is None else START + timedelta(minutes=minutes),
    )


class FixedSource:
    """A layer that gives what it was told to, and remembers what it was asked."""

    def __init__(self, *items: ContextItem) -> None:
        self.items = items
        self.asked: list[LayerRequest] = []

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        self.asked.append(request)
        return self.items


class FailingSource:
    """A layer that raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        raise self.error


class HangingSource:
    """A layer that never answers; a stubborn one does not even mind being cancelled once."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.stubborn = stubborn
        self.cancelled = 0
        self.free = asyncio.Event()

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            if not self.stubborn:
                raise
            await self.free.wait()
        return ()


class GarbageSource:
    """A layer that answers nonsense."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        return self.answer  # type: ignore[return-value]
