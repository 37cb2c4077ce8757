"""What the pages of stored texts have in common: moments, scores, tags, facts, changes, and asking before deleting."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from lamina.kernel.text import moment_text
from lamina.page.assets import asset
from lamina.page.difference import difference
from lamina.page.pieces import Cell, action, badge, tag
from lamina.page.text import visible

_SIGNALS: Final = {
    "lexical": "words",
    "vector": "meaning",
    "neighbour": "neighbours",
    "conversation": "conversation",
    "author": "author",
    "date": "date",
    "use": "use",
    "recency": "recency",
}


def with_style(name: str = "entry.css") -> None:
    """Load a style sheet of pages of stored texts; such a page begins with it."""
    ui.add_head_html(f'<link rel="stylesheet" href="{asset(name)}">')


def on_press(element: Element, open_it: Callable[[], Awaitable[None]]) -> None:
    """Open something when it is pressed, once for a press that is meant doubly."""
    element.on("click", open_it, [], throttle=0.6, trailing_events=False)


def moment(at: datetime) -> Element:
    """A moment in UTC, to the minute; the whole of it when pointed at."""
    return tag("time", f"{at.astimezone(UTC):%Y-%m-%d %H:%M}", datetime=moment_text(at), title=moment_text(at))


def score(value: float, parts: Mapping[str, float]) -> Element:
    """A relevance from 0 to 1 and the signals that make it up, drawn to scale and in words."""
    shares = [(name, part) for name, part in parts.items() if part >= 0.005]
    told = ", ".join(f"{_SIGNALS.get(name, name)} {part:.2f}" for name, part in shares)
    with tag("div", classes="score") as box:
        tag("span", f"{value:.2f}", classes="score-value")
        with tag("span", classes="score-bar", role="img", aria_label=f"relevance {value:.2f}: {told}"):
            for name, part in shares:
                tag("span", classes=f"signal-{name}").style(f"width:{min(part, 1.0) * 100:.1f}%")
        for name, part in shares:
            with tag("span", classes="score-part"):
                tag("i", classes=f"signal-{name}", aria_hidden="true")
                tag("span", f"{_SIGNALS.get(name, name)} {part:.2f}")
    return box


def tags_of(tags: Sequence[str], choose: Callable[[str], Awaitable[None]] | None = None) -> None:
    """Tags, each as a badge; pressed, one is chosen."""
    for one in tags:
        if choose is None:
            badge(visible(f"#{one}"))
        else:
            pressed = tag("button", visible(f"#{one}"), classes="badge tag", type="button")
            pressed.on("click", partial(choose, one), [])


def facts(rows: Sequence[tuple[str, Cell]]) -> Element:
    """Names and values below each other; a value of None or an empty one is left out."""
    with tag("dl", classes="facts") as box:
        for name, value in rows:
            if value is None or value == "":
                continue
            tag("dt", name)
            with tag("dd"):
                if callable(value):
                    value()
                else:
                    tag("span", visible(str(value)))
    return box


def json_text(value: object) -> str:
    """A value as JSON that a person can read."""
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)


def changes(old: str, new: str) -> Element:
    """A text with what was taken out of it and what was put in."""
    names = {"same": "span", "removed": "del", "added": "ins"}
    with tag("div", classes="stored") as box:
        for piece in difference(old, new):
            tag(names[piece.change], visible(piece.text))
    return box


async def confirm(title: str, consequences: Sequence[str], *, verb: str = "Delete") -> bool:
    """Ask before something that cannot be undone, with what it does; Escape and the first button leave all as it is."""
    with (
        ui.dialog() as dialog,
        tag("div", classes="card ask", role="alertdialog", aria_label=title),
    ):
        tag("h2", title)
        with tag("ul"):
            for one in consequences:
                tag("li", one)
        with tag("div", classes="row"):
            action("Keep it", lambda: dialog.submit(False)).props("autofocus")
            action(verb, lambda: dialog.submit(True), kind="danger")
    try:
        return await dialog is True
    finally:
        dialog.delete()


def field(label: str, value: str = "", *, placeholder: str = "") -> ui.input:
    """A line to type into."""
    return ui.input(label, value=value, placeholder=placeholder or None).props("outlined dense").classes("field")


def text_area(label: str, value: str) -> ui.textarea:
    """Lines to type into, as many as there are."""
    return ui.textarea(label, value=value).props("outlined dense autogrow").classes("field wide")


class TagField:
    """Tags to type in. Enter makes one, and so does going elsewhere: what was typed is not lost."""

    def __init__(
        self, label: str, tags: Sequence[str], *, changed: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._typed = ""
        self._chips = ui.input_chips(label, value=list(tags), new_value_mode="add-unique", on_change=changed)
        self._chips.props("outlined dense").classes("field")
        self._chips.on("input-value", self._type)
        self._chips.on("blur", self._leave, [])

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag, in the order they were typed."""
        return tuple(dict.fromkeys([*self._chips.value, *filter(None, [self._typed.strip()])]))

    def set(self, tags: Sequence[str]) -> None:
        """Put other tags in."""
        self._chips.set_value(list(tags))

    def _type(self, event: GenericEventArguments) -> None:
        self._typed = event.args if isinstance(event.args, str) else ""

    def _leave(self) -> None:
        self.set(self.tags)
        self._typed = ""


def choice(label: str, options: Mapping[str, str], value: str) -> ui.select:
    """One of several; names by value."""
    return ui.select(dict(options), label=label, value=value).props("outlined dense options-dense").classes("field")
