"""The search engine of the house: scope indexes in a bounded cache, each brought up to date before it ranks.

An index is derived, never the truth. It is loaded on first use, follows the scope's version (own writes and those
of other processes alike: the version is read in the same view as the results), leaves when the cache is full, and
can be thrown away at any time. A scope too large for the cache is ranked by the same code while its rows stream by.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from lamina.database.link import DialectName, Link, Prepared, any_of, number_list
from lamina.errors import ConfigurationError
from lamina.index.lock import ReadWriteLock
from lamina.index.models import StoredModel
from lamina.index.query import Query
from lamina.index.ranking import Ranked, RankingModel
from lamina.index.rows import RowBatch
from lamina.index.scan import ScopeScan
from lamina.index.scope import Asked, ScopeIndex, rank_scopes
from lamina.index.search import Allowed, Search, Wanted
from lamina.index.settings import IndexSettings
from lamina.index.store import ScopeKey
from lamina.index.tables import ACTIVE_MODEL_ID, index_entry, index_vector, scope
from lamina.index.vectors import decode_vectors
from lamina.observability.metrics import Metrics

T = TypeVar("T")

_CHUNK = 8192
_FEW_CHANGES = 16  # of a scope: so many are read without making anybody wait
_ENTRY_OVERHEAD = 400  # bytes an entry takes beside its vector: postings, columns, tables

_SCOPE = Prepared(
    sa.select(
        scope.c.id,
        scope.c.version,
        scope.c.floor,
        scope.c.entries,
        ACTIVE_MODEL_ID,
    ).where(
        scope.c.tenant == sa.bindparam("tenant"),
        scope.c.kind == sa.bindparam("kind"),
        scope.c.key == sa.bindparam("key"),
    )
)

# Not a join: without statistics, as after a large import, PostgreSQL would compare every row with every vector.
_VECTOR = (
    sa.select(index_vector.c.vector)
    .where(
        index_vector.c.model_id == sa.bindparam("model_id"),
        index_vector.c.scope_id == index_entry.c.scope_id,
        index_vector.c.entry == index_entry.c.entry,
    )
    .scalar_subquery()
)
_ROWS = Prepared(
    sa.select(
        index_entry.c.version,
        index_entry.c.entry,
        index_entry.c.terms,
        _VECTOR,
        index_entry.c.conversation,
        index_entry.c.sequence,
        index_entry.c.author,
        index_entry.c.said_at,
        index_entry.c.expires_at,
    )
    .where(
        index_entry.c.tenant == sa.bindparam("tenant"),
        index_entry.c.scope_id == sa.bindparam("scope_id"),
        sa.tuple_(index_entry.c.version, index_entry.c.entry)
        > sa.tuple_(sa.bindparam("version", type_=sa.BigInteger), sa.bindparam("entry", type_=sa.BigInteger)),
    )
    .order_by(index_entry.c.version, index_entry.c.entry)
    .limit(sa.bindparam("chunk", type_=sa.Integer))
)


def _vectors(dialect: DialectName) -> Prepared:
    return Prepared(
        sa.select(index_vector.c.entry, index_vector.c.vector).where(
            index_vector.c.tenant == sa.bindparam("tenant"),
            index_vector.c.model_id == sa.bindparam("model_id"),
            index_vector.c.scope_id == sa.bindparam("scope_id"),
            any_of(index_vector.c.entry, "rows", dialect),
        )
    )


_VECTORS: dict[DialectName, Prepared] = {"sqlite": _vectors("sqlite"), "postgresql": _vectors("postgresql")}


class _Scope(NamedTuple):
    tenant: str
    id: int
    version: int
    floor: int
    entries: int


_Found = _Scope | ScopeIndex | None


@dataclass(slots=True)
class _Cached:
    index: ScopeIndex
    lock: ReadWriteLock = field(default_factory=ReadWriteLock)
    nbytes: int = 0


class SearchEngine:
    """Ranks scopes. Its methods run on store threads, inside the caller's view of the database."""

    def __init__(self, settings: IndexSettings, metrics: Metrics) -> None:
        self._limit = settings.memory_limit_mb * 1024 * 1024
        self._metrics = metrics
        self._cache: OrderedDict[int, _Cached] = OrderedDict()
        self._gate = threading.Lock()
        self._bytes = 0
        self._outgrown: dict[int, int] = {}  # scopes whose index did not fit, and with how many entries
        self._model: StoredModel | None = None
        self._ranking = RankingModel()

    def use(self, model: StoredModel, ranking: RankingModel) -> None:
        """Rank with this model from now on; indexes of another one are dropped."""
        with self._gate:
            self._cache.clear()
            self._outgrown.clear()
            self._bytes = 0
            self._model = model
            self._ranking = ranking

    @property
    def nbytes(self) -> int:
        """What the cached indexes hold."""
        return self._bytes

    @property
    def cached_scopes(self) -> int:
        """How many indexes are in memory."""
        return len(self._cache)

    @property
    def ranking(self) -> RankingModel:
        """The weights that scopes are ranked with."""
        return self._ranking

    def rank(
        self,
        link: Link,
        key: ScopeKey,
        query: Query,
        *,
        limit: int,
        threshold: float,
        now: float,
        allowed: Allowed | None = None,
        explain: bool = True,
    ) -> Ranked | None:
        """The best entries of a scope; None when there is no such scope.

        Raises ConfigurationError when the store was re-embedded with another model behind our back.
        """
        wanted = Wanted(scope=key, limit=limit, threshold=threshold, allowed=allowed)
        (ranked,) = self.rank_all(link, [wanted], query, now=now, explain=explain)
        return ranked

    def rank_all(
        self, link: Link, wanted: Sequence[Wanted], query: Query, *, now: float, explain: bool = True
    ) -> list[Ranked | None]:
        """What `rank` gives for each of several scopes, ranked together."""
        return self._rank(link, [(one, self._find(link, one.scope)) for one in wanted], query, now, explain)

    def search(self, link: Link, search: Search[T], query: Query, *, now: float) -> T:
        """Rank what a room wants, and let it finish. Raises what `rank` and the room raise."""
        return search.finish(link, self.rank_all(link, search.wanted, query, now=now))

    def search_loaded(
        self, link: Link, searches: Sequence[Search[T]], query: Query, *, now: float
    ) -> list[T | Exception | None]:
        """What each of several searches gives, ranked together, or what its room raised; raises what `rank` raises.

        None where an index would have to be read first: nobody shall wait for another one's.
        """
        found = [[(one, self._find(link, one.scope)) for one in search.wanted] for search in searches]
        loaded = [all(self._is_loaded(scope) for _, scope in mine) for mine in found]
        pairs = [pair for mine, ready in zip(found, loaded, strict=True) if ready for pair in mine]
        ranked = iter(self._rank(link, pairs, query, now, explain=True))
        results: list[T | Exception | None] = []
        for search, ready in zip(searches, loaded, strict=True):
            try:
                results.append(search.finish(link, [next(ranked) for _ in search.wanted]) if ready else None)
            except Exception as error:  # noqa: BLE001 -- isolation: what one room raises is nobody else's failure
                results.append(error)
        return results

    def _rank(
        self, link: Link, pairs: Sequence[tuple[Wanted, _Found]], query: Query, now: float, explain: bool
    ) -> list[Ranked | None]:
        results: list[Ranked | None] = [None] * len(pairs)
        cached: dict[int, _Cached] = {}
        within: dict[int, Any] = {}
        for at, (wanted, found) in enumerate(pairs):
            if found is None or isinstance(found, ScopeIndex) or not found.entries:
                continue
            if wanted.allowed is not None:
                within[at] = wanted.allowed(link, found.id)
                if not len(within[at]):
                    continue
            index = None if self._too_large(found) else self._current(link, found)
            if index is None:
                results[at] = self._scan(link, found, wanted, query, within.get(at), now, explain)
            else:
                cached[at] = index
        own = {at: found for at, (_, found) in enumerate(pairs) if isinstance(found, ScopeIndex)}
        ready = sorted([*cached, *own])
        if not ready:
            return results
        with ExitStack() as stack:
            # In one order everywhere, so that no two of us wait for each other.
            for _, one in sorted({id(one): one for one in cached.values()}.items()):
                stack.enter_context(one.lock.reading())
            asked = [
                Asked(
                    scope=own[at] if at in own else cached[at].index,
                    limit=pairs[at][0].limit,
                    threshold=pairs[at][0].threshold,
                    allowed=within.get(at),
                    counted=pairs[at][0].counted,
                    vectors=pairs[at][0].vectors,
                )
                for at in ready
            ]
            ranked = rank_scopes(asked, query, model=self._ranking, now=now, explain=explain)
        for at, one_ranked in zip(ready, ranked, strict=True):
            results[at] = one_ranked
        return results

    def _is_loaded(self, found: _Found) -> bool:
        """Whether a scope can be ranked without reading much first."""
        if found is None or isinstance(found, ScopeIndex) or not found.entries:
            return True
        cached = self._cache.get(found.id)
        return cached is not None and 0 < cached.index.version >= found.version - _FEW_CHANGES

    def _find(self, link: Link, key: ScopeKey | ScopeIndex) -> _Found:
        if isinstance(key, ScopeIndex):
            return key
        row = link.run(_SCOPE, {"tenant": key.tenant, "kind": key.kind, "key": key.key}).fetchone()
        if row is None:
            return None
        model = self._require_model()
        if row[4] != model.id:
            raise ConfigurationError(
                "The store was re-embedded with another model; open it again with that embedder.",
                details={"expected": model.name},
            )
        return _Scope(key.tenant, row[0], row[1], row[2], row[3])

    def _require_model(self) -> StoredModel:
        if self._model is None:
            raise ConfigurationError("The search engine was not given an embedding model.")
        return self._model

    def _too_large(self, found: _Scope) -> bool:
        if found.entries >= self._outgrown.get(found.id, found.entries + 1):
            return True
        return found.entries * (4 * self._require_model().dimensions + _ENTRY_OVERHEAD) > self._limit

    def _current(self, link: Link, found: _Scope) -> _Cached | None:
        """The scope's index, up to date; None when it turned out not to fit."""
        with self._gate:
            cached = self._cache.get(found.id)
            if cached is None:
                cached = self._cache[found.id] = _Cached(ScopeIndex(dimensions=self._require_model().dimensions))
            self._cache.move_to_end(found.id)
        if cached.index.version < found.version:
            with cached.lock.writing():
                try:
                    fits = cached.index.version >= found.version or self._catch_up(link, found, cached)
                except BaseException:  # boundary: whatever stopped the reading, what was read is in nobody's account
                    self.drop(found.id)
                    raise
                if not fits:
                    self._outgrown[found.id] = found.entries
                    return None
        return cached

    def drop(self, scope_id: int) -> None:
        """Let go of a scope's index, as after everything in it was deleted; it is loaded again when asked for."""
        with self._gate:
            dropped = self._cache.pop(scope_id, None)
            self._bytes -= dropped.nbytes if dropped else 0
            self._metrics.index_bytes(self._bytes)

    def _catch_up(self, link: Link, found: _Scope, cached: _Cached) -> bool:
        """Read what is new; false when the index grew beyond all that indexes may hold, as long texts can make it."""
        if cached.index.version < found.floor:  # tombstones it has not seen are gone: start afresh
            cached.index = ScopeIndex(dimensions=self._require_model().dimensions)
        if cached.index.version == 0:
            self._metrics.index_loaded()
        for batch, gone in self._batches(link, found, cached.index.version):
            cached.index.remove(gone)
            cached.index.upsert(batch)
            if cached.index.nbytes > self._limit:
                return False
        cached.index.version = found.version
        self._account(found.id, cached)
        return True

    def _account(self, scope_id: int, cached: _Cached) -> None:
        held = cached.index.nbytes
        with self._gate:
            if self._cache.get(scope_id) is not cached:
                return  # evicted meanwhile; it serves this search and goes
            self._bytes += held - cached.nbytes
            cached.nbytes = held
            evicted = 0
            while self._bytes > self._limit and len(self._cache) > 1:
                oldest = next(iter(self._cache))
                if oldest == scope_id:
                    self._cache.move_to_end(oldest)
                    continue
                self._bytes -= self._cache.pop(oldest).nbytes
                evicted += 1
            self._metrics.index_bytes(self._bytes)
        if evicted:
            self._metrics.index_evicted(evicted)

    def _scan(
        self, link: Link, found: _Scope, wanted: Wanted, query: Query, allowed: Any, now: float, explain: bool
    ) -> Ranked:
        self.drop(found.id)
        scan = ScopeScan(query, dimensions=self._require_model().dimensions, model=self._ranking)
        with link.snapshot():
            for batch, _ in self._batches(link, found, 0):
                scan.feed(batch)
        ranked = scan.rank(limit=wanted.limit, threshold=wanted.threshold, now=now, allowed=allowed, explain=explain)
        return ranked._replace(vectors=self._stored_vectors(link, found, ranked)) if wanted.vectors else ranked

    def _stored_vectors(self, link: Link, found: _Scope, ranked: Ranked) -> NDArray[np.float32]:
        """The vectors of results of a scan, which keeps none."""
        model = self._require_model()
        place = {"tenant": found.tenant, "model_id": model.id, "scope_id": found.id}
        rows = number_list(ranked.entries.tolist(), link.name)
        blobs = dict(map(tuple, link.run(_VECTORS[link.name], {**place, "rows": rows}).fetchall()))
        return decode_vectors([blobs.get(entry) for entry in ranked.entries.tolist()], model.dimensions)[0]

    def _batches(self, link: Link, found: _Scope, version: int) -> Iterator[tuple[RowBatch, list[int]]]:
        """What was written after `version`, oldest first: rows to take in, and entries that are gone."""
        entry = np.iinfo(np.int64).max  # everything of `version` itself is known
        model_id = self._require_model().id
        place = {"tenant": found.tenant, "scope_id": found.id, "model_id": model_id, "chunk": _CHUNK}
        while True:
            rows = link.run(_ROWS, {**place, "version": version, "entry": int(entry)}).fetchall()
            if not rows:
                return
            version, entry = rows[-1][0], rows[-1][1]
            gone = [row[1] for row in rows if row[2] is None]
            yield _batch([row for row in rows if row[2] is not None] if gone else rows), gone
            if len(rows) < _CHUNK:
                return


def _batch(rows: list[Any]) -> RowBatch:
    columns: Any = zip(*rows, strict=True) if rows else ([] for _ in range(9))
    _, entries, terms, vectors, conversations, sequences, authors, said_at, expires_at = columns
    return RowBatch(
        entries=entries,
        terms=terms,
        vectors=vectors,
        conversations=conversations,
        sequences=sequences,
        authors=authors,
        said_at=said_at,
        expires_at=[np.inf if moment is None else moment for moment in expires_at],
    )
