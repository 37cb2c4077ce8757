"""A stored text laid open at the side of the page: its facts, its history, and changing it without losing a word."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from nicegui import ui
from nicegui.element import Element

from lamina.errors import LaminaError
from lamina.page.entry import changes, confirm, moment
from lamina.page.pieces import action, tag
from lamina.page.shell import Frame
from lamina.page.text import stored

Changed = Callable[[], Awaitable[None]]
"""Called when something was changed or deleted, to show the page behind anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One state of a text."""

    number: int
    text: str
    at: datetime
    told: str = ""
    """What else is worth knowing about it."""


class Sheet(ABC):
    """One text, opened. A kind of text says what it shows and how it is changed; the rest is here.

    Somebody else may have changed a text that is being edited. Then nothing is saved, both texts are shown, and what
    was typed stays until its writer has decided.
    """

    def __init__(self, frame: Frame, *, changed: Changed) -> None:
        self.frame = frame
        self._changed = changed
        self._dialog: ui.dialog
        self._anchor: Element
        self._box: Element

    @property
    @abstractmethod
    def title(self) -> str:
        """What the text is called."""

    @property
    @abstractmethod
    def may_change(self) -> bool:
        """Whether to draw what changes it."""

    @abstractmethod
    async def load(self) -> None:
        """Read the text and what belongs to it. Raises LaminaError where it is gone."""

    @abstractmethod
    def draw(self) -> None:
        """Draw the text and its facts."""

    @abstractmethod
    def draw_form(self, form: Element) -> None:
        """Draw the fields of a change, and `submit` with `save`."""

    @abstractmethod
    def consequences(self) -> Sequence[str]:
        """What goes when it is deleted."""

    @abstractmethod
    async def delete(self) -> None:
        """Delete it. Raises LaminaError."""

    async def open(self) -> None:
        """Show it."""
        await self.load()
        # A dialog goes with whatever it was opened from, and the row of a list goes whenever the list is shown anew.
        with ui.context.client.layout, tag("div") as self._anchor:
            self._dialog = ui.dialog().props("position=right full-height transition-duration=120")
        self._dialog.props["aria-label"] = self.title
        with self._dialog, tag("div", classes="card sheet") as self._box:
            self._draw_all()
        self._dialog.on("hide", self._put_away, [])
        self._dialog.open()

    def _put_away(self) -> None:
        for one in (self._dialog, self._anchor):
            if not one.is_deleted:
                one.delete()

    def _draw_all(self) -> None:
        with tag("div", classes="sheet-head"):
            tag("h2", self.title)
            with tag("div", classes="row"):
                if self.may_change:
                    action("Edit", self._edit)
                    action("Delete", self._ask, kind="danger")
                action("Close", self._dialog.close)
        self.draw()

    async def show(self) -> None:
        """Read it again and show it as it is now."""
        await self.load()
        self._dialog.props(remove="persistent")
        self._box.clear()
        with self._box:
            self._draw_all()

    def _edit(self) -> None:
        self._dialog.props("persistent")  # neither Escape nor a click beside it throws away what is being typed
        self._box.clear()
        with self._box:
            tag("h2", f"Edit {self.title}")
            with tag("form") as form:
                self.draw_form(form)
                with tag("div", classes="row"):
                    action("Save", lambda: None, kind="primary").props("type=submit")
                    action("Leave it as it was", self.show).props("type=button")

    async def saved(self, told: str) -> None:
        """Say that a change was made, and show the page and the text as they are now."""
        self.frame.say(told)
        await self.show()
        await self._changed()

    async def _ask(self) -> None:
        if not await confirm(f"Delete {self.title}?", self.consequences()):
            return
        await self.delete()
        self.frame.say("Deleted.")
        self._dialog.close()
        await self._changed()


def draw_versions(versions: Sequence[Version]) -> None:
    """Every state, the newest first, each with what changed against the one before it."""
    tag("h3", "History")
    ordered = sorted(versions, key=lambda one: one.number, reverse=True)
    with tag("div"):
        for place, one in enumerate(ordered):
            with tag("div", classes="version"):
                with tag("div", classes="version-head"):
                    tag("span", f"version {one.number}")
                    moment(one.at)
                    tag("span", one.told)
                if place + 1 < len(ordered):
                    changes(ordered[place + 1].text, one.text)
                else:
                    stored(one.text)


def draw_conflict(place: Element, error: LaminaError, theirs: str, mine: str, *, keep: Changed, take: Changed) -> None:
    """Show that somebody else was faster: what differs, and the two ways on."""
    place.clear()
    with place, tag("div", classes="conflict", role="alert"):
        tag("p", f"{error.code}: {error.message}")
        changes(theirs, mine)
        with tag("div", classes="row"):
            action("Save mine over it", keep, kind="primary").props("type=button")
            action("Take theirs", take).props("type=button")
