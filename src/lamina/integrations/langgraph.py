"""Lamina for LangGraph: the extra `langgraph`.

from lamina.integrations.langgraph import LaminaStore, prompt_node

builder.add_node("prompt", prompt_node(app, "You are kind."))
graph = builder.compile(store=LaminaStore(app))
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from lamina.app import App
from lamina.database.link import Link
from lamina.database.schema import load_json, to_micros
from lamina.errors import ConfigurationError, InvalidInputError, MemoryNotFoundError, ProviderError
from lamina.integrations.attached import attach
from lamina.integrations.langgraph_items import ID, KEY, item_id, item_metadata, item_text
from lamina.integrations.langgraph_namespaces import LAYOUTS, Namespace, Namespaces, Place, matches
from lamina.memory.tables import memory as memory_table
from lamina.memory.types import MemoryEntry, NewMemory
from lamina.memory.writing import IdTakenError

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        validate_op_namespace,
    )
except ImportError as missing:
    raise ConfigurationError("Graphs of LangGraph need its package: pip install 'lamina[langgraph]'") from missing

from lamina.integrations.langgraph_nodes import prompt_node, record_node

__all__ = ["LAYOUTS", "LaminaStore", "prompt_node", "record_node"]

_AFTER_IDS: Final = "langgraph."
_ATTEMPTS: Final = 20
_REFRESHED_FROM: Final = 0.1
"""The share of its time that must have run before a read sets it anew: every change is kept in a memory's history."""


