"""The graph: a picture of who and what is related to a chosen entity, and where each relation was said."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from nicegui import ui
from nicegui.element import Element

from lamina.access.types import Right
from lamina.graph.types import SEEN_TOGETHER, Entity, Reach, Triple, Visit, Walk
from lamina.memory.access import resolve_scope
from lamina.memory.rows import scope_key
from lamina.page.entry import field, moment, with_style
from lamina.page.graph_layout import HEIGHT, WIDTH, Line, Placed, lay_out
from lamina.page.pieces import Cell, action, badge, card, nothing, table, tag
from lamina.page.shell import Frame, Page
from lamina.page.switched import is_on
from lamina.page.text import one_line, visible
from lamina.visitor import Visitor

_MOST_SHOWN: Final = 32
_MOST_SCOPES: Final = 200
_BEGINNINGS: Final = 24


class Graph:
    """The page as one browser has it open."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._name = frame.query.get("name", "")
        self._turn = 0
        self._shown: Element

    async def draw(self) -> None:
        """Draw the search and the entity that the address names."""
        with card():
            with tag("form", classes="finder", role="search") as form:
                name = field("Entity", self._name, placeholder="A person, a project, a tool").classes("wide")
                action("Show", lambda: None, kind="primary").props("type=submit")
            form.on("submit.prevent", lambda: self.show(name.value or ""), [])
            self._shown = tag("div", classes="stack", aria_live="polite")
        await self.show(self._name)

    async def show(self, name: str) -> None:
        """Show what is around an entity, or where to begin; a later choice makes an earlier one void."""
        self._turn += 1
        turn, self._name = self._turn, name.strip()
        visitor = await self._frame.visitor()
        visitor.require(Right.READ)
        reach = await reach_of(visitor)
        graph = visitor.rooms.graph
        entity: Entity | None = None
        walk: Walk | None = None
        found: Sequence[Triple] = ()
        if self._name:
            entity = await graph.entity(self._name, reach=reach)
            walk = await graph.traverse(self._name, depth=2, limit=_MOST_SHOWN, reach=reach)
        else:
            found = await graph.find(limit=100, reach=reach)
        if turn != self._turn:
            return
        ui.navigate.history.replace(f"/graph?{urlencode({'name': self._name})}" if self._name else "/graph")
        self._shown.clear()
        with self._shown:
            if walk is None:
                self._draw_beginnings(found)
            else:
                self._draw_entity(entity, walk)

    def _draw_beginnings(self, found: Sequence[Triple]) -> None:
        names = Counter(name for one in found for name in (one.subject, one.object))
        if not names:
            nothing(
                "The graph is empty.",
                "Names and relations are read from what is saved; one command adds a relation too.",
                command='lamina graph add "Ana Ruiz" works_on "web shop"',
            )
            return
        tag("p", "Choose where to begin, or type a name.", classes="note")
        with tag("div", classes="people"):
            for name, count in names.most_common(_BEGINNINGS):
                with tag("button", classes="person", type="button") as button:
                    tag("span", one_line(name, 60))
                    tag("span", f"{count:,}", classes="count")
                button.on("click", partial(self.show, name), [])

    def _draw_entity(self, entity: Entity | None, walk: Walk) -> None:
        with tag("div", classes="section-head"):
            tag("h2", one_line(entity.name if entity else self._name, 80))
            if entity is not None:
                tag("span", f"{entity.triples:,} relations, {entity.mentions:,} mentions", classes="note")
                for other in (*entity.spellings, *entity.aliases):
                    if other != entity.name:
                        badge(one_line(other, 40))
            action("Other entities", partial(self.show, ""))
        if not walk.visits:
            nothing("Nothing within your reach is related to this.", "Another spelling may be known.")
            return
        self._draw_picture(walk)
        if not walk.complete:
            tag("p", f"There is more than these {len(walk.visits)}.", classes="note")
        table(("From", "Relation", "To", "Since", "Said in"), [_row(one) for one in walk.visits], label="Relations")

    def _draw_picture(self, walk: Walk) -> None:
        picture = lay_out(walk)
        box = tag("div", classes="graph-box", tabindex="0", role="group", aria_label=f"Around {one_line(walk.start)}")
        with box, tag("div", classes="graph"):
            for line in picture.lines:
                _draw_line(line)
            for one in picture.placed:
                self._draw_node(one)

    def _draw_node(self, one: Placed) -> None:
        node = tag(
            "button",
            one_line(one.name, 26),
            classes=f"node ring-{one.depth}",
            type="button",
            title=visible(one.name[:200]),
        )
        node.style(f"left:{one.x / WIDTH * 100:.2f}%;top:{one.y / HEIGHT * 100:.2f}%")
        if one.depth:
            node.on("click", partial(self.show, one.name), [])


def _draw_line(line: Line) -> None:
    triple = line.visit.triple
    tone = "together" if triple.weight <= SEEN_TOGETHER else ""
    with tag("div", classes=f"edge {tone}", aria_hidden="true") as edge:
        if not tone and line.visit.depth == 1:
            word = tag("span", triple.predicate.value.replace("_", " "), classes="edge-word")
            if abs(line.angle) > 90:
                word.style("transform:translate(-50%,-50%) rotate(180deg)")
    edge.style(
        f"left:{line.x / WIDTH * 100:.2f}%;top:{line.y / HEIGHT * 100:.2f}%;"
        f"width:{line.length / WIDTH * 100:.2f}%;transform:rotate({line.angle:.2f}deg)"
    )


def _row(visit: Visit) -> Sequence[Cell]:
    triple = visit.triple
    since = triple.valid_from or triple.recorded_at
    ended = "" if triple.valid_until is None else f" until {triple.valid_until:%Y-%m-%d}"
    source = f"{triple.source.kind} {triple.source.key}"
    return (
        one_line(triple.subject, 60),
        f"{triple.predicate.value.replace('_', ' ')}{ended}",
        one_line(triple.object, 60),
        partial(moment, since),
        one_line(source, 60),
    )


async def reach_of(visitor: Visitor) -> Reach:
    """What somebody sees of the graph: everything of the tenant, or what a key that is for somebody reaches."""
    mine: Any = visitor.identifiers({})
    if visitor.grant.bound:
        return Reach.of(await visitor.rooms.memory.scope_names(**mine))
    counted = await visitor.rooms.scopes.list(limit=_MOST_SCOPES)
    scopes = [resolve_scope(visitor.rooms.name, one.identifiers, one.layer, operation="graph") for one in counted]
    return Reach.of(scope_key(scope).key for scope in scopes)


async def _build(frame: Frame) -> None:
    with_style()
    with_style("known.css")
    visitor = await frame.visitor()
    if is_on(visitor.rooms.graph.settings.enabled, "The graph", "LAMINA_GRAPH__ENABLED"):
        await Graph(frame).draw()


PAGE = Page(
    path="/graph",
    title="Graph",
    icon="hub",
    group="Known",
    lead="Who and what is related to what, read from what was said. Choose an entity to see what is around it.",
    build=_build,
)
