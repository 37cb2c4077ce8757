"""Changes to the graph: each function is one step of a transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.link import DialectName, Link, Prepared
from lamina.database.schema import to_micros
from lamina.graph.names import fold, tidy
from lamina.graph.tables import graph_alias, graph_mention, graph_source, graph_triple
from lamina.graph.types import Extraction, FoundTriple, Predicate, Source

_KEY = (graph_source.c.tenant, graph_source.c.kind, graph_source.c.key)
_CHANGED = ("session_key", "scope", "content_hash", "extractor", "recorded_at", "expires_at")
_INSERTS: dict[DialectName, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def _put_source(insert: Any) -> Prepared:
    statement = insert(graph_source).values(
        {column.name: sa.bindparam(column.name) for column in graph_source.c if column.name != "row"}
    )
    return Prepared(
        statement.on_conflict_do_update(
            index_elements=list(_KEY), set_={name: statement.excluded[name] for name in _CHANGED}
        ).returning(graph_source.c.row)
    )


_PUT_SOURCE = {name: _put_source(insert) for name, insert in _INSERTS.items()}
_FIND_SOURCE = Prepared(
    sa.select(graph_source.c.row).where(
        graph_source.c.tenant == sa.bindparam("tenant"),
        graph_source.c.kind == sa.bindparam("kind"),
        graph_source.c.key == sa.bindparam("key"),
    )
)
_PUT_TRIPLE = Prepared(
    sa.insert(graph_triple).values(
        {column.name: sa.bindparam(column.name) for column in graph_triple.c if column.name != "row"}
    )
)
_PUT_MENTION = {
    name: Prepared(
        insert(graph_mention)
        .values({column.name: sa.bindparam(column.name) for column in graph_mention.c})
        .on_conflict_do_nothing()
    )
    for name, insert in _INSERTS.items()
}
_DROP_TRIPLES, _DROP_MENTIONS = (
    Prepared(
        sa.delete(table).where(
            table.c.source_row == sa.bindparam("source_row"), table.c.tenant == sa.bindparam("tenant")
        )
    )
    for table in (graph_triple, graph_mention)
)
_DROP_SOURCE = Prepared(
    sa.delete(graph_source).where(
        graph_source.c.row == sa.bindparam("source_row"), graph_source.c.tenant == sa.bindparam("tenant")
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read from a source, ready to be stored in its place."""

    source: Source
    extraction: Extraction
    content_hash: bytes | None = None
    extractor: str | None = None
    expires_at: int | None = None


def replace_source(link: Link, tenant: str, reading: Reading, now: datetime) -> int:
    """Store what a source says now instead of what it said before; the number of its triples."""
    row = _put(link, tenant, reading, now)
    gone = {"source_row": row, "tenant": tenant}
    link.run(_DROP_TRIPLES, gone)
    link.run(_DROP_MENTIONS, gone)
    return _put_contents(link, tenant, row, reading, now)


def add_to_source(link: Link, tenant: str, reading: Reading, now: datetime) -> int:
    """Store further triples of a source; the number of them."""
    return _put_contents(link, tenant, _put(link, tenant, reading, now), reading, now)


def _put(link: Link, tenant: str, reading: Reading, now: datetime) -> int:
    source = reading.source
    values = {
        "tenant": tenant,
        "kind": source.kind,
        "key": source.key,
        "session_key": source.session_key,
        "scope": source.scope,
        "content_hash": reading.content_hash,
        "extractor": reading.extractor,
        "recorded_at": to_micros(now),
        "expires_at": reading.expires_at,
    }
    return int(link.run(_PUT_SOURCE[link.name], values).fetchone()[0])


def _put_contents(link: Link, tenant: str, row: int, reading: Reading, now: datetime) -> int:
    common = {
        "tenant": tenant,
        "source_row": row,
        "scope": reading.source.scope,
        "expires_at": reading.expires_at,
    }
    triples = [{**common, **_triple_values(found, now)} for found in _distinct(reading.extraction.triples)]
    if triples:
        link.run_many(_PUT_TRIPLE, triples)
    ends = [name for found in reading.extraction.triples for name in (found.subject, found.object)]
    labels: dict[str, str] = {}
    for name in [*reading.extraction.names, *ends]:
        labels.setdefault(fold(name), tidy(name))
    if labels:
        mentions = [{**common, "name": name, "label": label} for name, label in labels.items()]
        link.run_many(_PUT_MENTION[link.name], mentions)
    return len(triples)


def _distinct(triples: Iterable[FoundTriple]) -> list[FoundTriple]:
    found: dict[tuple[object, ...], FoundTriple] = {}
    for one in triples:
        key = (fold(one.subject), one.predicate, fold(one.object), one.valid_from, one.valid_until)
        found.setdefault(key, one)
    return list(found.values())


def _triple_values(found: FoundTriple, now: datetime) -> dict[str, Any]:
    return {
        "subject": fold(found.subject),
        "subject_label": tidy(found.subject),
        "predicate": found.predicate.value,
        "object": fold(found.object),
        "object_label": tidy(found.object),
        "weight": found.weight,
        "valid_from": None if found.valid_from is None else to_micros(found.valid_from),
        "valid_until": None if found.valid_until is None else to_micros(found.valid_until),
        "recorded_at": to_micros(now),
    }


