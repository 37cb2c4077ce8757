"""Quarantine: texts that read like instructions, held back from prompts until a person decides."""

from functools import partial
from typing import Final

from nicegui.element import Element

from lamina.access.types import Right
from lamina.context.quarantine import Case, State
from lamina.page.entry import confirm, moment, with_style
from lamina.page.pieces import action, badge, card, nothing, tag
from lamina.page.shell import Frame, Page
from lamina.page.text import excerpt, one_line
from lamina.visitor import Visitor

_MOST: Final = 200
_TABS: Final = {State.HELD: "Held back", State.RELEASED: "Released", State.PURGED: "Erased"}


class Held:
    """The page as one browser has it open."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        asked = frame.query.get("state")
        self._state = State(asked) if asked in set(State) else State.HELD
        self._shown: Element

    async def draw(self) -> None:
        """Draw the cases that the address asks for."""
        with tag("div", classes="tabs", role="navigation", aria_label="What became of them"):
            for state, title in _TABS.items():
                link = tag("a", title, href=f"/quarantine?state={state.value}")
                if state is self._state:
                    link.props["aria-current"] = "page"
        with card():
            self._shown = tag("div", classes="entries", aria_live="polite")
        await self.show()

    async def show(self) -> None:
        """Show the cases as they are now."""
        visitor = await self._enter()
        cases = await visitor.rooms.context.quarantine.list(state=self._state, limit=_MOST)
        self._shown.clear()
        with self._shown:
            for case in cases:
                self._draw(case)
            if not cases and self._state is State.HELD:
                nothing(
                    "Nothing is held back.",
                    "Texts that read like instructions are held back when context.suspicious is “quarantine”.",
                )
            elif not cases:
                nothing("Nothing here.")

    def _draw(self, case: Case) -> None:
        with tag("article", classes="entry"):
            excerpt(case.content or "Erased.", lines=4)
            with tag("div", classes="entry-meta"):
                badge(case.layer.value, tone="accent")
                tag("span", one_line(case.key, 80), classes="mono")
                tag("span", f"from {case.origin.value}")
                for reason in case.reasons:
                    badge(one_line(reason, 80), tone="warn")
                moment(case.held_at)
            if case.state is State.HELD:
                with tag("div", classes="row"):
                    action("Let it through", partial(self._release, case))
                    action("Erase the copy", partial(self._purge, case), kind="danger")

    async def _release(self, case: Case) -> None:
        visitor = await self._enter()
        await visitor.rooms.context.quarantine.release(case.id)
        await self._record(visitor, "quarantine_release", case)
        self._frame.say("Prompts may have it from now on.")
        await self.show()

    async def _purge(self, case: Case) -> None:
        lost = ["the copy that is kept here; the text in its own room stays", "it goes on being held back from prompts"]
        if not await confirm("Erase the copy?", lost, verb="Erase"):
            return
        visitor = await self._enter()
        await visitor.rooms.context.quarantine.purge([case.id])
        await self._record(visitor, "quarantine_purge", case)
        self._frame.say("Erased.")
        await self.show()

    async def _record(self, visitor: Visitor, action: str, case: Case) -> None:
        await visitor.rooms.audit.record(action=action, actor=visitor.grant.actor, target=case.id)

    async def _enter(self) -> Visitor:
        visitor = await self._frame.visitor()
        visitor.require_unbound(Right.ADMIN)
        return visitor


async def _build(frame: Frame) -> None:
    with_style()
    await Held(frame).draw()


PAGE = Page(
    path="/quarantine",
    title="Quarantine",
    icon="shield",
    group="Kept",
    lead="Texts that read like instructions to a model. They are held back from every prompt until you decide.",
    build=_build,
    right=Right.ADMIN,
    whole_tenant=True,
)
