"""The audit log: what was done, by whom, to what. Rows are only ever added."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import urlencode

from nicegui import ui
from nicegui.element import Element

from lamina.access.types import Right
from lamina.knowledge.types import AuditPage, AuditRow
from lamina.page.entry import field, json_text, moment, with_style
from lamina.page.pieces import Cell, action, card, nothing, table, tag
from lamina.page.shell import Frame, Page
from lamina.page.text import code, one_line

_PAGE: Final = 50
_FILTERS: Final = {"action": "Action", "actor": "By", "target": "To", "session_key": "Session"}


class Audit:
    """The page as one browser has it open."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._wanted = {name: frame.query[name] for name in _FILTERS if frame.query.get(name)}
        self._shown: Element

    async def draw(self) -> None:
        """Draw the filters and the newest rows."""
        with card():
            with tag("form", classes="finder", role="search") as form:
                fields = {name: field(label, self._wanted.get(name, "")) for name, label in _FILTERS.items()}
                action("Show", lambda: None, kind="primary").props("type=submit")
            self._shown = tag("div", classes="stack", aria_live="polite")

        async def submit() -> None:
            given = {name: (one.value or "").strip() for name, one in fields.items()}
            await self._show({name: value for name, value in given.items() if value})

        form.on("submit.prevent", submit, [])
        await self._show(self._wanted)

    async def _show(self, wanted: Mapping[str, str]) -> None:
        self._wanted = dict(wanted)
        page = await self._read(None)
        ui.navigate.history.replace(f"/audit?{urlencode(self._wanted)}" if self._wanted else "/audit")
        self._shown.clear()
        with self._shown:
            self._draw_page(page)

    async def _read(self, cursor: str | None) -> AuditPage:
        visitor = await self._frame.visitor()
        visitor.require_unbound(Right.ADMIN)
        return await visitor.rooms.audit.list(**self._wanted, limit=_PAGE, cursor=cursor)

    def _draw_page(self, page: AuditPage) -> None:
        if not page.rows:
            nothing("Nothing was done that fits." if self._wanted else "Nothing was done yet.")
            return
        table(("When", "Action", "By", "To", "Details"), map(_row, page.rows), label="What was done").classes("audit")
        if page.next_cursor is not None:
            with tag("div", classes="row") as foot:
                action("Older rows", partial(self._more, page.next_cursor, foot))

    async def _more(self, cursor: str, foot: Element) -> None:
        page = await self._read(cursor)
        if not foot.is_deleted:
            foot.delete()
            with self._shown:
                self._draw_page(page)


def _row(row: AuditRow) -> Sequence[Cell]:
    return (
        partial(moment, row.at),
        one_line(row.action, 60),
        one_line(row.actor, 60),
        None if row.target is None else one_line(row.target, 90),
        partial(_details, row),
    )


def _details(row: AuditRow) -> None:
    told = {**row.details, **({} if row.session_key is None else {"session_key": row.session_key})}
    if not told:
        return
    with tag("details", classes="excerpt"):
        tag("summary", one_line(", ".join(f"{name} {value}" for name, value in told.items()), 90))
        code(json_text(told))


async def _build(frame: Frame) -> None:
    with_style()
    await Audit(frame).draw()


PAGE = Page(
    path="/audit",
    title="Audit",
    icon="fact_check",
    group="Kept",
    lead="What was done, by whom and to what, newest first. Rows are only added, never changed; secrets are hidden.",
    build=_build,
    right=Right.ADMIN,
    whole_tenant=True,
)
