"""Learnings: which errors of which tools are known, what helps, and how far that can be trusted."""

from collections.abc import Sequence
from typing import Final

from nicegui.element import Element

from lamina.learning.types import Learning, LearningCategory
from lamina.page.entry import moment, tags_of, with_style
from lamina.page.learning_sheet import LearningSheet, tone_of
from lamina.page.pieces import badge, bar, card, figure, tag, times
from lamina.page.sheet import Sheet
from lamina.page.shelf import Listing, Row, Shelf
from lamina.page.shell import Frame, Page
from lamina.page.switched import is_on
from lamina.page.text import one_line
from lamina.visitor import Visitor

_PAGE: Final = 25


class Learnings(Shelf[Learning]):
    """What was learned."""

    path = "/learnings"
    sort = "Category"
    kinds = tuple(one.value for one in LearningCategory)
    command = 'lamina learning correct "greeting a customer" "Use their first name"'

    async def search(self, visitor: Visitor, query: str, kind: str | None) -> Sequence[Row[Learning]]:
        """What fits a question, best first, also where nobody knows what helps."""
        hits = await visitor.rooms.learning.search(query, category=kind, unsolved=True, limit=50)
        return [Row(item=hit.learning, score=hit.score, parts=hit.explain) for hit in hits]

    async def list(self, visitor: Visitor, kind: str | None, cursor: str | None) -> Listing[Learning]:
        """One page of what was learned."""
        page = await visitor.rooms.learning.list(category=kind, limit=_PAGE, cursor=cursor)
        rows = [Row(item=one) for one in page.learnings]
        return Listing(rows=rows, total=page.total_count, next_cursor=page.next_cursor)

    def draw_row(self, item: Learning) -> tuple[Element, Element]:
        """When it applies, what helps, and how far that is trusted."""
        with tag("article", classes="entry") as row:
            with tag("button", classes="entry-open", type="button") as opener:
                tag("strong", one_line(_when(item), 160))
                tag("div", one_line(item.fix or "Nobody knows yet what helps.", 320))
            with tag("div", classes="entry-meta"):
                badge(item.category.value, tone="accent")
                with tag("span", classes="confidence"):
                    tag("span", f"{item.confidence:.2f}", classes="score-value")
                    bar(item.confidence, label=f"confidence {item.confidence:.2f}", tone=tone_of(item))
                tag("span", f"seen {times(item.occurrence_count)}")
                tags_of(item.tags)
                moment(item.last_seen_at)
        return opener, row

    def sheet(self, item: Learning) -> Sheet:
        """The learning with its trials."""
        return LearningSheet(self.frame, item, changed=self.show)


def _when(one: Learning) -> str:
    by_tool = one.tool is not None and one.trigger == f"tool:{one.tool}"
    return " · ".join(filter(None, (one.tool, "" if by_tool else one.trigger, one.diagnosis if by_tool else "")))


async def _build(frame: Frame) -> None:
    with_style()
    with_style("known.css")
    visitor = await frame.visitor()
    if not is_on(visitor.rooms.knowledge.settings.enabled, "Knowledge", "LAMINA_KNOWLEDGE__ENABLED"):
        return
    told = await visitor.rooms.learning.statistics()
    with card(), tag("div", classes="figures"):
        figure("Learnings", f"{told.total_count:,}", note=f"{told.fix_count:,} with a fix")
        figure("Trusted solutions", f"{told.solution_count:,}", note="these are offered to agents")
        average = "–" if told.average_confidence is None else f"{told.average_confidence:.2f}"
        figure("Average confidence", average)
        figure("Errors seen", f"{told.total_occurrences:,}")
        figure("Fixes that helped", f"{told.total_successes:,}", note=f"{told.total_failures:,} did not")
    await Learnings(frame).draw()


PAGE = Page(
    path="/learnings",
    title="Learnings",
    icon="school",
    group="Known",
    lead="What agents learned from tools that failed and from people who corrected them. Confidence moves with "
    "every outcome; what is trusted is offered before the error happens again.",
    build=_build,
)
