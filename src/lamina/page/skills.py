"""Skills: what agents can do by themselves, what waits for somebody's approval, and trying one."""

from collections.abc import Sequence
from typing import Final

from nicegui.element import Element

from lamina.page.entry import moment, with_style
from lamina.page.pieces import badge, tag, times
from lamina.page.sheet import Sheet
from lamina.page.shelf import Listing, Row, Shelf
from lamina.page.shell import Frame, Page
from lamina.page.skill_sheet import STATES, TONES, SkillSheet
from lamina.page.switched import is_on
from lamina.page.text import one_line
from lamina.skill.types import Skill, SkillStatus
from lamina.visitor import Visitor

_PAGE: Final = 25


class Skills(Shelf[Skill]):
    """The tenant's skills."""

    path = "/skills"
    sort = "Status"
    kinds = tuple(one.value for one in SkillStatus)
    command = 'lamina skill create greet --type template --description "Greets somebody" --text "Hello {{ name }}"'

    async def search(self, visitor: Visitor, query: str, kind: str | None) -> Sequence[Row[Skill]]:
        """What fits a question, best first."""
        hits = await visitor.rooms.skills.search(query, status=kind, limit=50)
        return [Row(item=hit.skill, score=hit.score, parts=hit.signals) for hit in hits]

    async def list(self, visitor: Visitor, kind: str | None, cursor: str | None) -> Listing[Skill]:
        """One page of the skills."""
        page = await visitor.rooms.skills.list(status=kind, limit=_PAGE, cursor=cursor)
        rows = [Row(item=one) for one in page.skills]
        return Listing(rows=rows, total=page.total_count, next_cursor=page.next_cursor)

    def draw_row(self, item: Skill) -> tuple[Element, Element]:
        """The name, what it does, and whether it may run."""
        with tag("article", classes="entry") as row:
            with tag("button", classes="entry-open", type="button") as opener:
                tag("strong", one_line(item.name, 120))
                tag("div", one_line(item.description, 320))
            with tag("div", classes="entry-meta"):
                badge(STATES[item.status], tone=TONES[item.status])
                badge(item.type.value)
                if item.version > 1:
                    tag("span", f"version {item.version}")
                if item.use_count:
                    tag("span", f"used {times(item.use_count)}, {item.success_count:,} with success")
                moment(item.updated_at)
        return opener, row

    def sheet(self, item: Skill) -> Sheet:
        """The skill with its check and its versions."""
        return SkillSheet(self.frame, item, changed=self.show)


async def _build(frame: Frame) -> None:
    with_style()
    visitor = await frame.visitor()
    if is_on(visitor.rooms.knowledge.settings.enabled, "Knowledge", "LAMINA_KNOWLEDGE__ENABLED"):
        await Skills(frame).draw()


PAGE = Page(
    path="/skills",
    title="Skills",
    icon="construction",
    group="Known",
    lead="What agents taught themselves. Each is checked and waits for approval; a script runs in a sandbox.",
    build=_build,
)
