"""Knowledge and references: what the whole tenant knows, by name."""

from collections.abc import Sequence
from typing import Final

from nicegui.element import Element

from lamina.knowledge.types import Category, KnowledgeEntry, Reference, ReferenceType
from lamina.page.entry import moment, tags_of, with_style
from lamina.page.knowledge_sheet import KnowledgeSheet, ReferenceSheet
from lamina.page.pieces import badge, tag, times
from lamina.page.sheet import Sheet
from lamina.page.shelf import Listing, Row, Shelf
from lamina.page.shell import Frame, Page
from lamina.page.switched import is_on
from lamina.page.text import one_line
from lamina.visitor import Visitor

_PAGE: Final = 25


class KnownTexts(Shelf[KnowledgeEntry]):
    """Versioned knowledge."""

    path = "/knowledge"
    sort = "Category"
    kinds = tuple(one.value for one in Category)
    command = 'lamina knowledge save deploy-rule "Never deploy the web app on a Friday" --category rule'

    async def search(self, visitor: Visitor, query: str, kind: str | None) -> Sequence[Row[KnowledgeEntry]]:
        """What fits a question, best first."""
        hits = await visitor.rooms.knowledge.search(query, category=kind, limit=50)
        return [Row(item=hit.entry, score=hit.score, parts=hit.explain) for hit in hits]

    async def list(self, visitor: Visitor, kind: str | None, cursor: str | None) -> Listing[KnowledgeEntry]:
        """One page of what is known."""
        page = await visitor.rooms.knowledge.list(category=kind, limit=_PAGE, cursor=cursor)
        rows = [Row(item=one) for one in page.entries]
        return Listing(rows=rows, total=page.total_count, next_cursor=page.next_cursor)

    def draw_row(self, item: KnowledgeEntry) -> tuple[Element, Element]:
        """The key, the text, and how often it was used."""
        with tag("article", classes="entry") as row:
            with tag("button", classes="entry-open", type="button") as opener:
                tag("strong", one_line(item.key, 120))
                tag("div", one_line(item.content, 320))
            with tag("div", classes="entry-meta"):
                badge(item.category.value, tone="accent")
                tags_of(item.tags)
                moment(item.updated_at)
                if item.version > 1:
                    tag("span", f"version {item.version}")
                if item.use_count:
                    tag("span", f"used {times(item.use_count)}")
        return opener, row

    def sheet(self, item: KnowledgeEntry) -> Sheet:
        """The entry with its versions."""
        return KnowledgeSheet(self.frame, item, changed=self.show)


class KnownPlaces(Shelf[Reference]):
    """External references."""

    path = "/knowledge?shelf=references"
    sort = "Type"
    kinds = tuple(one.value for one in ReferenceType)
    command = (
        "lamina reference save deploy-guide --type wiki --location https://wiki.example/deploy "
        '--summary "How the web app is deployed"'
    )

    async def search(self, visitor: Visitor, query: str, kind: str | None) -> Sequence[Row[Reference]]:
        """What fits a question, best first."""
        hits = await visitor.rooms.references.search(query, type=kind, limit=50)
        return [Row(item=hit.reference, score=hit.score, parts=hit.explain) for hit in hits]

    async def list(self, visitor: Visitor, kind: str | None, cursor: str | None) -> Listing[Reference]:
        """One page of the references."""
        page = await visitor.rooms.references.list(type=kind, limit=_PAGE, cursor=cursor)
        rows = [Row(item=one) for one in page.references]
        return Listing(rows=rows, total=page.total_count, next_cursor=page.next_cursor)

    def draw_row(self, item: Reference) -> tuple[Element, Element]:
        """The name, what it is about, and where it is."""
        with tag("article", classes="entry") as row:
            with tag("button", classes="entry-open", type="button") as opener:
                tag("strong", one_line(item.name, 120))
                tag("div", one_line(item.summary, 320))
            with tag("div", classes="entry-meta"):
                badge(item.type.value, tone="accent")
                tag("span", one_line(item.location, 120), classes="mono")
                moment(item.updated_at)
        return opener, row

    def sheet(self, item: Reference) -> Sheet:
        """The reference."""
        return ReferenceSheet(self.frame, item, changed=self.show)


async def _build(frame: Frame) -> None:
    with_style()
    visitor = await frame.visitor()
    if not is_on(visitor.rooms.knowledge.settings.enabled, "Knowledge", "LAMINA_KNOWLEDGE__ENABLED"):
        return
    shelf: Shelf[KnowledgeEntry] | Shelf[Reference] = KnownTexts(frame)
    if frame.query.get("shelf") == "references":
        shelf = KnownPlaces(frame)
    with tag("div", classes="tabs", role="navigation", aria_label="Kinds of knowledge"):
        for title, kind in (("Knowledge", KnownTexts), ("References", KnownPlaces)):
            link = tag("a", title, href=kind.path)
            if isinstance(shelf, kind):
                link.props["aria-current"] = "page"
    await shelf.draw()


PAGE = Page(
    path="/knowledge",
    title="Knowledge",
    icon="menu_book",
    group="Known",
    lead="Rules, facts and definitions that everybody's agents share, each with every version it had, "
    "and where to read more.",
    build=_build,
)
