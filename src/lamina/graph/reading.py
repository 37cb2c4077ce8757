"""Reads of the graph: every query names the tenant and the scopes within reach, and leaves out what has expired."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.database.schema import from_micros, to_micros
from lamina.graph.tables import graph_alias, graph_mention, graph_source, graph_triple
from lamina.graph.types import Direction, Entity, Predicate, Source, Triple

_TRIPLE = (
    graph_triple.c.subject,
    graph_triple.c.subject_label,
    graph_triple.c.predicate,
    graph_triple.c.object,
    graph_triple.c.object_label,
    graph_triple.c.weight,
    graph_triple.c.valid_from,
    graph_triple.c.valid_until,
    graph_triple.c.recorded_at,
    graph_source.c.kind,
    graph_source.c.key,
    graph_source.c.session_key,
    graph_triple.c.scope,
    graph_triple.c.row,
)
_BEST_FIRST = (
    graph_triple.c.weight.desc(),
    graph_triple.c.recorded_at.desc(),
    graph_triple.c.subject,
    graph_triple.c.predicate,
    graph_triple.c.object,
    graph_triple.c.row,
)
_MOST_LABELS = 200
_ANY_ALIAS = Prepared(
    sa.select(graph_alias.c.name).where(graph_alias.c.tenant == sa.bindparam("tenant")).limit(sa.literal_column("1"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Who looks, when, and which triples count."""

    tenant: str
    scopes: Sequence[str]
    now: datetime
    at: datetime | None = None
    """Only what was true at this moment; None is whatever was ever recorded."""
    predicates: Collection[Predicate] = ()
    """Only these relations; none named is all."""
    least_weight: float = 0.0
    hidden: Collection[str] = ()
    """Kinds of sources that are not shown."""

    def sees(self) -> list[sa.ColumnElement[bool]]:
        """The conditions on triples."""
        columns = graph_triple.c
        conditions = [
            columns.tenant == self.tenant,
            columns.scope.in_(self.scopes),
            sa.or_(columns.expires_at.is_(None), columns.expires_at > to_micros(self.now)),
        ]
        if self.predicates:
            conditions.append(columns.predicate.in_(sorted(one.value for one in self.predicates)))
        if self.least_weight > 0:
            conditions.append(columns.weight >= self.least_weight)
        if self.at is not None:
            moment = to_micros(self.at)
            conditions.append(sa.or_(columns.valid_from.is_(None), columns.valid_from <= moment))
            conditions.append(sa.or_(columns.valid_until.is_(None), columns.valid_until > moment))
        return conditions + self._shown(columns.source_row)

    def mentions(self) -> list[sa.ColumnElement[bool]]:
        """The conditions on mentions."""
        columns = graph_mention.c
        return [
            columns.tenant == self.tenant,
            columns.scope.in_(self.scopes),
            sa.or_(columns.expires_at.is_(None), columns.expires_at > to_micros(self.now)),
            *self._shown(columns.source_row),
        ]

    def _shown(self, source_row: sa.Column[Any]) -> list[sa.ColumnElement[bool]]:
        if not self.hidden:
            return []
        source = graph_source.c
        hidden = sa.select(source.row).where(source.tenant == self.tenant, source.kind.in_(sorted(self.hidden)))
        return [source_row.not_in(hidden)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A triple with the folded names of its ends, and its row."""

    row: int
    subject: str
    object: str
    triple: Triple


def find_triples(
    link: Link,
    view: View,
    *,
    subjects: Collection[str] = (),
    objects: Collection[str] = (),
    either: Collection[str] = (),
    source: tuple[str, str] | None = None,
    limit: int,
) -> list[Edge]:
    """Triples with these folded names as ends, the best and newest first."""
    columns = graph_triple.c
    statement = _joined().where(*view.sees())
    if subjects:
        statement = statement.where(columns.subject.in_(sorted(subjects)))
    if objects:
        statement = statement.where(columns.object.in_(sorted(objects)))
    if either:
        names = sorted(either)
        statement = statement.where(sa.or_(columns.subject.in_(names), columns.object.in_(names)))
    if source is not None:
        statement = statement.where(graph_source.c.kind == source[0], graph_source.c.key == source[1])
    return [_edge(row) for row in link.execute(statement.order_by(*_BEST_FIRST).limit(limit))]


def edges_of(link: Link, view: View, names: Collection[str], direction: Direction, *, fanout: int) -> list[Edge]:
    """The triples at these folded names, at most `fanout` a name and direction, the best and newest first."""
    found: list[Edge] = []
    if direction is not Direction.IN:
        found += _beside(link, view, graph_triple.c.subject, names, fanout)
    if direction is not Direction.OUT:
        found += _beside(link, view, graph_triple.c.object, names, fanout)
    return found


def _beside(link: Link, view: View, end: sa.Column[Any], names: Collection[str], fanout: int) -> list[Edge]:
    place = sa.func.row_number().over(partition_by=end, order_by=_BEST_FIRST).label("place")
    ranked = sa.select(graph_triple.c.row, place).where(*view.sees(), end.in_(sorted(names))).subquery()
    statement = (
        _joined()
        .join(ranked, ranked.c.row == graph_triple.c.row)
        .where(graph_triple.c.tenant == view.tenant, ranked.c.place <= fanout)
    )
    return [_edge(row) for row in link.execute(statement.order_by(*_BEST_FIRST))]


def _joined() -> sa.Select[Any]:
    return sa.select(*_TRIPLE).join_from(graph_triple, graph_source, graph_source.c.row == graph_triple.c.source_row)


def _edge(row: Any) -> Edge:
    source = Source(kind=row[9], key=row[10], session_key=row[11], scope=row[12])
    triple = Triple(
        subject=row[1],
        predicate=Predicate(row[2]),
        object=row[4],
        source=source,
        recorded_at=from_micros(row[8]),
        valid_from=None if row[6] is None else from_micros(row[6]),
        valid_until=None if row[7] is None else from_micros(row[7]),
        weight=row[5],
    )
    return Edge(row=row[13], subject=row[0], object=row[3], triple=triple)


def canonical_names(link: Link, tenant: str, names: Iterable[str]) -> dict[str, str]:
    """The folded names that are aliases, with the names they stand for."""
    wanted = sorted(set(names))
    if not wanted or not _has_aliases(link, tenant):
        return {}
    columns = graph_alias.c
    rows = link.execute(
        sa.select(columns.name, columns.canonical).where(columns.tenant == tenant, columns.name.in_(wanted))
    )
    return {row[0]: row[1] for row in rows}


def spelled_out(link: Link, tenant: str, canonical: Iterable[str]) -> dict[str, str]:
    """Every folded name under which these entities occur, with the name it stands for."""
    wanted = sorted(set(canonical))
    if not _has_aliases(link, tenant):
        return {name: name for name in wanted}
    columns = graph_alias.c
    rows = link.execute(
        sa.select(columns.name, columns.canonical).where(columns.tenant == tenant, columns.canonical.in_(wanted))
    )
    return {name: name for name in wanted} | {row[0]: row[1] for row in rows}


def _has_aliases(link: Link, tenant: str) -> bool:
    """Most tenants have none, and to know that is much cheaper than to look names up."""
    return link.run(_ANY_ALIAS, {"tenant": tenant}).fetchone() is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A name in a source."""

    name: str
    label: str
    source_row: int
    source: Source


def mentions_of(link: Link, view: View, names: Collection[str], *, fanout: int) -> list[Mention]:
    """Sources that name these folded names, the newest first, at most `fanout` a name."""
    columns = graph_mention.c
    place = sa.func.row_number().over(partition_by=columns.name, order_by=columns.source_row.desc()).label("place")
    ranked = (
        sa.select(columns.name, columns.label, columns.source_row, columns.scope, place)
        .where(*view.mentions(), columns.name.in_(sorted(names)))
        .subquery()
    )
    source = graph_source.c
    chosen = (
        sa.select(
            ranked.c.name,
            ranked.c.label,
            ranked.c.source_row,
            source.kind,
            source.key,
            source.session_key,
            ranked.c.scope,
        )
        .join_from(ranked, graph_source, source.row == ranked.c.source_row)
        .where(source.tenant == view.tenant, ranked.c.place <= fanout)
        .order_by(ranked.c.name, ranked.c.place)
    )
    return [_mention(row) for row in link.execute(chosen)]


def mentioned_in(link: Link, view: View, sources: Mapping[str, Collection[str]], *, limit: int) -> list[Mention]:
    """The names in these sources (keys by kind), in the order of sources and names."""
    columns = graph_mention.c
    wanted = sa.or_(
        *(
            sa.and_(graph_source.c.kind == kind, graph_source.c.key.in_(sorted(keys)))
            for kind, keys in sorted(sources.items())
        )
    )
    statement = (
        sa.select(
            columns.name,
            columns.label,
            columns.source_row,
            graph_source.c.kind,
            graph_source.c.key,
            graph_source.c.session_key,
            columns.scope,
        )
        .join_from(graph_source, graph_mention, graph_source.c.row == columns.source_row)
        .where(graph_source.c.tenant == view.tenant, wanted, *view.mentions())
        .order_by(graph_source.c.kind, graph_source.c.key, columns.name)
        .limit(limit)
    )
    return [_mention(row) for row in link.execute(statement)]


def _mention(row: Any) -> Mention:
    source = Source(kind=row[3], key=row[4], session_key=row[5], scope=row[6])
    return Mention(name=row[0], label=row[1], source_row=row[2], source=source)


def read_entity(link: Link, view: View, canonical: str) -> Entity | None:
    """An entity with its spellings; None when nothing within reach names it."""
    names = sorted(spelled_out(link, view.tenant, [canonical]))
    columns = graph_mention.c
    where = (*view.mentions(), columns.name.in_(names))
    counted = sa.select(columns.label, sa.func.count()).where(*where).group_by(columns.label).limit(_MOST_LABELS)
    labels: dict[str, int] = {row[0]: row[1] for row in link.execute(counted)}
    if not labels:
        return None
    ends = graph_triple.c
    beside = sa.or_(ends.subject.in_(names), ends.object.in_(names))
    triples = link.execute(sa.select(sa.func.count()).select_from(graph_triple).where(*view.sees(), beside))
    aliases = link.execute(
        sa.select(graph_alias.c.label)
        .where(graph_alias.c.tenant == view.tenant, graph_alias.c.canonical == canonical)
        .order_by(graph_alias.c.name)
    )
    ordered = sorted(labels, key=lambda label: (-labels[label], label))
    return Entity(
        name=ordered[0],
        spellings=tuple(ordered),
        aliases=tuple(aliases.scalars()),
        triples=triples.scalar_one(),
        mentions=sum(labels.values()),
    )
