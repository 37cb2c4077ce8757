"""How text that came from a store is shown: as text, whole, and with nothing in it that a reader cannot see."""

import re
from typing import Final

from nicegui import ui
from nicegui.element import Element

from lamina.page.pieces import tag

LONGEST: Final = 20_000
"""Characters of one text that a page shows; a longer one says how much is left out."""

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
"""Controls, marks that turn the direction of writing, and characters without any shape."""


def visible(text: str) -> str:
    """The text with everything that cannot be seen written out, as `⟨U+202E⟩`, and cut where it is too long to show."""
    shown = _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n")[:LONGEST])
    return shown if len(text) <= LONGEST else f"{shown}\n… {len(text) - LONGEST:,} more characters"


def one_line(text: str, longest: int = 160) -> str:
    """The beginning of a text on one line."""
    line = " ".join(visible(text[: longest * 2]).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def stored(text: str, *, classes: str = "") -> Element:
    """A text from a store, with its lines."""
    return tag("div", visible(text), classes=f"stored {classes}")


def excerpt(text: str, *, lines: int = 3, classes: str = "") -> Element:
    """The first lines of a text from a store, unfolded with a click or the keyboard where there are more."""
    if len(text) <= 80 * lines and text.count("\n") < lines:
        return stored(text, classes=classes)
    with tag("details", classes=f"excerpt {classes}") as shown:
        tag("summary", one_line(text, 80 * lines))
        stored(text)
    return shown


def code(text: str) -> ui.element:
    """A text from a store whose every space counts: a script, a record."""
    return tag("pre", visible(text), classes="code-block")
