"""One piece of knowledge or one reference, laid open: its versions, how it is used, and changing it."""

from collections.abc import Sequence
from functools import partial

from nicegui.element import Element

from lamina.access.types import Right
from lamina.errors import ConflictError
from lamina.knowledge.types import Category, KnowledgeEntry, KnowledgeVersion, Origin, Reference, ReferenceType
from lamina.page.address import is_web_address
from lamina.page.entry import TagField, choice, facts, field, json_text, moment, tags_of, text_area
from lamina.page.pieces import tag, times
from lamina.page.shared_sheet import SharedSheet
from lamina.page.sheet import Changed, Version, draw_conflict, draw_versions
from lamina.page.shell import Frame
from lamina.page.text import code, one_line, stored, visible


class KnowledgeSheet(SharedSheet):
    """What is known under a key."""

    def __init__(self, frame: Frame, entry: KnowledgeEntry, *, changed: Changed) -> None:
        super().__init__(frame, changed=changed)
        self._entry = entry
        self._history: tuple[KnowledgeVersion, ...] = ()

    @property
    def title(self) -> str:
        """The key."""
        return one_line(self._entry.key, 80)

    async def load(self) -> None:
        """Read the entry and its versions. Raises KnowledgeNotFoundError."""
        knowledge = (await self.enter()).rooms.knowledge
        self._entry = await knowledge.get(self._entry.key)
        self._history = await knowledge.history(self._entry.key)

    def draw(self) -> None:
        """Draw the text, the facts and the history."""
        entry = self._entry
        stored(entry.content, classes="main-text")
        facts(
            [
                ("Category", entry.category.value),
                ("Tags", (lambda: tags_of(entry.tags)) if entry.tags else None),
                ("Said by", entry.origin.value),
                ("Source", entry.source),
                ("Relevance", f"{entry.relevance:.2f}"),
                ("Used", times(entry.use_count)),
                ("Last used", None if entry.last_used_at is None else partial(moment, entry.last_used_at)),
                ("First saved", lambda: moment(entry.created_at)),
                ("Key", entry.key),
            ]
        )
        draw_versions(
            [
                Version(
                    number=one.version, text=one.content, at=one.saved_at, told=f"{one.category}, by the {one.origin}"
                )
                for one in self._history
            ]
        )

    def draw_form(self, form: Element) -> None:
        """Draw the fields, filled with the latest version."""
        entry = self._entry
        content = text_area("Text", entry.content)
        category = choice("Category", {one.value: one.value for one in Category}, entry.category.value)
        tags = TagField("Tags", entry.tags)
        source = field("Source", entry.source or "")
        place = tag("div")

        async def save(version: int) -> None:
            visitor = await self.enter(to_change=Right.WRITE)
            knowledge = visitor.rooms.knowledge.acting_as(visitor.grant.actor)
            now = await knowledge.get(entry.key)
            if now.version != version:
                clash = ConflictError(f"Somebody saved it meanwhile; it is at version {now.version}.")
                keep, take = (lambda: save(now.version)), self.show
                draw_conflict(place, clash, now.content, content.value, keep=keep, take=take)
                return
            result = await knowledge.save(
                entry.key,
                content.value,
                category=category.value,
                tags=tags.tags,
                source=source.value or None,
                origin=Origin.USER,
            )
            told = "A secret in it was hidden." if result.redacted else ""
            await self.saved(f"{result.outcome.capitalize()}. {told}".strip())

        form.on("submit.prevent", lambda: save(entry.version), [])

    def consequences(self) -> Sequence[str]:
        """What goes with the key."""
        count = len(self._history)
        return [
            f"“{one_line(self._entry.content, 120)}”",
            "its only version" if count == 1 else f"all of its {count} versions",
            "its place in the index, and what the graph read from it",
        ]

    async def delete(self) -> None:
        """Forget the key."""
        visitor = await self.enter(to_change=Right.WRITE)
        await visitor.rooms.knowledge.acting_as(visitor.grant.actor).delete(self._entry.key)


class ReferenceSheet(SharedSheet):
    """An external reference. It has no versions: the one that was saved last counts."""

    def __init__(self, frame: Frame, reference: Reference, *, changed: Changed) -> None:
        super().__init__(frame, changed=changed)
        self._reference = reference

    @property
    def title(self) -> str:
        """The name."""
        return one_line(self._reference.name, 80)

    async def load(self) -> None:
        """Read the reference. Raises ReferenceNotFoundError."""
        self._reference = await (await self.enter()).rooms.references.get(self._reference.name)

    def draw(self) -> None:
        """Draw the summary and the facts."""
        one = self._reference
        stored(one.summary, classes="main-text")
        facts(
            [
                ("Type", one.type.value),
                ("Location", lambda: _location(one.location)),
                ("Said by", one.origin.value),
                ("Metadata", (lambda: code(json_text(one.metadata))) if one.metadata else None),
                ("First saved", lambda: moment(one.created_at)),
                ("Changed", lambda: moment(one.updated_at)),
            ]
        )

    def draw_form(self, form: Element) -> None:
        """Draw the fields, filled with what the reference is now."""
        one = self._reference
        summary = text_area("Summary", one.summary)
        type_ = choice("Type", {kind.value: kind.value for kind in ReferenceType}, one.type.value)
        location = field("Location", one.location).classes("wide")
        place = tag("div")

        async def save(seen: Reference) -> None:
            visitor = await self.enter(to_change=Right.WRITE)
            references = visitor.rooms.references.acting_as(visitor.grant.actor)
            now = await references.get(one.name)
            if now != seen:
                clash = ConflictError("Somebody saved it meanwhile.")
                keep, take = (lambda: save(now)), self.show
                draw_conflict(place, clash, now.summary, summary.value, keep=keep, take=take)
                return
            await references.save(
                one.name,
                type=type_.value,
                location=location.value,
                summary=summary.value,
                metadata=now.metadata,
                origin=Origin.USER,
            )
            await self.saved("Saved.")

        form.on("submit.prevent", lambda: save(one), [])

    def consequences(self) -> Sequence[str]:
        """What goes with the name."""
        return [f"“{one_line(self._reference.summary, 120)}”", "its place in the index"]

    async def delete(self) -> None:
        """Forget the reference."""
        visitor = await self.enter(to_change=Right.WRITE)
        await visitor.rooms.references.acting_as(visitor.grant.actor).delete(self._reference.name)


def _location(text: str) -> None:
    """Where something is: a link where following it does no more than opening a page elsewhere."""
    if is_web_address(text):
        tag("a", visible(text), href=text, rel="noopener noreferrer", target="_blank")
    else:
        tag("span", visible(text), classes="mono")
