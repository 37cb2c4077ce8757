"""Keys: who may come in, made and revoked."""

from collections.abc import Sequence
from datetime import UTC, datetime, time
from functools import partial
from typing import Any, Final

from nicegui.element import Element

from lamina.access.types import Key, NewKey, Right
from lamina.errors import InvalidInputError
from lamina.memory.types import IDENTIFIER_NAMES
from lamina.page.entry import choice, confirm, field, moment, with_style
from lamina.page.pieces import Cell, action, badge, card, nothing, table, tag
from lamina.page.shell import Frame, Page
from lamina.page.text import one_line
from lamina.visitor import Visitor

_RIGHTS: Final = {
    Right.READ.value: "read",
    Right.WRITE.value: "read and write",
    Right.ADMIN.value: "everything, keys and audit included",
}
_TONES: Final = {Right.READ: "", Right.WRITE: "accent", Right.ADMIN: "warn"}


class Keys:
    """The page as one browser has it open."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._made: Element
        self._shown: Element

    async def draw(self) -> None:
        """Draw the keys there are, and the way to another one."""
        self._made = tag("div", aria_live="assertive")
        with card("Keys"):
            self._shown = tag("div")
        with card("A new key", note="Its secret is shown once, when it is made."):
            self._draw_form()
        await self._show()

    async def _show(self) -> None:
        visitor = await self._enter()
        keys = await visitor.rooms.keys.list()
        self._shown.clear()
        with self._shown:
            if not keys:
                nothing(
                    "There is no key yet.",
                    "Without any, only programs of this machine come in. From the first one on, everybody needs one, "
                    "and this page asks for it too.",
                )
                return
            head = ("Name", "May", "For", "Made", "Last used", "Ends", "")
            table(head, [self._row(key) for key in keys], label="Keys")

    def _row(self, key: Key) -> Sequence[Cell]:
        bound = ", ".join(f"{name.removesuffix('_id')} {value}" for name, value in key.identifiers.to_dict().items())
        return (
            partial(_draw_name, key),
            partial(badge, key.right.value, tone=_TONES[key.right]),
            one_line(bound or "the whole tenant", 120),
            partial(moment, key.created_at),
            None if key.last_used_at is None else partial(moment, key.last_used_at),
            None if key.expires_at is None else partial(moment, key.expires_at),
            partial(self._draw_end, key),
        )

    def _draw_end(self, key: Key) -> None:
        if key.revoked_at is not None:
            badge("revoked", tone="bad")
        else:
            action("Revoke", partial(self._revoke, key), kind="danger")

    def _draw_form(self) -> None:
        with tag("form", classes="finder") as form:
            name = field("Name", placeholder="What it is for").classes("wide")
            # Whoever has no key yet needs one that can make others, or is locked out.
            first = self._frame.grant.key_id is None
            right = choice("May", _RIGHTS, Right.ADMIN.value if first else Right.WRITE.value)
            ends = field("Ends on", placeholder="2027-01-31")
            whose = {one: field(f"Only {one.removesuffix('_id')}") for one in IDENTIFIER_NAMES}
            action("Make it", lambda: None, kind="primary").props("type=submit")

        async def make() -> None:
            bound: Any = {one: given.value.strip() for one, given in whose.items() if (given.value or "").strip()}
            visitor = await self._enter()
            keys = visitor.rooms.keys.acting_as(visitor.grant.actor)
            made = await keys.create(name.value or "", right=right.value, expires_at=_day(ends.value or ""), **bound)
            for one in (name, ends, *whose.values()):
                one.value = ""
            self._draw_made(made)
            if self._frame.grant.key_id is not None:
                await self._show()

        form.on("submit.prevent", make, [])

    def _draw_made(self, made: NewKey) -> None:
        self._made.clear()
        with self._made, card("Copy it now", note="It is stored nowhere and cannot be shown again."):
            tag("code", made.secret, classes="command secret")
            tag("p", "Send it as “Authorization: Bearer …”, or as the API key of an OpenAI client.", classes="note")
            if self._frame.grant.key_id is None:
                tag("p", "From now on this page needs a key too. Copy this one, then log in with it.")
                tag("a", "Log in", href="/login")

    async def _revoke(self, key: Key) -> None:
        lost = ["whoever uses it is refused, within a second everywhere", "it cannot be given back"]
        if key.id == self._frame.grant.key_id:
            lost.append("you are logged in with it, so this page ends here")
        if not await confirm(f"Revoke {one_line(key.name, 60)}?", lost, verb="Revoke"):
            return
        visitor = await self._enter()
        await visitor.rooms.keys.acting_as(visitor.grant.actor).revoke(key.id)
        self._frame.say("Revoked.")
        await self._show()

    async def _enter(self) -> Visitor:
        visitor = await self._frame.visitor()
        visitor.require_unbound(Right.ADMIN)
        return visitor


def _draw_name(key: Key) -> None:
    tag("strong", one_line(key.name, 80))
    tag("div", key.id, classes="note mono")


def _day(text: str) -> datetime | None:
    """The end of a day in UTC, None for an empty text. Raises InvalidInputError."""
    if not text.strip():
        return None
    try:
        day = datetime.strptime(text.strip(), "%Y-%m-%d").date()
    except ValueError:
        raise InvalidInputError("A day is written as 2027-01-31.", details={"field": "expires_at"}) from None
    return datetime.combine(day, time.max, tzinfo=UTC)


async def _build(frame: Frame) -> None:
    with_style()
    with_style("known.css")
    await Keys(frame).draw()


PAGE = Page(
    path="/keys",
    title="Keys",
    icon="key",
    group="Kept",
    lead="Who may come in. A key belongs to this tenant, may do as much as it says, and can be for one person only.",
    build=_build,
    right=Right.ADMIN,
    whole_tenant=True,
)
