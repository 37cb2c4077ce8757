"""The verbs of knowledge: what agents, doors and other rooms call.

While `knowledge.enabled` is off, nothing is kept and nothing is found: searches and listings are empty, use is not
counted, and what asks for one entry or wants to change one is told how to switch it on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lamina.database.link import Link
from lamina.database.slots import Slot, reset_slots, taken_slots
from lamina.database.texts import RemovedListener
from lamina.embedding.cached import Vector
from lamina.errors import KnowledgeNotFoundError, RateLimitedError
from lamina.kernel.checks import check_choice, check_name, check_number, check_share, check_tags, check_text
from lamina.kernel.saved import SavedListener, SavedText
from lamina.knowledge.named import NamedTextService
from lamina.knowledge.reading import entry_hits, entry_search, get_entry, get_versions, list_entries
from lamina.knowledge.rows import knowledge_scope, searched_text
from lamina.knowledge.types import (
    Category,
    KnowledgeEntry,
    KnowledgeHit,
    KnowledgePage,
    KnowledgeVersion,
    Origin,
    SaveResult,
)
from lamina.knowledge.writing import (
    KeyTakenError,
    Saved,
    SaveRequest,
    count_use,
    delete_entry,
    save_entry,
    shift_relevance,
)

SAVE_LIMIT: Final = "knowledge.max_saves_per_session"
LONGEST_SOURCE = 2048
_ATTEMPTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeService(NamedTextService):
    """What one tenant knows."""

    on_saved: SavedListener | None = None
    """Told of every text that was stored."""
    on_removed: RemovedListener | None = None
    """Removes what other rooms derived from a key, in the transaction that deletes it."""

    async def save(
        self,
        key: str,
        content: str,
        *,
        category: Category | str,
        tags: Sequence[str] | None = None,
        source: str | None = None,
        origin: Origin | str = Origin.AGENT,
        session_key: str | None = None,
    ) -> SaveResult:
        """Know this under the key: a first version, or a further one when content or category differ.

        The same content makes no version; tags and source that are given replace the old ones on it. Secrets in the
        text are hidden before it is stored. A new key takes one of the session's slots. Raises InvalidInputError
        (unknown category or origin included), ContentTooLongError, RateLimitedError that names the limit,
        ConfigurationError while knowledge is off.
        """
        with self._verb("knowledge_save"):
            self._require_enabled()
            session = self._session(session_key)
            text = check_text("content", content, longest=self.settings.max_content_length)
            request = await self._request(key, text, category, tags, source, origin, session)
            redacted = request.content != text
            try:
                saved = await self._save(request, session, redacted)
            except RateLimitedError as error:
                await self._record_refusal(request.key, error, session)
                raise
        if saved.outcome in ("created", "changed"):
            self._announce(saved, session)
        return SaveResult(entry=saved.entry, outcome=saved.outcome, redacted=redacted)

    async def get(self, key: str) -> KnowledgeEntry:
        """The latest version. Raises KnowledgeNotFoundError."""
        with self._verb("knowledge_get"):
            name = self._known_name(key)
            entry = await self.database.read(lambda link: get_entry(link, self.tenant, name))
            if entry is None:
                raise _not_found(name)
            return entry

    async def history(self, key: str) -> tuple[KnowledgeVersion, ...]:
        """Every version, newest first. Raises KnowledgeNotFoundError."""
        with self._verb("knowledge_history"):
            name = self._known_name(key)
            versions = await self.database.read(lambda link: get_versions(link, self.tenant, name))
            if not versions:
                raise _not_found(name)
            return versions

    async def delete(self, key: str, *, session_key: str | None = None) -> None:
        """Forget a key with all its versions and index rows. Raises KnowledgeNotFoundError."""
        with self._verb("knowledge_delete"):
            name = self._known_name(key)
            session = self._session(session_key)
            if not await self.database.write(lambda link: self._deleted(link, name, session)):
                raise _not_found(name)

    async def list(
        self, *, category: Category | str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> KnowledgePage:
        """One page of what is known, newest key first. Raises InvalidInputError, InvalidCursorError."""
        with self._verb("knowledge_list"):
            chosen = None if category is None else check_choice("category", category, Category)
            size = self._limit(limit, self.settings.list_limit)
            if not self.settings.enabled:
                return KnowledgePage(entries=(), next_cursor=None, total_count=0)
            return await self.database.read(
                lambda link: list_entries(link, self.tenant, category=chosen, limit=size, cursor=cursor)
            )

    async def search(
        self,
        query: str,
        *,
        category: Category | str | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        vector: Vector | None = None,
    ) -> tuple[KnowledgeHit, ...]:
        """Latest versions that fit the query, best first; use and age decide between equals (see `ranking`).

        A category is part of the query: the limit counts only what is in it. `vector` spares embedding a query that
        is searched in several places. Raises QueryTooLongError, InvalidInputError.
        """
        settings = self.settings
        with self._verb("knowledge_search"):
            text = self._checked_query(query)
            chosen = None if category is None else check_choice("category", category, Category)
            size = self._limit(limit, settings.search_limit)
            least = settings.threshold if threshold is None else check_share("threshold", threshold)
            if not settings.enabled:
                return ()
            search = entry_search(
                self.tenant, category=chosen, limit=size, threshold=least, now=self.clock.now(), settings=settings
            )
            return entry_hits(await self._found(search, await self._query(text, vector, "knowledge_search")))

    async def used(self, keys: Sequence[str]) -> int:
        """Count that entries were put before a model: use count and relevance rise; how many of them exist."""
        if not keys or not self.settings.enabled:
            return 0
        with self._verb("knowledge_used"):
            names = [check_name("key", key) for key in dict.fromkeys(keys)]
            now = self.clock.now()
            return await self.database.write(lambda link: count_use(link, self.tenant, names, now, self.settings))

    async def boost(self, key: str, delta: float) -> KnowledgeEntry:
        """Raise (or, below 0, lower) the relevance of one key, within bounds. Raises KnowledgeNotFoundError."""
        most = self.settings.relevance_ceiling
        with self._verb("knowledge_boost"):
            name = self._known_name(key)
            step = check_number("delta", delta, least=-most, most=most)
            moved = await self.database.write(
                lambda link: shift_relevance(link, self.tenant, step, self.settings, keys=[name])
            )
            if not moved:
                raise _not_found(name)
        return await self.get(name)

    async def decay(self, delta: float) -> int:
        """Lower the relevance of every key, never below the floor; how many keys there are."""
        with self._verb("knowledge_decay"):
            self._require_enabled()
            step = check_number("delta", delta, least=0, most=self.settings.relevance_ceiling)
            return await self.database.write(lambda link: shift_relevance(link, self.tenant, -step, self.settings))

    async def saves_taken(self, session_key: str) -> int:
        """How many of the session's slots for new keys are taken."""
        slot = self._slot(session_key)
        return await self.database.read(lambda link: taken_slots(link, slot))

    async def reset_saves(self, session_key: str) -> None:
        """Free every slot of a session."""
        slot = self._slot(session_key)
        await self.database.write(lambda link: reset_slots(link, slot))

    async def _request(
        self,
        key: str,
        text: str,
        category: Category | str,
        tags: Sequence[str] | None,
        source: str | None,
        origin: Origin | str,
        session: str | None,
    ) -> SaveRequest:
        name = self._new_name("key", key)
        chosen = check_choice("category", category, Category)
        speaker = check_choice("origin", origin, Origin)
        labels = None if tags is None else check_tags([*map(self._hide, check_tags(tags))])
        came_from = None if source is None else self._hide(check_text("source", source, longest=LONGEST_SOURCE))
        safe = await self._hide_long(text)
        terms, model_id = await self._indexable(searched_text(name, safe), "knowledge_save")
        return SaveRequest(
            tenant=self.tenant,
            key=name,
            category=chosen,
            content=safe,
            tags=labels,
            source=came_from,
            origin=speaker,
            now=self.clock.now(),
            indexable=terms,
            model_id=model_id,
            # A save outside of every session, such as a person's at a terminal, has no session to limit.
            slot=None if session is None else self._slot(session),
            most=self.settings.max_saves_per_session,
        )

    async def _save(self, request: SaveRequest, session: str | None, redacted: bool) -> Saved:
        def work(link: Link) -> Saved:
            saved = save_entry(link, request)
            self._report(link, "knowledge_save", request.key, _save_details(saved, redacted), session)
            return saved

        for _ in range(_ATTEMPTS - 1):
            try:
                return await self.database.write(work)
            except KeyTakenError:
                continue  # whoever was first is committed now: the next attempt finds the row
        return await self.database.write(work)

    async def _record_refusal(self, key: str, error: RateLimitedError, session: str | None) -> None:
        details = {"refused": error.code, "limit": error.details["limit"], "most": error.details["most"]}
        await self.audit.record(
            tenant=self.tenant,
            action="knowledge_save",
            actor=self.actor,
            target=key,
            details=details,
            session_key=session,
        )

    def _deleted(self, link: Link, name: str, session: str | None) -> bool:
        if not delete_entry(link, self.tenant, name):
            return False
        if self.on_removed is not None:
            self.on_removed(link, self.tenant, "knowledge", [name])
        self._report(link, "knowledge_delete", name, {}, session)
        return True

    def _announce(self, saved: Saved, session: str | None) -> None:
        entry = saved.entry
        self._queue(knowledge_scope(self.tenant), saved.row, searched_text(entry.key, entry.content))
        if self.on_saved is not None:
            event = SavedText(
                tenant=self.tenant,
                kind="knowledge",
                key=entry.key,
                text=entry.content,
                created=saved.outcome == "created",
                session_key=session,
            )
            self.on_saved(event)

    def _slot(self, session: str) -> Slot:
        return Slot(tenant=self.tenant, name=SAVE_LIMIT, holder=self._session(session) or "")

    def _known_name(self, key: str) -> str:
        self._require_enabled()
        return check_name("key", key)


def _save_details(saved: Saved, redacted: bool) -> dict[str, object]:
    entry = saved.entry
    details: dict[str, object] = {"outcome": saved.outcome, "version": entry.version, "category": entry.category.value}
    return {**details, "redacted": True} if redacted else details


def _not_found(key: str) -> KnowledgeNotFoundError:
    return KnowledgeNotFoundError(details={"key": key})