class LaminaStore(BaseStore):
    """LangGraph's long-term memory in layers of Lamina's. Items are memories: searched, expired and forgotten as such.

    Reads of a batch come before its writes. Of two that put the same item in one batch the last wins.
    """

    supports_ttl = True
    __slots__ = ("_attached", "_fields", "_namespaces", "_threshold", "ttl_config")

    def __init__(
        self,
        app: App | str | Path,
        *,
        layouts: Iterable[Namespace] = (),
        project_id: str = KEY,
        fields: list[str] | None = None,
        threshold: float = 0.0,
        ttl: TTLConfig | None = None,
    ) -> None:
        """Work on an app; one that is not open is opened when it is first needed.

        `layouts` say which namespaces are which layer, before `LAYOUTS`; items of others belong to `project_id`.
        `fields` are the paths of a value that are searched, all of it by default; `threshold` is the relevance that
        a search wants, and `ttl` LangGraph's own settings for expiry. Raises InvalidInputError.
        """
        self._attached = attach(app)
        self._namespaces = Namespaces([*layouts, *LAYOUTS], project_id=project_id)
        self._fields = fields
        self._threshold = threshold
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """What `abatch` does, for code without an event loop. Raises ConfigurationError on the app's own loop."""
        given = list(ops)
        return self._attached.block(lambda: self.abatch(given))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry operations out, in order. Raises InvalidNamespaceError, and what the verbs of memory raise."""
        given = list(ops)
        for op in given:
            validate_op_namespace(op)
        return await self._attached.run(lambda app: self._carry_out(app, given))

    async def aclose(self) -> None:
        """Close the app, unless its owner opened it."""
        await self._attached.close()

    async def _carry_out(self, app: App, ops: list[Op]) -> list[Result]:
        results: list[Result] = [None] * len(ops)
        puts: dict[str, PutOp] = {}
        for number, op in enumerate(ops):
            match op:
                case GetOp():
                    results[number] = await self._get(app, op)
                case SearchOp():
                    results[number] = await self._search(app, op)
                case ListNamespacesOp():
                    results[number] = await self._list(app, op)
                case PutOp():
                    id = item_id(op.namespace, op.key)
                    puts.pop(id, None)
                    puts[id] = op
                case _:
                    raise InvalidInputError(f"There is no operation {type(op).__name__[:80]}.")
        await self._put(app, puts)
        return results

    async def _get(self, app: App, op: GetOp) -> Item | None:
        place = self._namespaces.place(tuple(op.namespace))
        entry = await app.memory.get(item_id(op.namespace, op.key), **_arguments(place))
        if entry is None:
            return None
        if op.refresh_ttl:
            await self._refresh(app, place, entry)
        return Item(**_fields_of(entry))

    async def _search(self, app: App, op: SearchOp) -> list[SearchItem]:
        prefix, wanted = tuple(op.namespace_prefix), op.offset + op.limit
        only = self._namespaces.only_place(prefix)
        stored = [] if only is not None else await self._stored(app)
        places = (
            [only]
            if only is not None
            else dict.fromkeys(self._namespaces.place(one) for one in stored if matches(one, prefix))
        )
        found: list[tuple[Place, MemoryEntry, float | None]] = []
        for place in places:
            where = _within(prefix) | dict(_conditions(op.filter or {}, f"{KEY}.value"))
            if op.query:
                hits = await self._ranked(app, place, op.query, where, wanted)
            else:
                hits = [(entry, None) for entry in await _newest(app, place, where, wanted)]
            found += [(place, entry, score) for entry, score in hits]
        found.sort(key=lambda one: (one[2] or 0.0, str(_item(one[1])["put_at"])), reverse=True)
        found = found[op.offset : wanted]
        if op.refresh_ttl:
            for place, entry, _ in found:
                await self._refresh(app, place, entry)
        return [SearchItem(**_fields_of(entry), score=score) for _, entry, score in found]

    async def _ranked(
        self, app: App, place: Place, query: str, where: Mapping[str, object], wanted: int
    ) -> list[tuple[MemoryEntry, float | None]]:
        found = await app.memory.search(
            query,
            layers=[place.layer],
            limit=max(1, min(wanted, app.settings.memory.max_search_limit)),
            threshold=self._threshold,
            where={**where, f"{KEY}.indexed": True},
            **_arguments(place),
        )
        hits: list[tuple[MemoryEntry, float | None]] = [(hit.memory, hit.score) for hit in found]
        for twin in found.duplicates:  # two items that say the same are two items
            entry = await app.memory.get(twin.id, **_arguments(place))
            hits += [(entry, twin.score)] if entry is not None else []
        return hits

    async def _list(self, app: App, op: ListNamespacesOp) -> list[Namespace]:
        found = {
            one[: op.max_depth]
            for one in await self._stored(app)
            if all(matches(one, each.path, suffix=each.match_type == "suffix") for each in op.match_conditions or ())
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    async def _stored(self, app: App) -> list[Namespace]:
        """Every namespace that has an item."""
        tenant, now = app.memory.tenant, to_micros(app.memory.clock.now())
        columns = memory_table.c

        def read(link: Link) -> list[Namespace]:
            path = (
                sa.func.jsonb_extract_path(columns.metadata, KEY, "namespace")
                if link.name == "postgresql"
                else sa.func.json_extract(columns.metadata, f"$.{KEY}.namespace")
            )
            statement = (
                sa.select(path)
                .distinct()
                .where(
                    columns.tenant == tenant,
                    columns.id >= ID,
                    columns.id < _AFTER_IDS,
                    sa.or_(columns.expires_at.is_(None), columns.expires_at > now),
                )
            )
            return [tuple(load_json(row[0])) for row in link.execute(statement) if row[0] is not None]  # type: ignore[arg-type]

        return await app.parts.database.read(read)

    async def _put(self, app: App, puts: Mapping[str, PutOp]) -> None:
        new = {id: self._memory(app, id, op) for id, op in puts.items() if op.value is not None}
        for id, op in puts.items():
            if op.value is None:
                await app.memory.delete(id, **_arguments(self._namespaces.place(tuple(op.namespace))))
        try:
            await app.memory.bulk_add(list(new.values()))
        except IdTakenError:
            for one in new.values():
                await _replace(app, one)

    def _memory(self, app: App, id: str, op: PutOp) -> NewMemory:
        """An item as a memory: what is searched is its content, the item itself is in its metadata."""
        namespace = tuple(op.namespace)
        place, now = self._namespaces.place(namespace), app.memory.clock.now()
        text = "" if op.index is False else _text(op.value or {}, op.index or self._fields)
        metadata = item_metadata(
            namespace, op.key, op.value or {}, indexed=bool(text.strip()), ttl=op.ttl, put_at=now.isoformat()
        )
        return NewMemory(
            id=id,
            content=(text.strip() and text[: app.settings.memory.max_content_length]) or op.key.strip() or "(no key)",
            layer=place.layer,
            identifiers=place.identifiers,
            metadata=metadata,
            expires_at=_expiry(now, op.ttl),
        )

    async def _refresh(self, app: App, place: Place, entry: MemoryEntry) -> None:
        ttl, now = _item(entry).get("ttl"), app.memory.clock.now()
        if ttl is None or entry.expires_at is None:
            return
        later = _expiry(now, ttl)
        if later is not None and later - entry.expires_at >= timedelta(minutes=ttl * _REFRESHED_FROM):
            with suppress(MemoryNotFoundError):  # deleted in the meantime
                await app.memory.update(entry.id, expires_at=later, **_arguments(place))


async def _replace(app: App, new: NewMemory) -> None:
    """Store an item whose id is taken: by an earlier state of it, or by one that others are putting or that expired."""
    arguments: Any = new.identifiers.to_dict()
    for _ in range(_ATTEMPTS):
        with suppress(MemoryNotFoundError):
            await app.memory.update(
                str(new.id), content=new.content, metadata=new.metadata, expires_at=new.expires_at, **arguments
            )
            return
        with suppress(IdTakenError):
            await app.memory.bulk_add([new])
            return
        await app.sweep()
    raise ProviderError("The item is being put and deleted by others all the time; try again.")


async def _newest(app: App, place: Place, where: Mapping[str, object], wanted: int) -> list[MemoryEntry]:
    found: list[MemoryEntry] = []
    cursor: str | None = None
    while len(found) < wanted:
        page = await app.memory.list(
            layer=place.layer,
            limit=app.settings.memory.max_list_limit,
            cursor=cursor,
            where=where,
            **_arguments(place),
        )
        found += page.memories
        cursor = page.next_cursor
        if cursor is None:
            break
    return found[:wanted]


def _within(prefix: Namespace) -> dict[str, object]:
    """The condition that an item's namespace begins so."""
    return {f"{KEY}.key": {"exists": True}, **{f"{KEY}.path.{at}": label for at, label in enumerate(prefix)}}


