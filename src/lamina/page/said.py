"""What was said in a session, a stretch at a time: long sessions stay as quick as short ones."""

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Final

from nicegui import ui
from nicegui.element import Element

from lamina.page.entry import moment
from lamina.page.pieces import action, badge, tag
from lamina.page.text import code, excerpt, one_line
from lamina.page.trace import Mention, Trace
from lamina.session.types import Attachment, Message, Part, ToolCall

STRETCH: Final = 40
_BEFORE: Final = 8
_MOST_MENTIONS: Final = 6

GoTo = Callable[[int], Awaitable[None]]
OpenNote = Callable[[str], Awaitable[None]]


def stretch_around(sequence: int, last: int) -> int:
    """The first message of the stretch that shows a message with a few before it."""
    return max(1, min(sequence - _BEFORE, last - STRETCH + 1))


def told(message: Message, longest: int) -> str:
    """A message on one line: its text, or what was asked of a tool and what that answered."""
    called = (f"asks for {call.name} {call.arguments}" for call in message.calls)
    answered = (f"{result.name or 'tool'}: {result.content}" for result in message.results)
    return one_line(message.content or "; ".join((*called, *answered)) or "nothing but an attachment", longest)


class SaidPane:
    """The messages being read, and the way to the others."""

    def __init__(self, trace: Trace, *, go_to: GoTo, open_note: OpenNote) -> None:
        self._trace = trace
        self._last = 0
        self._go_to = go_to
        self._open_note = open_note
        self._head: Element
        self._list: Element

    def draw(self) -> None:
        """Draw the pane; `show` fills it."""
        self._head = tag("div", classes="pane-head")
        self._list = tag("div", classes="pane", tabindex="0", role="region", aria_label="Messages")

    def show(self, messages: Collection[Message], *, at: int, last: int, marked: Collection[int] = ()) -> None:
        """Show messages of `last` in all; the one at `at` comes into view, marked ones stand out."""
        self._last = last
        first = min((one.sequence for one in messages), default=1)
        final = max((one.sequence for one in messages), default=0)
        self._head.clear()
        with self._head:
            self._draw_head(first, final)
        self._list.clear()
        with self._list:
            for one in messages:
                self._draw_message(one, chosen=one.sequence == at, marked=one.sequence in marked)
        # Only the pane scrolls, and it may be drawn a moment after this.
        self._list.client.run_javascript(
            f"requestAnimationFrame(() => {{ const pane = getHtmlElement({self._list.id});"
            f" const one = pane?.querySelector('[data-sequence=\"{int(at)}\"]');"
            " if (one) pane.scrollTop = one.offsetTop - pane.offsetTop - 40; });"
        )

    def _draw_head(self, first: int, final: int) -> None:
        tag("h2", f"Messages {first:,} to {final:,} of {self._last:,}" if final else "Messages")
        with tag("div", classes="row"):
            earlier = action("Earlier", partial(self._go_to, max(1, first - STRETCH + _BEFORE)))
            later = action("Later", partial(self._go_to, min(self._last, final + 1 + _BEFORE)))
            newest = action("Newest", partial(self._go_to, self._last))
            earlier.set_enabled(first > 1)
            later.set_enabled(final < self._last)
            newest.set_enabled(final < self._last)
            number = ui.number("Go to", min=1, max=self._last, precision=0).props("outlined dense").classes("jump")
            number.on("keydown.enter", lambda: self._jump(number), [])

    async def _jump(self, number: ui.number) -> None:
        if number.value is not None:
            await self._go_to(max(1, min(self._last, int(number.value))))

    def _draw_message(self, message: Message, *, chosen: bool, marked: bool) -> None:
        classes = f"said {message.role}" + (" chosen" if chosen else "") + (" marked" if marked else "")
        with tag("article", classes=classes, data_sequence=str(message.sequence)):
            with tag("div", classes="said-head"):
                tag("span", f"#{message.sequence}", classes="said-number")
                tag("strong", message.role.value)
                if message.author:
                    tag("span", one_line(message.author, 60))
                moment(message.at)
                tag("span", f"{message.tokens:,} tokens")
                if message.archived_at is not None:
                    badge("archived")
            if message.content:
                excerpt(message.content, lines=6)
            for part in message.parts:
                _draw_part(part)
            self._draw_mentions(self._trace.mentions(message.sequence))

    def _draw_mentions(self, mentions: Collection[Mention]) -> None:
        if not mentions:
            return
        with tag("div", classes="mentions"):
            tag("span", "noted in")
            for one in list(mentions)[:_MOST_MENTIONS]:
                name = f"note {one.number}" if one.number else "set aside"
                link = tag("button", f"{name}: {one.entry.kind}", classes="hop", type="button")
                link.props["title"] = one_line(one.entry.text, 200)
                link.on("click", partial(self._open_note, one.entry.id), [])
            if len(mentions) > _MOST_MENTIONS:
                tag("span", f"and {len(mentions) - _MOST_MENTIONS} more lines")


def _draw_part(part: Part) -> None:
    if isinstance(part, ToolCall):
        with tag("details", classes="part"):
            tag("summary", f"asks for {one_line(part.name, 60)}")
            code(part.arguments)
    elif isinstance(part, Attachment):
        tag("div", f"attached: {one_line(part.name or part.media_type, 100)}", classes="part")
    else:
        with tag("details", classes="part bad" if part.is_error else "part"):
            failed = " failed: " if part.is_error else " answered: "
            tag("summary", one_line(f"{part.name or 'tool'}{failed}{part.content}", 140))
            code(part.content)
