"""The overview: how much is known, how it grows, and whether all is well; live."""

import asyncio
from collections import deque
from collections.abc import Callable
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
_SELDOM: Final = 30
"""Ticks between two looks at what costs more: growth and the store itself."""


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
    ticks: int = 0
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
        """Look again, and draw what has changed."""
        visitor = await self.frame.visitor()
        rooms, app = visitor.rooms, self.frame.door.app
        self._show("counts", await rooms.figures.counts(), panels.counts)
        self._show("layers", await rooms.scopes.counts(), panels.layers)
        self._show("tokens", await rooms.figures.conversations(), panels.tokens)
        if self.ticks % _SELDOM == 0:
            self._show("growth", await rooms.figures.growth(), panels.growth)
            self._show("health", await asyncio.to_thread(self._health), panels.health)
        if self._sees_process:
            measured = await asyncio.to_thread(read_metrics, app.metrics)
            self._show_process(measured or Measured(), app.queues())
        self.ticks += 1

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
