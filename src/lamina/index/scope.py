"""The index of one scope in memory: vectors, postings and columns, ranked exactly and in one go."""

import math
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina.index.dates import said_within
from lamina.index.lexical import Talks, conversation_scores, per_best, rarity, shares, sums
from lamina.index.postings import Hits, Postings, impact
from lamina.index.query import Query
from lamina.index.ranking import Evidence, Ranked, RankingModel, rank_evidence
from lamina.index.rows import RowBatch, Rows
from lamina.index.terms import unpack_many

__all__ = ["Asked", "RowBatch", "ScopeIndex", "rank_scopes", "typical_length"]

_USUAL_LENGTH = 20.0
_USUAL_WEIGHT = 50.0
_NO_TALK = np.zeros(1, np.float32)


def typical_length(words: int, entries: int) -> float:
    """Give the length that counts as normal in a scope of so many entries with so many words in all.

    It moves in steps of half an octave: impacts depend on it and are computed again only when it changes. It is a
    function of the content alone, so the way an index came about never shows in its results.
    """
    mean = (words + _USUAL_LENGTH * _USUAL_WEIGHT) / (entries + _USUAL_WEIGHT)
    return float(2.0 ** (round(2 * math.log2(max(mean, 1.0))) / 2))


class ScopeIndex:
    """Everything needed to rank the entries of one scope.

    `rank` may run in several threads at once; `upsert` and `remove` must have the index to themselves.
    """

    def __init__(self, *, dimensions: int) -> None:
        self.version = 0
        self._rows = Rows(dimensions)
        self._postings = Postings()
        self._pivot = typical_length(0, 0)
        self._talks: Talks | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def slots(self) -> int:
        """How many entries there are room for in its arrays, dead ones included."""
        return self._rows.size

    @property
    def nbytes(self) -> int:
        """The memory that the index holds."""
        return self._rows.nbytes + self._postings.nbytes

    def upsert(self, batch: RowBatch) -> None:
        """Add new entries and replace changed ones; raises ValueError for blobs that do not fit this index."""
        if not len(batch.entries):
            return
        terms = unpack_many(batch.terms)
        first = self._rows.append(batch, terms.lengths)
        slots = terms.rows + np.int32(first)
        strengths = impact(terms.counts, self._rows.lengths[slots], self._pivot)
        self._postings.add(terms.hashes, slots, terms.counts, strengths)
        self._settle()

    def remove(self, entries: Sequence[int]) -> None:
        """Take entries out; unknown ones are ignored."""
        self._rows.remove(entries)
        self._settle()

    def _settle(self) -> None:
        rows = self._rows
        self._talks = None
        if rows.dead > 64 and rows.dead * 4 > rows.size:
            self._postings.renumber(rows.compact())
        pivot = typical_length(rows.words, len(rows))
        if pivot != self._pivot:
            self._pivot = pivot
            self._postings.reweigh(rows.lengths, pivot)

    def rank(
        self,
        query: Query,
        *,
        model: RankingModel,
        limit: int,
        threshold: float,
        now: float,
        allowed: NDArray[np.int64] | None = None,
        explain: bool = True,
    ) -> Ranked:
        """Rank every living entry that has not expired at `now` and, where given, is one of `allowed`."""
        asked = Asked(scope=self, limit=limit, threshold=threshold, allowed=allowed)
        (ranked,) = rank_scopes([asked], query, model=model, now=now, explain=explain)
        return ranked

    def mentions(self, terms: NDArray[np.uint32]) -> Hits:
        """Where living entries have the terms of a query."""
        hits = self._postings.gather(terms, counted=len(self._rows.conversation_words) > 1)
        return hits.among(self._rows.alive) if self._rows.dead else hits

    def multiply(self, aimed: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Multiply the vectors of all slots with that of a query; raises ValueError when it has another length."""
        self._rows.vectors.dot(aimed, out)

    def vectors_at(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """The vectors of some slots."""
        return self._rows.vectors.take(places)

    def evidence(self, asked: "Asked", query: Query, hits: Hits, weights: NDArray[np.float32], now: float) -> Evidence:
        """Give what is known beside words and vectors; `hits` are what `mentions` gave, with the terms' weights."""
        rows = self._rows
        size = rows.size
        return Evidence(
            limit=asked.limit,
            threshold=asked.threshold,
            counted=asked.counted,
            living=len(rows),
            entries=rows.entries[:size],
            lengths=rows.lengths[:size],
            missing_vector=rows.missing_vector[:size] if rows.any_missing_vector else None,
            conversations=rows.conversations[:size],
            conversation_lexical=self._talk(hits, weights),
            previous=rows.previous[:size],
            following=rows.following[:size],
            by_author=rows.written_by(query.names),
            dated=said_within(rows.said_at[:size], query.dates, now),
            visible=self._visible(now, asked.allowed),
        )

    def _talk(self, hits: Hits, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Score whole conversations by their words."""
        rows = self._rows
        talks = len(rows.conversation_words)
        if talks == 1 or not hits.slots:
            return np.zeros(talks, np.float32)
        if self._talks is None:
            self._talks = Talks.of(rows.conversation_words)
            if self._talks is None:
                return np.zeros(talks, np.float32)
        cells = rows.conversations[np.concatenate(hits.slots)]
        of_term = np.tile(np.arange(0, len(weights) * talks, talks), len(hits.sizes))
        cells += np.repeat(of_term, list(chain.from_iterable(hits.sizes)))
        spoken = sums(cells, np.concatenate(hits.counts), talks * len(weights)).reshape(len(weights), talks)
        return conversation_scores(spoken, self._talks, weights)

    def _visible(self, now: float, allowed: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
        rows = self._rows
        visible: NDArray[np.bool_] | None = None
        if allowed is not None:
            visible = np.zeros(rows.size, np.bool_)
            visible[rows.slots_of(allowed)] = True
        if rows.dead:
            alive = rows.alive[: rows.size]
            visible = alive.copy() if visible is None else visible & alive
        if rows.soonest_expiry <= now:
            fresh = rows.expires_at[: rows.size] > now
            visible = fresh if visible is None else visible & fresh
        return visible


class Asked(NamedTuple):
    """What is wanted of one index: so many entries of at least this relevance and, where given, one of `allowed`."""

    scope: ScopeIndex
    limit: int
    threshold: float
    allowed: NDArray[np.int64] | None = None
    counted: bool = True
    vectors: bool = False


def rank_scopes(
    asked: Sequence[Asked], query: Query, *, model: RankingModel, now: float, explain: bool = True
) -> list[Ranked]:
    """Rank several scopes for one query, each as if alone: most of the work is done for all of them at once."""
    indexes = [one.scope for one in asked]
    ends = list(accumulate(index.slots + 1 for index in indexes))
    starts = [0, *ends[:-1]]
    hits = [index.mentions(query.terms) for index in indexes]
    frequencies = np.array([found.frequencies for found in hits], np.float32)
    weights = rarity(frequencies, [len(index) for index in indexes], query.priors)
    lexical = _lexical(hits, weights, starts, ends)
    products, level = None, 0.0
    if query.vector is not None:
        aimed, level = model.calibration.aim(query.vector)
        products = np.zeros(ends[-1], np.float32)
        for index, start, end in zip(indexes, starts, ends, strict=True):
            index.multiply(aimed, products[start : end - 1])
    scopes = [
        one.scope.evidence(one, query, found, row, now) for one, found, row in zip(asked, hits, weights, strict=True)
    ]
    ranked = rank_evidence(scopes, lexical, products, level, model=model, explain=explain)
    return [
        best._replace(vectors=one.scope.vectors_at(best.places)) if one.vectors else best
        for one, best in zip(asked, ranked, strict=True)
    ]


def _lexical(
    hits: Sequence[Hits], weights: NDArray[np.float32], starts: Sequence[int], ends: Sequence[int]
) -> NDArray[np.float32]:
    """Give how well the words of each entry fit, one scope after another, each followed by a zero."""
    pieces = list(chain.from_iterable(found.slots for found in hits))
    if not pieces:
        return np.zeros(ends[-1], np.float32)
    slots = np.concatenate(pieces)
    strengths = np.concatenate(list(chain.from_iterable(found.impacts for found in hits)))
    sizes = list(chain.from_iterable(chain.from_iterable(found.sizes for found in hits)))
    of_size = [row for row, found in zip(weights, hits, strict=True) for _ in found.sizes]
    strengths *= np.repeat(np.concatenate(of_size), sizes)
    if len(hits) > 1:
        slots += np.repeat(np.array(starts, np.int32), [sum(map(len, found.slots)) for found in hits])
    scores = sums(slots, strengths, ends[-1])
    for row, start, end in zip(weights, starts, ends, strict=True):
        scores[start:end] *= per_best(row)
    return shares(scores)
