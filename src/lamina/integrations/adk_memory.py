"""Lamina as the memory of ADK: what `adk web --memory_service_uri=lamina://...` and the memory tools talk to.

ADK's memory belongs to an app and a user, which is the agent layer here (`agent_id` is the app). A search sees the
user's own layer too, so that what another agent or door learned about the user is found.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from lamina.app import App
from lamina.context.service import shortened
from lamina.errors import InvalidInputError
from lamina.integrations.adk_contents import said
from lamina.integrations.attached import attach
from lamina.memory.service import KEEP
from lamina.memory.types import Identifiers, MemoryLayer, Metadata, NewMemory, SearchHit, Source
from lamina.memory.writing import IdTakenError

SCHEME: Final = "lamina"
"""The scheme of the addresses that name a store of Lamina to ADK."""
_EVENT: Final = "adk_event"
_TTL: Final = "ttl"
_AT_ONCE: Final = 100


class LaminaMemoryService(BaseMemoryService):
    """ADK's memory in a store of Lamina. Texts of events and direct memories; calls and results of tools are left out.

    Of `custom_metadata`, `ttl` (`"3600s"`, or seconds) is when a memory expires; the rest is kept with it.
    """

    def __init__(
        self,
        app: App | str | Path | None = None,
        *,
        uri: str | None = None,
        agents_dir: str | None = None,
        layer: MemoryLayer | str = MemoryLayer.AGENT,
        limit: int = 10,
        threshold: float | None = None,
    ) -> None:
        """Work on an app, on a store by its path, or on what `uri` names: `lamina://` and what `lamina.open` takes.

        `layer` is where memories are stored: agent, or user, to share them between apps. `limit` and `threshold` are
        those of a search; the threshold is the app's own by default. ADK's loader hands over `agents_dir`, which
        nothing depends on. Raises InvalidInputError, InvalidLayerError.
        """
        if (app is None) == (uri is None):
            raise InvalidInputError("A memory service needs an app, or the address of a store: one of the two.")
        self._layer = MemoryLayer.parse(layer)
        if self._layer not in (MemoryLayer.AGENT, MemoryLayer.USER):
            raise InvalidInputError("ADK's memories belong to the agent or the user layer.", details={"field": "layer"})
        self._attached = attach(store_of(uri) if app is None else app)
        self._limit = limit
        self._threshold = threshold
        self._forgotten: set[str] = set()

    async def add_session_to_memory(self, session: Session) -> None:
        """Store what was said in a session; what is stored already stays as it is. Raises what `memory.add` raises."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store what was said in these events, each once. Raises what `memory.add` raises."""

        async def work(app: App) -> None:
            extra, expires_at = _settled(custom_metadata, app.memory.clock.now())
            new = [
                NewMemory(
                    id=piece_id(app_name, user_id, session_id, event.id, number),
                    content=piece,
                    layer=self._layer,
                    identifiers=_identifiers(app_name, user_id),
                    metadata={**extra, _EVENT: event.id, "adk_session": session_id},
                    source=_source(event, session_id),
                    expires_at=expires_at,
                )
                for event in events
                if not event.partial and event.id not in self._forgotten
                for number, piece in enumerate(pieces_of(said(event.content), app.settings.memory.max_content_length))
            ]
            for start in range(0, len(new), _AT_ONCE):
                await self._add_missing(app, new[start : start + _AT_ONCE])

        await self._attached.run(work)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories as they are given, the new ones all or none; one with a known id replaces its text.

        Raises what `memory.add` raises, and InvalidInputError for a memory without text.
        """

        async def work(app: App) -> None:
            mine = app.memory.scoped(**_arguments(app_name, user_id))
            new: list[NewMemory] = []
            for entry in memories:
                given = {**entry.custom_metadata, **(custom_metadata or {})}
                extra, expires_at = _settled(given, app.memory.clock.now())
                if entry.id is not None and await mine.get(entry.id) is not None:
                    until = KEEP if expires_at is None else expires_at
                    await mine.update(entry.id, content=said(entry.content), metadata=extra, expires_at=until)
                    continue
                new.append(
                    NewMemory(
                        id=entry.id,
                        content=said(entry.content),
                        layer=self._layer,
                        identifiers=_identifiers(app_name, user_id),
                        metadata=extra,
                        source=Source(kind="conversation", author=entry.author, said_at=_moment(entry.timestamp)),
                        expires_at=expires_at,
                    )
                )
            await app.memory.bulk_add(new)

        await self._attached.run(work)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The memories of app and user that fit the query, best first. Raises what `memory.search` raises."""
        if not query.strip():
            return SearchMemoryResponse()
        hits = await self._attached.run(
            lambda app: app.memory.search(
                shortened(query, app.settings.context.max_query_length),
                limit=self._limit,
                threshold=self._threshold,
                **_arguments(app_name, user_id),
            )
        )
        return SearchMemoryResponse(memories=[_entry(hit) for hit in sorted(hits, key=lambda hit: -hit.score)])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete a memory of the app or of the user, for good as far as this service goes; no error where none is.

        Raises InvalidInputError without an id.
        """
        if not memory_id:
            raise InvalidInputError(
                "Which memory? `memory_id` is the id of a found one.", details={"field": "memory_id"}
            )

        async def work(app: App) -> None:
            mine = app.memory.scoped(**_arguments(app_name, user_id))
            known = await mine.get(memory_id)
            if known is not None and isinstance(event := known.metadata.get(_EVENT), str):
                self._forgotten.add(event)
            await mine.delete(memory_id)

        await self._attached.run(work)

    async def close(self) -> None:
        """Close the store, unless its owner opened it."""
        await self._attached.close()

    async def _add_missing(self, app: App, new: Sequence[NewMemory]) -> None:
        """Store those that are not stored yet."""
        known = await self._known(app, new)
        missing = [one for one in new if one.id not in known]
        try:
            await app.memory.bulk_add(missing)
        except IdTakenError:  # somebody stores the same at the same time, or it has expired and is not swept yet
            for one in missing:
                with suppress(IdTakenError):
                    await app.memory.bulk_add([one])

    async def _known(self, app: App, new: Sequence[NewMemory]) -> set[str]:
        """The ids of what is stored of the same events."""
        events = sorted({str(one.metadata[_EVENT]) for one in new})
        known: set[str] = set()
        cursor: str | None = None
        while True:
            page = await app.memory.list(
                layer=self._layer,
                limit=app.settings.memory.max_list_limit,
                cursor=cursor,
                where={_EVENT: {"in": events}},
                agent_id=new[0].identifiers.agent_id,
                user_id=new[0].identifiers.user_id,
            )
            known.update(entry.id for entry in page.memories)
            cursor = page.next_cursor
            if cursor is None:
                return known


def store_of(uri: str | None) -> str:
    """What `lamina.open` takes, from an address: `lamina://` itself leaves the choice to the configuration.

    Raises InvalidInputError for another scheme.
    """
    prefix = f"{SCHEME}://"
    if not isinstance(uri, str) or not uri.startswith(prefix):
        raise InvalidInputError(f"The address of a store begins with {prefix}, such as {prefix}lamina.db.")
    return uri.removeprefix(prefix)


def register_memory_service() -> None:
    """Let ADK's commands find Lamina: `adk web --memory_service_uri=lamina://lamina.db`. For a `services.py`."""
    from google.adk.cli.service_registry import get_service_registry

    get_service_registry().register_memory_service(SCHEME, lambda uri, **given: LaminaMemoryService(uri=uri, **given))


