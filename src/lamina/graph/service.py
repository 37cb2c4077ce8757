"""The verbs of the graph: what agents, doors and other rooms call.

While `graph.enabled` is off, nothing is kept and nothing is found: walks and expansions are empty, and what wants to
change something is told how to switch it on. Every verb sees one tenant, and of it only what is within reach.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.texts import StoredTexts
from lamina.errors import ConfigurationError, InvalidInputError, LaminaError
from lamina.graph.buffer import GraphBuffer
from lamina.graph.expand import ExpandRequest, expand
from lamina.graph.names import check_entity, check_new_entity, fold, refuse_secret
from lamina.graph.reading import Edge, View, canonical_names, find_triples, read_entity, spelled_out
from lamina.graph.settings import GraphSettings
from lamina.graph.types import (
    EVERYBODY,
    Direction,
    Entity,
    Expansion,
    Extraction,
    FoundTriple,
    Neighbour,
    Predicate,
    Reach,
    Source,
    Triple,
    Visit,
    Walk,
)
from lamina.graph.walk import Bounds, shortest_path, walk
from lamina.graph.writing import (
    Reading,
    add_to_source,
    drop_alias,
    end_triples,
    put_alias,
    remove_sources,
    remove_triples,
)
from lamina.kernel.buffer import BackfillReport
from lamina.kernel.checks import check_choice, check_limit, check_moment, check_name, check_query, is_whole
from lamina.kernel.clock import Clock
from lamina.kernel.ids import new_id
from lamina.observability.metrics import Metrics

MANUAL = "manual"
"""The kind of source of triples that were added by hand."""
_PATH_ENTITIES = 5_000
LONGEST_KEY = 512
_LONGEST_QUERY = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphService:
    """One tenant's graph."""

    database: Database
    settings: GraphSettings
    clock: Clock
    metrics: Metrics
    tenant: str
    texts: Sequence[StoredTexts] = ()
    """The rooms whose texts an expansion may bring."""
    buffer: GraphBuffer | None = None
    """What reads saved texts into the graph, while it is on."""
    hidden: Collection[str] = ()
    """Kinds of texts whose room is switched off: nothing of theirs is shown."""
    _by_kind: Mapping[str, StoredTexts] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_kind", {source.kind: source for source in self.texts})

    def for_tenant(self, tenant: str) -> "GraphService":
        """The same graph for another tenant; raises InvalidInputError for a blank one."""
        return replace(self, tenant=check_name("tenant", tenant))

    async def add(
        self,
        subject: str,
        predicate: Predicate | str,
        object: str,
        *,
        source: Source | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> Triple:
        """Record a triple; without a source it gets one of its own, of kind `manual`.

        Raises InvalidInputError for an unknown predicate, a name that is empty, overlong or holds a secret, an end
        before the beginning, and a source of a kind whose texts the graph reads itself; ConfigurationError while it is
        off.
        """
        with self._verb("graph_add"):
            self._require_enabled()
            found = FoundTriple(
                subject=check_new_entity("subject", subject),
                predicate=check_choice("predicate", predicate, Predicate),
                object=check_new_entity("object", object),
                valid_from=check_moment("valid_from", valid_from),
                valid_until=check_moment("valid_until", valid_until),
            )
            refuse_secret("object", f"{found.subject} is {found.object}")
            if found.valid_from and found.valid_until and found.valid_until <= found.valid_from:
                raise InvalidInputError("valid_until must be after valid_from.", details={"field": "valid_until"})
            origin = self._checked(source or Source(kind=MANUAL, key=new_id()))
            reading = Reading(source=origin, extraction=Extraction(triples=(found,)))
            now = self.clock.now()
            await self.database.write(lambda link: add_to_source(link, self.tenant, reading, now))
        return Triple(
            subject=found.subject,
            predicate=found.predicate,
            object=found.object,
            source=origin,
            recorded_at=now,
            valid_from=found.valid_from,
            valid_until=found.valid_until,
        )

    async def end(
        self,
        subject: str,
        predicate: Predicate | str,
        object: str | None = None,
        *,
        until: datetime | None = None,
        reach: Reach = EVERYBODY,
    ) -> int:
        """Say that something is no longer true since `until`, now by default; how many triples were still open."""
        with self._verb("graph_end"):
            self._require_enabled()
            chosen = check_choice("predicate", predicate, Predicate)
            moment = check_moment("until", until) or self.clock.now()
            names = (check_entity("subject", subject), None if object is None else check_entity("object", object))
            return await self.database.write(
                lambda link: end_triples(
                    link,
                    self.tenant,
                    subject=names[0],
                    predicate=chosen,
                    object=names[1],
                    until=moment,
                    scopes=reach.visible,
                )
            )

    async def find(
        self,
        *,
        subject: str | None = None,
        predicate: Predicate | str | None = None,
        object: str | None = None,
        source: tuple[str, str] | None = None,
        at: datetime | None = None,
        limit: int | None = None,
        reach: Reach = EVERYBODY,
    ) -> tuple[Triple, ...]:
        """Triples with these ends, relation and source, stated before seen together, then the newest first.

        Aliases of a name are included. `at` keeps what was true at that moment. Raises InvalidInputError.
        """
        with self._verb("graph_find"):
            size = self._limit(limit)
            view = self._view(reach, at, () if predicate is None else (predicate,))
            ends = [None if name is None else fold(check_entity("name", name)) for name in (subject, object)]
            if not self.settings.enabled:
                return ()

            def look(link: Link) -> list[Edge]:
                names = [() if end is None else self._names(link, end) for end in ends]
                return find_triples(link, view, subjects=names[0], objects=names[1], source=source, limit=size)

            return tuple(edge.triple for edge in await self.database.read(look))

    async def entity(self, name: str, *, reach: Reach = EVERYBODY) -> Entity | None:
        """An entity with its spellings and aliases; None when nothing within reach names it."""
        with self._verb("graph_entity"):
            view, sought = self._view(reach), fold(check_entity("name", name))
            if not self.settings.enabled:
                return None
            return await self.database.read(
                lambda link: read_entity(link, view, canonical_names(link, self.tenant, [sought]).get(sought, sought))
            )

    async def neighbours(
        self,
        name: str,
        *,
        direction: Direction | str = Direction.BOTH,
        predicates: Collection[Predicate | str] = (),
        at: datetime | None = None,
        limit: int | None = None,
        reach: Reach = EVERYBODY,
    ) -> tuple[Neighbour, ...]:
        """The entities one step away, over the best triple each; raises InvalidInputError."""
        found = await self.traverse(
            name, depth=1, direction=direction, predicates=predicates, at=at, limit=limit, reach=reach
        )
        return tuple(
            Neighbour(name=visit.name, direction=visit.direction, triple=visit.triple) for visit in found.visits
        )

    async def traverse(
        self,
        name: str,
        *,
        depth: int | None = None,
        direction: Direction | str = Direction.BOTH,
        predicates: Collection[Predicate | str] = (),
        at: datetime | None = None,
        limit: int | None = None,
        reach: Reach = EVERYBODY,
    ) -> Walk:
        """Walk from an entity, breadth first, within bounds; the same store gives the same walk.

        Raises InvalidInputError for a depth or a limit beyond the settings' bounds.
        """
        with self._verb("graph_traverse"):
            start = check_entity("name", name)
            bounds = Bounds(depth=self._depth(depth), most=self._limit(limit), fanout=self.settings.fanout)
            way = check_choice("direction", direction, Direction)
            view = self._view(reach, at, predicates)
            if not self.settings.enabled:
                return Walk(start=start, visits=(), complete=True)
            return await self.database.read(lambda link: walk(link, view, start, bounds, way))

    async def path(
        self,
        start: str,
        goal: str,
        *,
        depth: int | None = None,
        predicates: Collection[Predicate | str] = (),
        at: datetime | None = None,
        reach: Reach = EVERYBODY,
    ) -> tuple[Visit, ...] | None:
        """One of the shortest ways between two entities, triples followed both ways; None when none is found."""
        with self._verb("graph_path"):
            ends = (check_entity("start", start), check_entity("goal", goal))
            steps = self.settings.max_depth if depth is None else self._depth(depth)
            bounds = Bounds(depth=steps, most=_PATH_ENTITIES, fanout=self.settings.fanout)
            view = self._view(reach, at, predicates)
            if not self.settings.enabled:
                return None
            return await self.database.read(lambda link: shortest_path(link, view, *ends, bounds))

    async def expand(
        self,
        query: str = "",
        *,
        hits: Sequence[tuple[str, str]] = (),
        depth: int | None = None,
        tokens: int | None = None,
        reach: Reach = EVERYBODY,
    ) -> Expansion:
        """What belongs to the hits (kind and key, best first) and to the names in a query, within a token budget.

        The hits themselves are not repeated. Unset tokens are the setting's, 0 is unlimited. Raises InvalidInputError.
        """
        settings = self.settings
        with self._verb("graph_expand"):
            if query:
                check_query(query, longest=_LONGEST_QUERY)
            request = ExpandRequest(
                hits=tuple(dict.fromkeys((str(kind), str(key)) for kind, key in hits)),
                query=query,
                depth=self._depth(depth),
                fanout=settings.expand_fanout,
                most_entities=settings.expand_entities,
                most_triples=settings.expand_triples,
                most_texts=settings.expand_texts,
                most_tokens=settings.expand_tokens if tokens is None else _tokens(tokens),
            )
            if not settings.enabled:
                return Expansion()
            view = self._view(reach)
            return await self.database.read(lambda link: expand(link, view, request, self._by_kind))

    async def remove(
        self,
        subject: str,
        predicate: Predicate | str | None = None,
        object: str | None = None,
        *,
        reach: Reach = EVERYBODY,
    ) -> int:
        """Remove triples within reach, whatever their source; how many there were.

        A triple taken from a text comes back when that text changes; `end` says that something is no longer true.
        """
        with self._verb("graph_remove"):
            self._require_enabled()
            chosen = None if predicate is None else check_choice("predicate", predicate, Predicate)
            names = (check_entity("subject", subject), None if object is None else check_entity("object", object))
            return await self.database.write(
                lambda link: remove_triples(
                    link, self.tenant, subject=names[0], predicate=chosen, object=names[1], scopes=reach.visible
                )
            )

    async def remove_source(self, kind: str, key: str) -> bool:
        """Remove everything that came from one source; whether there was anything."""
        with self._verb("graph_remove_source"):
            self._require_enabled()
            names = (check_name("kind", kind), check_name("key", key, longest=LONGEST_KEY))
            return await self.database.write(lambda link: remove_sources(link, self.tenant, names[0], [names[1]])) > 0

    async def alias(self, name: str, alias: str) -> None:
        """Let `alias` be another name of an entity, for everybody in the tenant. Raises InvalidInputError."""
        with self._verb("graph_alias"):
            self._require_enabled()
            names = (check_new_entity("name", name), check_new_entity("alias", alias))
            if fold(names[0]) == fold(names[1]):
                raise InvalidInputError("An entity is no alias of itself.", details={"field": "alias"})
            await self.database.write(lambda link: put_alias(link, self.tenant, name=names[0], alias=names[1]))

    async def unalias(self, alias: str) -> bool:
        """Let an alias be an entity of its own again; whether it was an alias."""
        with self._verb("graph_unalias"):
            self._require_enabled()
            name = check_entity("alias", alias)
            return await self.database.write(lambda link: drop_alias(link, self.tenant, name))

    async def backfill(self) -> BackfillReport:
        """Read every saved text, of every tenant, that the graph has not read as it is now."""
        with self._verb("graph_backfill"):
            self._require_enabled()
            if self.buffer is None:
                raise ConfigurationError("Nothing feeds this graph; open it through the app.")
            return await self.buffer.backfill()

    async def settled(self) -> None:
        """Wait until every text saved so far is in the graph."""
        if self.buffer is not None:
            await self.buffer.drain()

    def _names(self, link: Link, name: str) -> Collection[str]:
        canonical = canonical_names(link, self.tenant, [name]).get(name, name)
        return spelled_out(link, self.tenant, [canonical])

    def _view(self, reach: Reach, at: datetime | None = None, predicates: Collection[Predicate | str] = ()) -> View:
        return View(
            tenant=self.tenant,
            scopes=reach.visible,
            now=self.clock.now(),
            at=check_moment("at", at),
            predicates=frozenset(check_choice("predicate", one, Predicate) for one in predicates),
            hidden=self.hidden,
        )

    def _checked(self, source: Source) -> Source:
        if source.kind in (*self._by_kind, *self.hidden):
            raise InvalidInputError(
                f"Triples of the kind {source.kind!r} are read from its texts; choose another kind of source.",
                details={"field": "source", "kind": source.kind},
            )
        return replace(
            source,
            kind=check_name("source.kind", source.kind),
            key=check_name("source.key", source.key, longest=LONGEST_KEY),
        )

    def _limit(self, given: int | None) -> int:
        return check_limit(self.settings.limit if given is None else given, most=self.settings.max_limit)

    def _depth(self, given: int | None) -> int:
        depth, most = self.settings.depth if given is None else given, self.settings.max_depth
        if not is_whole(depth, 1, most):
            raise InvalidInputError(f"depth must be a whole number from 1 to {most}.", details={"field": "depth"})
        return int(depth)

    def _require_enabled(self) -> None:
        if not self.settings.enabled:
            told = "(in lamina.toml, as LAMINA_GRAPH__ENABLED=true, or with graph={'enabled': True})"
            raise ConfigurationError(
                f"The graph is switched off; set `graph.enabled = true` {told}.", details={"setting": "graph.enabled"}
            )

    @contextmanager
    def _verb(self, operation: str) -> Iterator[None]:
        """Measure a verb, and name it in the errors that leave it."""
        with self.metrics.measure(operation):
            try:
                yield
            except LaminaError as error:
                error.operation = error.operation or operation
                raise


def _tokens(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidInputError("tokens must be a whole number, 0 for unlimited.", details={"field": "tokens"})
    return int(value)
