"""Sessions: who talked, how long, how much of it is archived; and one of them with its timeline."""

from functools import partial
from typing import Final

from nicegui.element import Element

from lamina.access.types import Right
from lamina.page.address import session_address
from lamina.page.entry import field, moment, score, with_style
from lamina.page.pieces import action, card, nothing, tag
from lamina.page.said import told
from lamina.page.session_view import SessionView
from lamina.page.shell import Frame, Page
from lamina.page.text import one_line
from lamina.session.types import Recall, Session, SessionPage
from lamina.visitor import Visitor

_PAGE: Final = 50
_COLUMNS: Final = (
    ("Session", ""),
    ("User", ""),
    ("Messages", "number"),
    ("Archived", "number spare"),
    ("Tokens", "number spare"),
    ("Last message", ""),
)
"""Names, and how they are set; spare ones give way on a narrow screen."""


class SessionList:
    """The sessions there are, or those of one user, and what that user said in any of them."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._user = frame.grant.identifiers.user_id or frame.query.get("user", "")
        self._shown: Element
        self._rows: Element

    async def draw(self) -> None:
        """Draw the search and the newest sessions."""
        with card():
            self._draw_finder()
            self._shown = tag("div", aria_live="polite")
        await self._show("")

    def _draw_finder(self) -> None:
        mine = self._frame.grant.identifiers.user_id is not None
        with tag("form", classes="finder", role="search") as form:
            user = field("User", self._user, placeholder="everybody").props("readonly" if mine else "clearable")
            query = field("Recall", placeholder="What this user said, in any session").classes("wide")
            action("Search", lambda: None, kind="primary").props("type=submit")

        async def submit() -> None:
            self._user = (user.value or "").strip()
            await self._show((query.value or "").strip())

        form.on("submit.prevent", submit, [])

    async def _show(self, query: str) -> None:
        visitor = await self._enter()
        if query and self._user:
            recall = await recalled(visitor, query, self._user)
            self._shown.clear()
            with self._shown:
                self._draw_hits(recall)
            return
        page = await listed(visitor, self._user or None)
        self._shown.clear()
        with self._shown:
            if query:
                tag("p", "Name a user to search through what was said; sessions are listed below.", classes="note")
            self._draw_sessions(page)

    def _draw_sessions(self, page: SessionPage) -> None:
        if not page.sessions:
            nothing(
                "No conversation here yet.",
                "Point an OpenAI client at this address, connect an agent over MCP, or append a message.",
                command='lamina session append telegram:42:7 "Where did I park?" --user ana',
            )
            return
        with (
            tag("div", classes="table-box sessions", role="region", aria_label="Sessions", tabindex="0"),
            tag("table"),
        ):
            with tag("thead"), tag("tr"):
                for column, classes in _COLUMNS:
                    tag("th", column, scope="col", classes=classes)
            self._rows = tag("tbody")
        foot = tag("div", classes="row")
        self._draw_page(page, foot)

    def _draw_page(self, page: SessionPage, foot: Element) -> None:
        with self._rows:
            for session in page.sessions:
                _draw_session(session)
        foot.clear()
        with foot:
            if page.next_cursor is not None:
                action("Older ones", partial(self._more, page.next_cursor, foot))
            tag("span", f"{page.total_count:,} in all", classes="note")

    async def _more(self, cursor: str, foot: Element) -> None:
        page = await listed(await self._enter(), self._user or None, cursor)
        if not foot.is_deleted:
            self._draw_page(page, foot)

    def _draw_hits(self, recall: Recall) -> None:
        if not recall:
            nothing(
                "Nothing this user said has to do with this.", f"{recall.searched_sessions} sessions were searched."
            )
        for hit in recall:
            message = hit.message
            with tag("article", classes="entry"):
                href = session_address(message.session_key, at=message.sequence)
                tag("a", told(message, 240), href=href)
                with tag("div", classes="entry-meta"):
                    tag("span", f"{one_line(message.session_key, 80)} #{message.sequence}", classes="mono")
                    moment(message.at)
                score(hit.score, hit.signals)
        if recall.left_out_sessions:
            tag("p", f"{recall.left_out_sessions:,} older sessions were not searched.", classes="note")

    async def _enter(self) -> Visitor:
        visitor = await self._frame.visitor()
        visitor.require(Right.READ)
        return visitor


async def listed(visitor: Visitor, user_id: str | None, cursor: str | None = None) -> SessionPage:
    """One page of the sessions within reach, of one user where one is named. Raises ForbiddenError."""
    user = visitor.user(user_id)
    if (only := visitor.grant.identifiers.session_id) is not None:
        found = await visitor.conversation(only)
        sessions = () if found is None else (found,)
        return SessionPage(sessions=sessions, next_cursor=None, total_count=len(sessions))
    return await visitor.rooms.sessions.list(user_id=user, limit=_PAGE, cursor=cursor)


async def recalled(visitor: Visitor, query: str, user_id: str) -> Recall:
    """What a user said, in any session within reach. Raises ForbiddenError, SessionNotFoundError."""
    user, only = visitor.user(user_id), visitor.grant.identifiers.session_id
    if only is not None:
        await visitor.session(only)
    return await visitor.rooms.sessions.recall(query, session_key=only, user_id=user, limit=20)


def _draw_session(session: Session) -> None:
    with tag("tr"):
        with tag("td"):
            tag("a", one_line(session.key, 120), href=session_address(session.key), classes="mono")
        tag("td", one_line(session.user_id or "–", 80))
        tag("td", f"{session.last_sequence:,}", classes="number")
        for number in (session.archived_count, session.total_tokens):
            tag("td", f"{number:,}", classes="number spare")
        with tag("td"):
            moment(session.updated_at)


async def _build(frame: Frame) -> None:
    with_style()
    with_style("session.css")
    key = frame.query.get("key")
    await (SessionList(frame).draw() if not key else SessionView(frame, key).draw())


PAGE = Page(
    path="/sessions",
    title="Sessions",
    icon="forum",
    group="Known",
    lead="Conversations from the first word on: what was said, what became of it, and what a model is shown of it.",
    build=_build,
)