def _conditions(given: Mapping[str, Any], path: str) -> Iterator[tuple[str, object]]:
    """LangGraph's filter in memory's words: operators lose their `$`, and an object is compared field by field."""
    for name, wanted in given.items():
        if not isinstance(wanted, Mapping):
            yield f"{path}.{name}", {"eq": wanted}
        elif any(str(key).startswith("$") for key in wanted):
            yield f"{path}.{name}", {str(key).removeprefix("$"): value for key, value in wanted.items()}
        else:
            yield from _conditions(wanted, f"{path}.{name}")


def _text(value: Mapping[str, Any], paths: list[str] | None) -> str:
    """What is searched of a value: the texts at some paths, or a line for each of its fields."""
    if paths is not None and paths != ["$"]:
        return "\n".join(text for path in paths for text in get_text_at_path(dict(value), path))
    return item_text(value)


def _item(entry: MemoryEntry) -> dict[str, Any]:
    kept: Any = entry.metadata[KEY]
    return dict(kept)


def _fields_of(entry: MemoryEntry) -> dict[str, Any]:
    """What LangGraph knows of an item. A read that sets its expiry anew is no change of it."""
    item = _item(entry)
    return {
        "namespace": tuple(item["namespace"]),
        "key": item["key"],
        "value": dict(item["value"]),
        "created_at": entry.created_at,
        "updated_at": datetime.fromisoformat(item["put_at"]),
    }


def _arguments(place: Place) -> Any:
    return place.identifiers.to_dict()


def _expiry(now: datetime, ttl: float | None) -> datetime | None:
    try:
        return None if ttl is None else now + timedelta(minutes=ttl)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("`ttl` is a number of minutes.", details={"field": "ttl"}) from None