def remove_sources(link: Link, tenant: str, kind: str, keys: Sequence[str]) -> int:
    """Remove everything that came from these sources; how many of them there were.

    A `RemovedListener`: a room that deletes texts calls it in the same transaction.
    """
    gone = 0
    for key in sorted(keys):  # one order: two removals never wait for each other
        found = link.run(_FIND_SOURCE, {"tenant": tenant, "kind": kind, "key": key}).fetchone()
        if found is not None:
            _drop(link, tenant, found[0])
            gone += 1
    return gone


def remove_scope(link: Link, tenant: str, scope: str) -> int:
    """Remove everything that belongs to a scope, such as a session that is deleted; how many triples went."""
    # Sources first: whoever is storing what one of them says holds it, and has committed when it is ours to remove.
    gone = {
        table.name: link.execute(sa.delete(table).where(table.c.tenant == tenant, table.c.scope == scope)).rowcount
        for table in (graph_source, graph_triple, graph_mention)
    }
    return gone[graph_triple.name]


def _drop(link: Link, tenant: str, row: int) -> None:
    place = {"source_row": row, "tenant": tenant}
    link.run(_DROP_SOURCE, place)
    link.run(_DROP_TRIPLES, place)
    link.run(_DROP_MENTIONS, place)


def remove_triples(
    link: Link, tenant: str, *, subject: str, predicate: Predicate | None, object: str | None, scopes: Sequence[str]
) -> int:
    """Remove triples within reach from whatever source, and sources that say nothing any more; how many went."""
    columns = graph_triple.c
    gone = sa.delete(graph_triple).where(
        columns.tenant == tenant,
        columns.subject == fold(subject),
        columns.scope.in_(scopes),
        *_chosen(predicate, object),
    )
    rows = [row[0] for row in link.execute(gone.returning(columns.source_row))]
    for row in sorted(set(rows)):
        left = link.execute(
            sa.select(columns.row).where(columns.source_row == row, columns.tenant == tenant).limit(1)
        ).first()
        by_hand = sa.select(graph_source.c.row).where(
            graph_source.c.row == row, graph_source.c.tenant == tenant, graph_source.c.content_hash.is_(None)
        )
        if left is None and link.execute(by_hand).first() is not None:
            _drop(link, tenant, row)
    return len(rows)


def end_triples(
    link: Link,
    tenant: str,
    *,
    subject: str,
    predicate: Predicate,
    object: str | None,
    until: datetime,
    scopes: Sequence[str],
) -> int:
    """Say since when triples within reach are no longer true; how many were still open then."""
    columns = graph_triple.c
    moment = to_micros(until)
    ended = sa.update(graph_triple).where(
        columns.tenant == tenant,
        columns.subject == fold(subject),
        columns.scope.in_(scopes),
        *_chosen(predicate, object),
        sa.or_(columns.valid_from.is_(None), columns.valid_from <= moment),
        sa.or_(columns.valid_until.is_(None), columns.valid_until > moment),
    )
    return link.execute(ended.values(valid_until=moment)).rowcount


def _chosen(predicate: Predicate | None, object: str | None) -> list[sa.ColumnElement[bool]]:
    chosen = []
    if predicate is not None:
        chosen.append(graph_triple.c.predicate == predicate.value)
    if object is not None:
        chosen.append(graph_triple.c.object == fold(object))
    return chosen


def put_alias(link: Link, tenant: str, *, name: str, alias: str) -> None:
    """Make `alias` another name of an entity; the aliases of the alias come along."""
    columns = graph_alias.c
    _lock_aliases(link, tenant)
    known = link.execute(
        sa.select(columns.canonical, columns.canonical_label).where(
            columns.tenant == tenant, columns.name == fold(name)
        )
    ).first()
    canonical, label = (fold(name), tidy(name)) if known is None else (known[0], known[1])
    if fold(alias) == canonical:
        return
    moved = sa.update(graph_alias).where(columns.tenant == tenant, columns.canonical == fold(alias))
    link.execute(moved.values(canonical=canonical, canonical_label=label))
    values = {"name": fold(alias), "label": tidy(alias), "canonical": canonical, "canonical_label": label}
    statement = _INSERTS[link.name](graph_alias).values(tenant=tenant, **values)
    link.execute(
        statement.on_conflict_do_update(
            index_elements=[columns.tenant, columns.name],
            set_={"label": values["label"], "canonical": canonical, "canonical_label": label},
        )
    )


def drop_alias(link: Link, tenant: str, alias: str) -> bool:
    """Let an alias be an entity of its own again; whether it was one."""
    _lock_aliases(link, tenant)
    gone = sa.delete(graph_alias).where(graph_alias.c.tenant == tenant, graph_alias.c.name == fold(alias))
    return link.execute(gone).rowcount > 0


def _lock_aliases(link: Link, tenant: str) -> None:
    """One change of a tenant's aliases at a time: two that cross would point at each other."""
    if link.name == "postgresql":
        link.raw.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (0x616C6961, tenant))
