"""One session: drawn, read, searched, with its notes and where they come from, and what they save."""

from collections.abc import Sequence
from functools import partial

from nicegui import ui
from nicegui.element import Element

from lamina.access.types import Right
from lamina.memory.types import MemoryLayer
from lamina.page.address import session_address
from lamina.page.economics import draw_economics
from lamina.page.entry import confirm, field, moment, score
from lamina.page.lanes import Drawing
from lamina.page.noted import NotedPane
from lamina.page.pieces import action, card, nothing, tag
from lamina.page.said import STRETCH, SaidPane, stretch_around, told
from lamina.page.shell import Frame
from lamina.page.text import one_line
from lamina.page.timeline import TimelineDrawing
from lamina.page.trace import Trace
from lamina.session.types import Recall, Session
from lamina.visitor import Visitor


class SessionView:
    """A session as one browser has it open."""

    def __init__(self, frame: Frame, key: str) -> None:
        self._frame = frame
        self._key = key
        self._note: str | None = frame.query.get("note")
        self._at = 1
        self._turn = 0
        self._box: Element
        self._session: Session
        self._trace: Trace
        self._drawing: TimelineDrawing | None = None
        self._said: SaidPane
        self._noted: NotedPane

    async def draw(self) -> None:
        """Draw the session. Raises SessionNotFoundError."""
        visitor = await self._enter(Right.READ)
        observation = visitor.rooms.observation
        self._session = await visitor.session(self._key)
        timeline, status = await observation.timeline(self._key), await observation.status(self._key)
        self._trace = Trace.of(timeline)
        last = timeline.last_sequence
        self._said = SaidPane(self._trace, go_to=self.go_to, open_note=self.open_note)
        self._noted = NotedPane(
            self._trace, observing=observation.desk is not None, go_to=self.go_to, open_note=self.open_note
        )
        with tag("div", classes="stack") as self._box:
            self._draw_head()
            with card("What it saves"):
                draw_economics(self._session, status)
            if (drawing := Drawing.of(timeline)) is not None:
                with card("Timeline", note="Press a stretch to read it, a number to open the note."):
                    self._drawing = TimelineDrawing(drawing, go_to=self.go_to, open_note=self.open_note)
                    self._drawing.draw()
            with tag("div", classes="panes"):
                with tag("section", classes="card"):
                    self._draw_recall()
                    self._said.draw()
                with tag("section", classes="card"):
                    self._noted.draw()
        self._noted.show(self._note)
        await self.go_to(_number(self._frame.query.get("at"), last))

    async def go_to(self, sequence: int, marked: Sequence[int] = ()) -> None:
        """Show a message with those around it; a later wish makes an earlier one void."""
        self._turn += 1
        turn, first = self._turn, stretch_around(sequence, self._session.last_sequence)
        visitor = await self._enter(Right.READ)
        session = await visitor.session(self._key)
        messages = await visitor.rooms.sessions.messages(self._key, after=first - 1, limit=STRETCH, archived=None)
        if turn != self._turn:
            return
        self._session, self._at = session, sequence  # more may have been said since
        self._said.show(messages, at=sequence, last=session.last_sequence, marked=marked)
        self._mark()

    async def open_note(self, id: str) -> None:
        """Show a note and, unless one of its lines is meant, the messages it begins with; an empty id closes it."""
        self._note = id or None
        self._noted.show(self._note)
        found = self._trace.note(id)
        if found is not None and found.note.id == id:
            await self.go_to(found.note.first_sequence)
        else:
            self._mark()

    def _mark(self) -> None:
        first = stretch_around(self._at, self._session.last_sequence)
        opened = None if self._note is None else self._trace.note(self._note)
        if self._drawing is not None:
            last = min(first + STRETCH - 1, self._session.last_sequence)
            self._drawing.mark(first, last, None if opened is None else opened.note.id)
        with self._box:  # what was pressed may be gone
            ui.navigate.history.replace(session_address(self._key, at=self._at, note=self._note))

    def _draw_head(self) -> None:
        session = self._session
        with tag("div", classes="session-head"):
            tag("a", "All sessions", href="/sessions")
            with tag("div", classes="row"):
                tag("h2", one_line(session.key, 200), classes="mono session-key")
                if self._frame.may(Right.WRITE):
                    action("Delete", self._ask, kind="danger")
            with tag("div", classes="entry-meta"):
                if session.user_id:
                    tag("span", f"user {one_line(session.user_id, 80)}")
                tag("span", f"{session.last_sequence:,} messages, {session.archived_count:,} of them archived")
                moment(session.created_at)
                tag("span", "to")
                moment(session.updated_at)

    def _draw_recall(self) -> None:
        with tag("form", classes="finder", role="search") as form:
            query = field("Recall", placeholder="Words or a question; archived messages are found as well")
            query.classes("wide")
            action("Recall", lambda: None).props("type=submit")
        found = tag("div", classes="entries recalled", aria_live="polite")

        async def submit() -> None:
            if not (query.value or "").strip():
                found.clear()
                return
            visitor = await self._enter(Right.READ)
            await visitor.session(self._key)
            recall = await visitor.rooms.sessions.recall(query.value, session_key=self._key, limit=10)
            found.clear()
            with found:
                self._draw_hits(recall)

        form.on("submit.prevent", submit, [])

    def _draw_hits(self, recall: Recall) -> None:
        if not recall:
            nothing("Nothing that was said here has to do with this.")
        for hit in recall:
            with tag("article", classes="entry"):
                line = f"#{hit.message.sequence}  {told(hit.message, 240)}"
                opener = tag("button", line, classes="entry-open", type="button")
                opener.on("click", partial(self.go_to, hit.message.sequence), [])
                score(hit.score, hit.signals)

    async def _ask(self) -> None:
        visitor = await self._enter(Right.WRITE)
        session = await visitor.session(self._key)
        kept = await visitor.rooms.scopes.list(layer=MemoryLayer.SESSION, text=self._key)
        mine = visitor.identifiers({"session_id": self._key})
        memories = sum(one.entries for one in kept if mine.items() <= one.identifiers.to_dict().items())
        archived = f", {session.archived_count:,} of them in the archive" if session.archived_count else ""
        gone = [
            f"{session.last_sequence:,} messages{archived}",
            *([f"{len(self._trace.notes):,} notes on them"] if self._trace.notes else []),
            *([f"{memories:,} memories of the session layer"] if memories else []),
            "vectors, receipts, what the graph read here, and the session's counters",
        ]
        if not await confirm(f"Delete {one_line(self._key, 60)} with everything made of it?", gone):
            return
        visitor = await self._enter(Right.WRITE)
        removed = (await visitor.delete_session(self._key)).removed
        self._box.clear()
        with self._box, card("The session is gone"):
            with tag("ul"):
                for kind, count in removed.items():
                    if count:
                        tag("li", f"{count:,} {kind.replace('_', ' ')}")
            tag("a", "All sessions", href="/sessions")

    async def _enter(self, right: Right) -> Visitor:
        visitor = await self._frame.visitor()
        visitor.require(right)
        return visitor


def _number(text: str | None, last: int) -> int:
    """The message an address asks for; the newest where it asks for none."""
    return max(1, min(int(text), last)) if text is not None and text.isdecimal() and len(text) < 12 else max(1, last)