def _identifiers(app_name: str, user_id: str) -> Identifiers:
    return Identifiers(agent_id=app_name, user_id=user_id)


def _arguments(app_name: str, user_id: str) -> Any:
    return {"agent_id": app_name, "user_id": user_id}


def piece_id(app_name: str, user_id: str, session_id: str | None, event_id: str, number: int) -> str:
    """The same for the same piece of the same event, whenever and by whomever it is stored."""
    told = "\x1f".join((app_name, user_id, session_id or "", event_id, str(number)))
    return "adk-" + hashlib.sha256(told.encode()).hexdigest()[:40]


def pieces_of(text: str, longest: int) -> list[str]:
    """A text in pieces that are not too long for a memory."""
    return [piece for start in range(0, len(text), longest) if (piece := text[start : start + longest]).strip()]


def _source(event: Event, session_id: str | None) -> Source:
    return Source(
        kind="conversation",
        conversation=session_id,
        sequence=int(event.timestamp * 1_000_000),
        author=event.author or None,
        said_at=datetime.fromtimestamp(event.timestamp, UTC),
        reference=event.id,
    )


def _settled(given: Mapping[str, object] | None, now: datetime) -> tuple[dict[str, Any], datetime | None]:
    """Metadata to keep, and when the memory expires."""
    extra: dict[str, Any] = dict(given or {})
    ttl = extra.pop(_TTL, None)
    if ttl is None:
        return extra, None
    try:
        return extra, now + timedelta(seconds=float(str(ttl).removesuffix("s")))
    except (ValueError, OverflowError):
        raise InvalidInputError(
            '`ttl` is a number of seconds, such as 3600 or "3600s".', details={"field": _TTL}
        ) from None


def _moment(timestamp: str | None) -> datetime | None:
    if not timestamp:
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        raise InvalidInputError("A timestamp is in ISO 8601.", details={"field": "timestamp"}) from None
    return moment if moment.tzinfo is not None else moment.astimezone()


def _entry(hit: SearchHit) -> MemoryEntry:
    memory, source = hit.memory, hit.memory.source
    author = source.author if source is not None else None
    said_at = (source.said_at if source is not None else None) or memory.created_at
    metadata: Metadata = {**memory.metadata, "lamina_layer": memory.layer.value, "lamina_score": round(hit.score, 4)}
    return MemoryEntry(
        id=memory.id,
        content=types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=memory.content)]),
        author=author,
        timestamp=said_at.isoformat(),
        custom_metadata=dict(metadata),
    )
