"""Knowledge with all its versions, and references, for an export and from an import."""

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.database.texts import RemovedListener
from lamina.index.late import put_terms
from lamina.index.store import touch
from lamina.kernel.checks import refuse
from lamina.knowledge.reference import LARGEST_METADATA, LONGEST_LOCATION, delete_reference
from lamina.knowledge.rows import knowledge_scope, reference_scope, searched_text
from lamina.knowledge.service import LONGEST_SOURCE
from lamina.knowledge.settings import KnowledgeSettings
from lamina.knowledge.statements import insert_unless_taken
from lamina.knowledge.tables import external_reference, knowledge, knowledge_version
from lamina.knowledge.types import Category, Origin, ReferenceType
from lamina.knowledge.writing import delete_entry
from lamina.transfer.fields import (
    Shape,
    choice,
    each,
    hidden,
    json_object,
    moment,
    name,
    number,
    optional,
    tags,
    text,
    whole,
)
from lamina.transfer.port import Batch, Carried, Cursor, Outcome, Record
from lamina.transfer.rows import count_rows, insert_one, page, present_keys

_VERSIONS = 2**31 - 1
_INSERT = insert_unless_taken(knowledge, knowledge.c.tenant, knowledge.c.key)
_KEEP_VERSION = Prepared(sa.insert(knowledge_version))
_INSERT_REFERENCE = insert_unless_taken(external_reference, external_reference.c.tenant, external_reference.c.name)


class KnowledgeCarrier:
    """Knowledge; a key that is there stays, or goes with all its versions."""

    kind = "knowledge"

    def __init__(self, settings: KnowledgeSettings, on_removed: RemovedListener | None = None) -> None:
        """`on_removed` removes what other rooms derived from a key that is replaced."""
        self._on_removed = on_removed
        said = {
            "category": choice(Category),
            "content": hidden(text(longest=settings.max_content_length), hide=settings.hide_secrets),
            "tags": tags(),
            "source": optional(hidden(text(longest=LONGEST_SOURCE), hide=settings.hide_secrets)),
            "origin": choice(Origin),
            "version": whole(least=1, most=_VERSIONS),
        }
        self._entry = Shape(
            "knowledge",
            key=name(),
            **said,
            relevance=number(),
            use_count=whole(),
            created_at=moment(),
            updated_at=moment(),
            last_used_at=optional(moment()),
        )
        self._version = Shape("versions", **said, saved_at=moment())

    def count(self, link: Link, tenant: str) -> int:
        """How many keys there are."""
        return count_rows(link, knowledge, tenant)

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """Keys in the order in which they were made, each with its versions, oldest first."""
        columns = knowledge_version.c
        chosen = (columns[name] for name in ("knowledge_row", *self._version.names))
        found = page(link, knowledge, tenant, self._entry.names, after, limit)
        rows = link.execute(
            sa.select(*chosen)
            .where(columns.tenant == tenant, columns.knowledge_row.in_([row for row, _ in found]))
            .order_by(columns.knowledge_row, columns.version)
        )
        versions: dict[int, list[Record]] = {}
        for row in rows:
            versions.setdefault(row[0], []).append(self._version.record(row[1:]))
        return [(row, {**self._entry.record(values), "versions": versions.get(row, [])}) for row, values in found]

    def parse(self, given: object) -> Carried:
        """A key with its versions, the last of which is what it says now."""
        values = self._entry.values(given, further=("versions",))
        assert isinstance(given, dict)
        versions = [self._version.values(one) for one in each(given, "versions", least=1)]
        numbers = [one["version"] for one in versions]
        if numbers != sorted(set(numbers)) or numbers[-1] != values["version"]:
            refuse("The versions must rise, up to the entry's own.", None, field="versions")
        searched = searched_text(values["key"], values["content"])
        return Carried(key=values["key"], values=values, parts=versions, text=searched)

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Store keys with their versions."""
        tenant = batch.tenant
        present = present_keys(link, knowledge.c.key, batch)
        chosen = batch.chosen(present)
        for key in sorted(present) if batch.on_conflict == "replace" else ():
            delete_entry(link, tenant, key)
            if self._on_removed is not None:
                self._on_removed(link, tenant, self.kind, [key])
        if chosen:
            place = touch(link, knowledge_scope(tenant), added=len(chosen))
            common = {"tenant": tenant, "scope_id": place.scope_id, "indexed": place.version}
            rows = [insert_one(link, _INSERT[link.name], item, common) for item in chosen]
            put_terms(
                link,
                place,
                tenant=tenant,
                rows=[(row, item.indexed) for row, item in zip(rows, chosen, strict=True)],
                model_id=batch.model_id,
            )
            kept = [
                {**version, "tenant": tenant, "knowledge_row": row}
                for row, item in zip(rows, chosen, strict=True)
                for version in item.parts
            ]
            link.run_many(_KEEP_VERSION, kept)
        return batch.outcome(chosen, present)


class ReferenceCarrier:
    """External references."""

    kind = "reference"

    def __init__(self, settings: KnowledgeSettings) -> None:
        self._shape = Shape(
            "reference",
            name=name(),
            type=choice(ReferenceType),
            location=hidden(text(longest=LONGEST_LOCATION), hide=settings.hide_secrets),
            summary=hidden(text(longest=settings.max_content_length), hide=settings.hide_secrets),
            metadata=json_object(max_size=LARGEST_METADATA),
            origin=choice(Origin),
            created_at=moment(),
            updated_at=moment(),
        )

    def count(self, link: Link, tenant: str) -> int:
        """How many references there are."""
        return count_rows(link, external_reference, tenant)

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """References in the order in which they were made."""
        found = page(link, external_reference, tenant, self._shape.names, after, limit)
        return [(row, self._shape.record(values)) for row, values in found]

    def parse(self, given: object) -> Carried:
        """A reference."""
        values = self._shape.values(given)
        return Carried(key=values["name"], values=values, text=searched_text(values["name"], values["summary"]))

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Store references."""
        tenant = batch.tenant
        present = present_keys(link, external_reference.c.name, batch)
        chosen = batch.chosen(present)
        for key in sorted(present) if batch.on_conflict == "replace" else ():
            delete_reference(link, tenant, key)
        if chosen:
            place = touch(link, reference_scope(tenant), added=len(chosen))
            common = {"tenant": tenant, "scope_id": place.scope_id, "indexed": place.version}
            rows = [(insert_one(link, _INSERT_REFERENCE[link.name], item, common), item.indexed) for item in chosen]
            put_terms(link, place, tenant=tenant, rows=rows, model_id=batch.model_id)
        return batch.outcome(chosen, present)
