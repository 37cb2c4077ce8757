"""The overview: how much is known, how it grows, and whether all is well; live."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from lamina.database.upkeep import StoreStatus, read_status
from lamina.errors import LaminaError
from lamina.kernel.crew import Queue
from lamina.memory.types import Identifiers, MemoryLayer
from lamina.page import overview_panels as panels
from lamina.page.measured import Measured, read_metrics
from lamina.page.pieces import card, grid, tag
from lamina.page.shell import Frame, Page
from lamina.page.welcome import welcome
from lamina.visitor import Visitor

_TICK_S: Final = 2.0
_KEPT: Final = 60
_SEARCHES: Final = (
    "search",
    "session_recall",
    "knowledge_search",
    "reference_search",
    "learning_search",
    "skill_search",
    "context_retrieve",
    "context_assemble",
)
"""Operations that look for something; an assembly is one search of all layers."""
_SELDOM_S: Final = 60.0
"""Seconds between two looks at growth and at the store itself."""
_PATIENCE: Final = 10
"""What took a second to read is left alone for so many."""


async def build(frame: Frame) -> None:
    """Draw the overview of a tenant, or of what somebody in particular can see."""
    visitor = await frame.visitor()
    if visitor.grant.bound:
        await _of_somebody(visitor)
        return
    counts = await visitor.rooms.figures.counts()
    if not any(counts.values()):
        welcome(frame)
        ui.timer(_TICK_S, lambda: _until_something_is_known(frame))
        return
    live = Live(frame=frame)
    live.draw()
    await live.tick()
    ui.timer(_TICK_S, live.tick)


PAGE = Page(
    path="/",
    title="Overview",
    icon="space_dashboard",
    lead="What is known, how it grows, and whether all is well.",
    build=build,
)


async def _until_something_is_known(frame: Frame) -> None:
    visitor = await frame.visitor()
    if any((await visitor.rooms.figures.counts()).values()):
        ui.navigate.to("/")


async def _of_somebody(visitor: Visitor) -> None:
    reach = Identifiers(**visitor.identifiers({}))
    scopes = await visitor.rooms.scopes.list(reach=reach, limit=10_000)
    counts = dict.fromkeys(MemoryLayer, 0)
    for scope in scopes:
        counts[scope.layer] += scope.entries
    with card("Memories within reach of this key", note="of " + ", ".join(reach.to_dict().values())):
        panels.layers(counts)


@dataclass(slots=True)
class Live:
    """The panels of one open overview, each drawn anew when what it shows has changed."""

    frame: Frame
    due: dict[str, float] = field(default_factory=dict)
    searches: deque[int] = field(default_factory=lambda: deque(maxlen=_KEPT + 1))
    shown: dict[str, Any] = field(default_factory=dict)
    boxes: dict[str, Element] = field(default_factory=dict)

    def draw(self) -> None:
        """The empty panels."""
        self._panel("counts", "")
        with grid():
            self._panel("layers", "Memories by layer", "the most specific layer wins")
            self._panel("growth", "Growth", "30 days, what is still there")
        with grid():
            self._panel("tokens", "Conversations")
            self._panel("health", "Health")
        if self._sees_process:
            with grid():
                self._panel("searches", "Searches", "two minutes, live")
                self._panel("queues", "Background work")
            with grid():
                self._panel("operations", "Operations", "since the service began")
                self._panel("errors", "Errors", "since the service began")

    async def tick(self) -> None:
        """Look again at what is due, and draw what has changed."""
        rooms = (await self.frame.visitor()).rooms
        figures, app = rooms.figures, self.frame.door.app
        await self._look("counts", figures.counts, panels.counts)
        await self._look("layers", rooms.scopes.counts, panels.layers)
        await self._look("tokens", figures.conversations, panels.tokens)
        await self._look("growth", figures.growth, panels.growth, every_s=_SELDOM_S)
        await self._look("health", lambda: asyncio.to_thread(self._health), panels.health, every_s=_SELDOM_S)
        if self._sees_process:
            measured = await asyncio.to_thread(read_metrics, app.metrics)
            self._show_process(measured or Measured(), app.queues())

    async def _look(
        self, name: str, read: Callable[[], Awaitable[Any]], draw: Callable[[Any], None], *, every_s: float = 0.0
    ) -> None:
        """Read something where that is due; what takes long in a large store is read the less often."""
        begun = self.frame.door.app.memory.clock.monotonic()
        if begun < self.due.get(name, begun):
            return
        self._show(name, await read(), draw)
        ended = self.frame.door.app.memory.clock.monotonic()
        self.due[name] = ended + max(every_s, _PATIENCE * (ended - begun))

    def _show_process(self, measured: Measured, queues: tuple[Queue, ...]) -> None:
        self.searches.append(measured.count_of(*_SEARCHES))
        counted = list(self.searches)
        each = [after - before for before, after in pairwise(counted)]
        rates = [0] * (_KEPT - len(each)) + each
        found = [one for one in measured.operations if one.name in _SEARCHES]
        self._show("searches", (rates, found, counted[-1]), lambda what: panels.searches(*what, tick_s=_TICK_S))
        self._show("queues", (queues, measured.drops), lambda what: panels.queues(*what))
        self._show("operations", measured.operations, panels.operations)
        self._show("errors", measured.errors, panels.errors)

    @property
    def _sees_process(self) -> bool:
        """What the process counts is of every tenant, so only the configured one's keys see it."""
        return self.frame.grant.tenant == self.frame.door.app.settings.memory.tenant

    def _health(self) -> "tuple[StoreStatus | LaminaError, str, str]":
        app = self.frame.door.app
        try:
            store: StoreStatus | LaminaError = read_status(app.settings.database)
        except LaminaError as error:
            store = error
        model = app.settings.llm.model if app.chat_model is not None else ""
        return store, app.parts.provider.model.name, model or ""

    def _panel(self, name: str, title: str, note: str = "") -> None:
        with card(title, note=note):
            self.boxes[name] = tag("div", classes="panel", data_panel=name)

    def _show(self, name: str, what: Any, draw: Callable[[Any], None]) -> None:
        if name in self.shown and self.shown[name] == what:
            return
        self.shown[name] = what
        self.boxes[name].clear()
        with self.boxes[name]:
            draw(what)
