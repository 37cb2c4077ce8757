"""What people told the graph, for an export and from an import; what was read from texts is read from them anew."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.schema import from_micros
from lamina.graph.names import check_new_entity, fold
from lamina.graph.service import LONGEST_KEY
from lamina.graph.tables import graph_alias, graph_source, graph_triple
from lamina.graph.types import Extraction, FoundTriple, Predicate, Source
from lamina.graph.writing import Reading, add_to_source, drop_alias, put_alias, remove_sources
from lamina.kernel.checks import refuse
from lamina.transfer.fields import Field, Shape, choice, each, moment, name, number, optional, words
from lamina.transfer.port import Batch, Carried, Cursor, Outcome, Record
from lamina.transfer.rows import count_rows, page, present_keys

_BY_HAND = graph_source.c.content_hash.is_(None)
_SOURCE = Shape(
    "triples",
    kind=name(),
    key=name(longest=LONGEST_KEY),
    session_key=optional(name(longest=1024)),
    scope=words(longest=4096),
    expires_at=optional(moment()),
)
_ENTITY = Field(check_new_entity)
_TRIPLE = Shape(
    "triples",
    subject_label=_ENTITY,
    predicate=choice(Predicate),
    object_label=_ENTITY,
    weight=number(least=0.0, most=1e6),
    valid_from=optional(moment()),
    valid_until=optional(moment()),
    recorded_at=moment(),
)
_ALIAS = Shape("alias", label=_ENTITY, canonical_label=_ENTITY)


class TripleCarrier:
    """Triples by the source they were given with; a source that is there stays, or goes with all its triples."""

    kind = "triples"

    def __init__(self, read_kinds: Collection[str]) -> None:
        """`read_kinds` are the kinds of texts that the graph reads itself."""
        self._read_kinds = read_kinds

    def count(self, link: Link, tenant: str) -> int:
        """How many sources there are."""
        return count_rows(link, graph_source, tenant, _BY_HAND)

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """Sources in the order in which they came, each with its triples."""
        found = page(link, graph_source, tenant, _SOURCE.names, after, limit, _BY_HAND)
        columns = graph_triple.c
        rows = link.execute(
            sa.select(columns.source_row, *(columns[name] for name in _TRIPLE.names))
            .where(columns.tenant == tenant, columns.source_row.in_([row for row, _ in found]))
            .order_by(columns.source_row, columns.row)
        )
        triples: dict[int, list[Record]] = {row: [] for row, _ in found}
        for row in rows:
            triples[row[0]].append(_TRIPLE.record(row[1:]))
        return [(row, {**_SOURCE.record(values), "triples": triples[row]}) for row, values in found]

    def parse(self, given: object) -> Carried:
        """A source with its triples."""
        values = _SOURCE.values(given, further=("triples",))
        assert isinstance(given, dict)
        if values["kind"] in self._read_kinds:
            refuse(f"Triples of the kind {values['kind']} are read from its texts.", None, field="kind")
        triples = [_TRIPLE.values(one) for one in each(given, "triples")]
        if any(one["valid_from"] and one["valid_until"] and one["valid_until"] <= one["valid_from"] for one in triples):
            refuse("valid_until must be after valid_from.", None, field="valid_until")
        return Carried(key=f"{values['kind']}\n{values['key']}", values=values, parts=triples)

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Store sources with their triples, each with the time at which it was recorded."""
        columns = graph_source.c
        wanted = sa.tuple_(columns.kind, columns.key).in_(
            [(item.values["kind"], item.values["key"]) for item in batch.items]
        )
        found = link.execute(sa.select(columns.kind, columns.key).where(columns.tenant == batch.tenant, wanted))
        present = {f"{kind}\n{key}" for kind, key in found}
        chosen = batch.chosen(present)
        for item in chosen:
            values = item.values
            if item.key in present:
                remove_sources(link, batch.tenant, values["kind"], [values["key"]])
            source = Source(**{name: values[name] for name in ("kind", "key", "session_key", "scope")})
            for one in item.parts:
                told = Extraction(triples=(_found(one),))
                reading = Reading(source=source, extraction=told, expires_at=values["expires_at"])
                add_to_source(link, batch.tenant, reading, from_micros(one["recorded_at"]))
        return batch.outcome(chosen, present)


class AliasCarrier:
    """Other names of entities."""

    kind = "alias"

    def count(self, link: Link, tenant: str) -> int:
        """How many aliases there are."""
        return count_rows(link, graph_alias, tenant)

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """Aliases by name."""
        columns = graph_alias.c
        rows = link.execute(
            sa.select(columns.name, *(columns[name] for name in _ALIAS.names))
            .where(columns.tenant == tenant, columns.name > (after or ""))
            .order_by(columns.name)
            .limit(limit)
        )
        return [(row[0], _ALIAS.record(row[1:])) for row in rows]

    def parse(self, given: object) -> Carried:
        """An alias, and the entity that it is another name of."""
        values = _ALIAS.values(given)
        return Carried(key=fold(values["label"]), values=values)

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Store aliases."""
        present = present_keys(link, graph_alias.c.name, batch)
        chosen = batch.chosen(present)
        for item in chosen:
            if item.key in present:
                drop_alias(link, batch.tenant, item.key)
            put_alias(link, batch.tenant, name=item.values["canonical_label"], alias=item.values["label"])
        return batch.outcome(chosen, present)


def _found(values: Mapping[str, Any]) -> FoundTriple:
    def at(name: str) -> datetime | None:
        return None if values[name] is None else from_micros(values[name])

    return FoundTriple(
        subject=values["subject_label"],
        predicate=Predicate(values["predicate"]),
        object=values["object_label"],
        weight=values["weight"],
        valid_from=at("valid_from"),
        valid_until=at("valid_until"),
    )
