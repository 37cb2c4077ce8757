"""One memory, laid open: where else it is known and which layer wins, what it said before, and changing it."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from nicegui.element import Element

from lamina.access.types import Right
from lamina.errors import ConflictError, InvalidInputError, LaminaError, MemoryNotFoundError
from lamina.memory.service import KEEP, MemoryService
from lamina.memory.types import Identifiers, MemoryEntry, Revision, Source
from lamina.page.address import session_address
from lamina.page.entry import TagField, facts, field, json_text, moment, tags_of, text_area
from lamina.page.pieces import tag
from lamina.page.sheet import Changed, Sheet, Version, draw_conflict, draw_versions
from lamina.page.shell import Frame
from lamina.page.text import code, one_line, stored, visible
from lamina.visitor import Visitor

_LONGEST_QUESTION = 2_000


class MemorySheet(Sheet):
    """A memory and everything known about it, as whoever has these identifiers sees it."""

    def __init__(self, frame: Frame, entry: MemoryEntry, looking_as: Identifiers, *, changed: Changed) -> None:
        super().__init__(frame, changed=changed)
        self._entry = entry
        self._looking_as = looking_as.to_dict()
        self._history: tuple[Revision, ...] = ()
        self._stronger: MemoryEntry | None = None
        self._weaker: list[MemoryEntry] = []
        self._not_compared: str | None = None

    @property
    def title(self) -> str:
        """The layer it is in."""
        return f"{self._entry.layer} memory"

    @property
    def may_change(self) -> bool:
        """Whether the key may write, and in this layer."""
        grant = self.frame.grant
        own = {*self._looking_as, *grant.identifiers.to_dict()}
        return self.frame.may(Right.WRITE) and (not grant.bound or own >= set(self._entry.layer.required))

    async def load(self) -> None:
        """Read the memory, its history, and what says the same elsewhere. Raises MemoryNotFoundError."""
        visitor, given = await self._enter(Right.READ)
        memory = visitor.rooms.memory
        self._entry = await self._current(visitor, given)
        self._history = await memory.history(self._entry.id, **given)
        try:
            await self._compare(memory, given)
        except LaminaError as error:  # such as an embedder that cannot be reached: the memory itself is there
            self._not_compared = error.code

    async def _compare(self, memory: MemoryService, given: Any) -> None:
        """Ask as an agent would, and see what is left out for whom."""
        id = self._entry.id
        alike = await memory.search(self._entry.content[:_LONGEST_QUESTION], limit=20, **given)
        kept = [one.kept_id for one in alike.duplicates if one.id == id]
        left_out = [one.id for one in alike.duplicates if one.kept_id == id]
        self._stronger = await memory.get(kept[0], **given) if kept else None
        self._weaker = [found for one in left_out if (found := await memory.get(one, **given)) is not None]
        self._not_compared = None

    def draw(self) -> None:
        """Draw the text, which layer wins, the facts and the history."""
        entry = self._entry
        stored(entry.content, classes="main-text")
        self._draw_alike()
        source = entry.source
        facts(
            [
                ("Layer", f"{entry.layer}, precedence {entry.layer.precedence} of 7"),
                *((name, value) for name, value in entry.identifiers.to_dict().items()),
                ("Tags", (lambda: tags_of(entry.tags)) if entry.tags else None),
                ("Added", lambda: moment(entry.created_at)),
                ("Changed", lambda: moment(entry.updated_at)),
                ("Expires", None if entry.expires_at is None else f"{entry.expires_at:%Y-%m-%d %H:%M} UTC"),
                ("Came from", None if source is None else partial(_draw_source, source)),
                ("Metadata", (lambda: code(json_text(entry.metadata))) if entry.metadata else None),
                ("Id", entry.id),
            ]
        )
        draw_versions([Version(number=one.version, text=one.content, at=one.changed_at) for one in self._history])

    def _draw_alike(self) -> None:
        if self._not_compared is not None:
            tag("p", f"{self._not_compared}: whether another layer says the same is not known.", classes="note")
            return
        if self._stronger is None and not self._weaker:
            return
        with tag("div", classes="conflict"):
            if self._stronger is not None:
                tag("p", f"Searches leave this out: the {self._stronger.layer} layer is stronger and says the same.")
                tag("p", one_line(self._stronger.content, 300), classes="stored")
            for one in self._weaker:
                tag("p", f"The {one.layer} layer says the same and is left out of searches, because this one wins.")
                tag("p", one_line(one.content, 300), classes="stored")

    def draw_form(self, form: Element) -> None:
        """Draw the fields, filled with what the memory is now."""
        entry = self._entry
        content = text_area("Text", entry.content)
        tags = TagField("Tags", entry.tags)
        until = "" if entry.expires_at is None else f"{entry.expires_at.astimezone(UTC):%Y-%m-%dT%H:%M}"
        expires = field("Expires (UTC)", until)
        expires.props("type=datetime-local stack-label clearable")
        metadata = text_area("Metadata to add or replace (JSON)", "")
        place = tag("div")

        async def save(version: int) -> None:
            visitor, given = await self._enter(Right.WRITE)
            now = await self._current(visitor, given)
            visitor.require_own(now.layer, given)
            if now.version != version:
                clash = ConflictError(f"Somebody changed it meanwhile; it is at version {now.version}.")
                keep, take = (lambda: save(now.version)), self.show
                draw_conflict(place, clash, now.content, content.value, keep=keep, take=take)
                return
            await visitor.rooms.memory.update(
                now.id,
                content=content.value,
                tags=tags.tags,
                metadata=_parsed(metadata.value),
                expires_at=KEEP if (expires.value or "") == until else _moment(expires.value),
                **given,
            )
            await self.saved("Saved.")

        form.on("submit.prevent", lambda: save(entry.version), [])

    def consequences(self) -> Sequence[str]:
        """What goes with the memory, and what stays known."""
        earlier = len(self._history) - 1
        gone = [f"“{one_line(self._entry.content, 120)}”"]
        if earlier > 0:
            gone.append(f"{earlier} earlier {'version' if earlier == 1 else 'versions'} of it")
        gone.append("its vector, its place in the index, and what the graph read from it")
        still = [one.layer.value for one in (*self._weaker, *filter(None, [self._stronger]))]
        return [*gone, *(f"The {layer} layer still says the same." for layer in still)]

    async def delete(self) -> None:
        """Delete the memory with everything derived from it."""
        visitor, given = await self._enter(Right.WRITE)
        visitor.require_own(self._entry.layer, given)
        await visitor.rooms.memory.delete(self._entry.id, **given)

    async def _enter(self, right: Right) -> tuple[Visitor, Any]:
        visitor = await self.frame.visitor()
        visitor.require(right)
        return visitor, visitor.identifiers(self._looking_as)

    async def _current(self, visitor: Visitor, given: Any) -> MemoryEntry:
        now = await visitor.rooms.memory.get(self._entry.id, **given)
        if now is None:
            raise MemoryNotFoundError("The memory is gone: deleted, or expired.", details={"id": self._entry.id})
        return now


def _draw_source(source: Source) -> None:
    """Where a memory comes from, with the way to the message where it was said."""
    tag("span", visible(", ".join(part for part in (source.kind, source.author, source.reference) if part)))
    if source.conversation is not None:
        place = f"{source.conversation} #{source.sequence}" if source.sequence else source.conversation
        tag("span", " in ")
        tag("a", one_line(place, 120), href=session_address(source.conversation, at=source.sequence))


def _parsed(text: str | None) -> dict[str, Any] | None:
    """The metadata typed in; None for nothing. Raises InvalidInputError."""
    if not (text or "").strip():
        return None
    try:
        value = json.loads(text or "")
    except ValueError as error:
        raise InvalidInputError(f"The metadata is not JSON: {error}.", details={"field": "metadata"}) from None
    if not isinstance(value, dict):
        raise InvalidInputError('Metadata is a JSON object, such as {"topic": "ui"}.', details={"field": "metadata"})
    return value


def _moment(text: str | None) -> datetime | None:
    """The moment typed in, in UTC; None for nothing. Raises InvalidInputError."""
    if not (text or "").strip():
        return None
    try:
        return datetime.fromisoformat(text or "").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInputError("That is no date and time.", details={"field": "expires_at"}) from None
