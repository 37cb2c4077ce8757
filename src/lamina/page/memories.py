"""Memories: whose they are, which layer wins, what a search finds and why, what says the same twice."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.element import Element

from lamina.access.types import Right
from lamina.memory.types import Identifiers, MemoryEntry, MemoryLayer, SearchHit
from lamina.page.entry import TagField, field, moment, on_press, score, tags_of, text_area, with_style
from lamina.page.looking import Looking
from lamina.page.memory_answer import Answer, Found, Layers, Listed, People, find_answer, list_page
from lamina.page.memory_sheet import MemorySheet
from lamina.page.pieces import action, badge, card, nothing, tag
from lamina.page.reach import Ladder, draw_people
from lamina.page.shell import Frame, Page
from lamina.page.text import one_line


class Memories:
    """The page as one browser has it open."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._looking = Looking.of(frame.query)
        self._turn = 0
        self._query: ui.input
        self._tags: TagField
        self._reach: Element
        self._shown: Element

    async def draw(self) -> None:
        """Draw the page and what its address asks for."""
        with_style()
        with tag("div", classes="beside"):
            self._reach = tag("aside", classes="card reach", aria_label="Whose memories")
            with card():
                self._draw_finder()
                self._shown = tag("div", classes="entries", aria_live="polite")
        await self.show(self._looking)

    async def show(self, looking: Looking) -> None:
        """Find what is asked for and show it; a later question makes an earlier answer void."""
        self._turn += 1
        turn = self._turn
        visitor = await self._frame.visitor()
        visitor.require(Right.READ)
        given: Any = visitor.identifiers(looking.identifiers.to_dict())
        reached = await visitor.rooms.memory.hierarchy.complete(visitor.rooms.name, Identifiers(**given))
        own = await visitor.rooms.scopes.list(reach=reached)
        ladder = Ladder.of(looking, reached, own, bound=set(self._frame.grant.identifiers.to_dict()))
        looking = replace(looking, choosing=looking.choosing or not ladder.reached)
        answer = await find_answer(visitor, looking, given, ladder.reached)
        if turn != self._turn:
            return
        self._looking = looking
        self._query.set_value(looking.query)
        self._reach.clear()
        with self._reach:
            ladder.draw(self.show)
        self._shown.clear()
        with self._shown:
            ui.navigate.history.replace(looking.address)
            self._draw_answer(answer)

    def _draw_finder(self) -> None:
        looking = self._looking
        with tag("form", classes="finder", role="search") as form:
            self._query = field("Search", looking.query, placeholder="What would an agent ask?").classes("wide")
            self._tags = TagField("Any of these tags", looking.tags, changed=lambda: submit())
            action("Search", lambda: None, kind="primary").props("type=submit")
            weak = ui.checkbox("Weak hits too", value=looking.weak).props("dense")

        async def submit() -> None:
            asked = replace(self._looking, query=self._query.value or "", tags=self._tags.tags, weak=bool(weak.value))
            await self.show(asked)

        form.on("submit.prevent", submit, [])

    def _draw_answer(self, answer: Answer) -> None:
        match answer:
            case People():
                draw_people(answer.found, self._looking, self.show)
            case Layers():
                self._draw_layers(answer.listed)
            case Found():
                self._draw_found(answer)

    def _draw_layers(self, listed: Sequence[Listed]) -> None:
        for one in listed:
            if one.page.memories or len(listed) == 1:
                _head(one.layer, f"{one.page.total_count:,}")
                with tag("div", classes="entries") as place:
                    self._draw_page(one, place)
        if not any(one.page.memories for one in listed):
            if self._looking.tags:
                nothing("No memory here.", "Take a tag away, or look at another layer.")
            else:
                nothing("No memory here.", "Agents that are connected remember by themselves; here you can as well.")
        if len(listed) == 1 and self._frame.may(Right.WRITE):
            self._draw_adding(listed[0].layer)

    def _draw_adding(self, layer: MemoryLayer) -> None:
        with tag("details", classes="adding"):
            tag("summary", f"Remember something in the {layer} layer")
            with tag("form", classes="finder") as form:
                content = text_area("What is to be remembered", "")
                tags = TagField("Tags", ())
                action("Remember it", lambda: None).props("type=submit")

        async def add() -> None:
            visitor = await self._frame.visitor()
            visitor.require(Right.WRITE)
            given: Any = visitor.identifiers(self._looking.identifiers.to_dict())
            visitor.require_own(layer, given)
            await visitor.rooms.memory.add(content.value, layer=layer, tags=tags.tags, **given)
            self._frame.say("Remembered.")
            await self.show(self._looking)

        form.on("submit.prevent", add, [])

    def _draw_page(self, one: Listed, place: Element) -> None:
        for entry in one.page.memories:
            self._draw_entry(entry)
        if one.page.next_cursor is None:
            return
        with tag("div", classes="row") as foot:
            if self._looking.layer is None:
                every = self._looking.within(one.layer)
                action(f"All {one.page.total_count:,} of the {one.layer} layer", partial(self.show, every))
            else:
                action("Older ones", partial(self._more, one, place, foot))

    async def _more(self, one: Listed, place: Element, foot: Element) -> None:
        visitor = await self._frame.visitor()
        visitor.require(Right.READ)
        given = visitor.identifiers(self._looking.identifiers.to_dict())
        memory, cursor = visitor.rooms.memory, one.page.next_cursor
        more = await list_page(memory, self._looking, given, one.layer, cursor=cursor)
        if not foot.is_deleted:
            foot.delete()
            with place:
                self._draw_page(more, place)

    def _draw_found(self, found: Found) -> None:
        results = found.results
        for warning in results.warnings:
            tag("p", f"{warning.code}: the {warning.layer} layer failed. {warning.message}", classes="conflict")
        if not results:
            nothing(
                "Nothing stored has to do with this.",
                "Weak hits show what came closest. A search also leaves out what is below the threshold for agents.",
            )
        layer = None
        for hit in results:
            if hit.layer is not layer:
                layer = hit.layer
                _head(layer, "wins" if hit is results[0] and len({one.layer for one in results}) > 1 else "")
            self._draw_hit(hit, found.twins.get(hit.id, ()))
        if results.total_count > len(results):
            tag("p", f"{len(results)} of {results.total_count:,} hits.", classes="note")

    def _draw_hit(self, hit: SearchHit, twins: Sequence[MemoryEntry]) -> None:
        with self._draw_entry(hit.memory):
            score(hit.score, hit.explain or {})
            for twin in twins:
                with tag("div", classes="twin"):
                    tag("span", f"Left out, the {hit.layer} layer says the same: {twin.layer} · ")
                    self._opener(twin, 120)

    def _draw_entry(self, entry: MemoryEntry) -> Element:
        with tag("article", classes="entry") as row:
            self._opener(entry, 320)
            with tag("div", classes="entry-meta"):
                tags_of(entry.tags, self._choose_tag)
                moment(entry.updated_at)
                if entry.version > 1:
                    tag("span", f"version {entry.version}")
                if entry.expires_at is not None:
                    badge(f"expires {entry.expires_at:%Y-%m-%d %H:%M}", tone="warn")
        return row

    async def _choose_tag(self, chosen: str) -> None:
        self._tags.set(tuple(dict.fromkeys([*self._looking.tags, chosen])))

    def _opener(self, entry: MemoryEntry, longest: int) -> None:
        opener = tag("button", one_line(entry.content, longest), classes="entry-open", type="button")
        on_press(opener, partial(self._open, entry))

    async def _open(self, entry: MemoryEntry) -> None:
        sheet = MemorySheet(self._frame, entry, self._looking.identifiers, changed=lambda: self.show(self._looking))
        await sheet.open()


def _head(layer: MemoryLayer, told: str) -> None:
    with tag("div", classes="section-head"):
        tag("span", str(layer.precedence), classes="rank", title="Precedence: 1 wins")
        tag("h2", f"{layer.value.capitalize()} layer")
        if told:
            tag("span", told, classes="note")


async def _build(frame: Frame) -> None:
    await Memories(frame).draw()


PAGE = Page(
    path="/memories",
    title="Memories",
    icon="notes",
    group="Known",
    lead="What is remembered of whom. Of seven layers the stronger one wins; what two of them say is said once.",
    build=_build,
)
