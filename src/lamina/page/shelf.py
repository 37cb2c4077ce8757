"""Named texts of one kind: searched, listed page by page, opened."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Final, Generic, TypeVar
from urllib.parse import urlencode

from nicegui import ui
from nicegui.element import Element

from lamina.access.types import Right
from lamina.page import entry
from lamina.page.pieces import action, card, nothing, tag
from lamina.page.sheet import Sheet
from lamina.page.shell import Frame
from lamina.visitor import Visitor

T = TypeVar("T")
EVERY: Final = "every kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Generic[T]):
    """A text in a listing, or one that was found."""

    item: T
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[T]):
    """Part of what there is."""

    rows: Sequence[Row[T]]
    total: int
    next_cursor: str | None = None


class Shelf(ABC, Generic[T]):
    """Texts of one kind as one browser has them open."""

    path: ClassVar[str]
    """Where the page is, with what its address always has."""
    sort: ClassVar[str]
    """What the kinds are called."""
    kinds: ClassVar[Sequence[str]]
    command: ClassVar[str]
    """The command that saves a first one."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._query = frame.query.get("q", "")
        self._kind = frame.query.get("kind", EVERY) if frame.query.get("kind") in self.kinds else EVERY
        self._turn = 0
        self._shown: Element

    @abstractmethod
    async def search(self, visitor: Visitor, query: str, kind: str | None) -> Sequence[Row[T]]:
        """What fits a question, best first. Raises LaminaError."""

    @abstractmethod
    async def list(self, visitor: Visitor, kind: str | None, cursor: str | None) -> Listing[T]:
        """One page of all there is, newest first. Raises LaminaError."""

    @abstractmethod
    def draw_row(self, item: T) -> tuple[Element, Element]:
        """Draw a text in a listing; what opens it, and the row that further pieces go into."""

    @abstractmethod
    def sheet(self, item: T) -> Sheet:
        """The text, to be laid open."""

    async def draw(self) -> None:
        """Draw the search and what the address asks for."""
        with card():
            self._draw_finder()
            self._shown = tag("div", classes="entries", aria_live="polite")
        await self.show()

    def _draw_finder(self) -> None:
        with tag("form", classes="finder", role="search") as form:
            query = entry.field("Search", self._query).classes("wide")
            kind = entry.choice(self.sort, {one: one for one in (EVERY, *self.kinds)}, self._kind)
            action("Search", lambda: None, kind="primary").props("type=submit")

        async def submit() -> None:
            self._query, self._kind = query.value or "", kind.value
            await self.show()

        form.on("submit.prevent", submit, [])
        kind.on_value_change(submit)

    async def show(self) -> None:
        """Find what is asked for and show it; a later question makes an earlier answer void."""
        self._turn += 1
        turn, query = self._turn, self._query.strip()
        visitor = await self.frame.visitor()
        visitor.require(Right.READ)
        kind = None if self._kind == EVERY else self._kind
        if query:
            rows = await self.search(visitor, query, kind)
            listing = Listing(rows=rows, total=len(rows))
        else:
            listing = await self.list(visitor, kind, None)
        if turn != self._turn:
            return
        self._shown.clear()
        with self._shown:
            self._remember(query, kind)
            self._draw_listing(listing)
            if not listing.rows:
                self._draw_nothing(searched=bool(query or kind))

    def _remember(self, query: str, kind: str | None) -> None:
        given = urlencode({name: value for name, value in (("q", query), ("kind", kind)) if value})
        ui.navigate.history.replace(f"{self.path}{'&' if '?' in self.path else '?'}{given}" if given else self.path)

    def _draw_nothing(self, *, searched: bool) -> None:
        if searched:
            nothing("Nothing here has to do with this.", "Ask in other words, or for every kind.")
        else:
            nothing(
                "Nothing is here yet.", "Agents save here while they work; one command does too.", command=self.command
            )

    def _draw_listing(self, listing: Listing[T]) -> None:
        for row in listing.rows:
            opener, place = self.draw_row(row.item)
            entry.on_press(opener, partial(self._open, row.item))
            if row.score is not None:
                with place:
                    entry.score(row.score, row.parts)
        if listing.next_cursor is not None:
            with tag("div", classes="row") as foot:
                action("Older ones", partial(self._more, listing.next_cursor, foot))
                tag("span", f"{listing.total:,} in all", classes="note")

    async def _more(self, cursor: str, foot: Element) -> None:
        visitor = await self.frame.visitor()
        visitor.require(Right.READ)
        listing = await self.list(visitor, None if self._kind == EVERY else self._kind, cursor)
        if not foot.is_deleted:
            foot.delete()
            with self._shown:
                self._draw_listing(listing)

    async def _open(self, item: T) -> None:
        await self.sheet(item).open()
