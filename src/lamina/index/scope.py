"""The index of one scope in memory: vectors, postings and columns, ranked exactly and in one go."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lamina.index.dates import said_within
from lamina.index.postings import Postings, impact
from lamina.index.query import Query
from lamina.index.ranking import Evidence, Ranked, RankingModel, rank_evidence, rarity
from lamina.index.rows import RowBatch, Rows
from lamina.index.terms import unpack_many

__all__ = ["RowBatch", "ScopeIndex", "typical_length"]

_USUAL_LENGTH = 20.0
_USUAL_WEIGHT = 50.0
_CONVERSATION_LENGTH_SHARE = 0.75
_SHORT_QUERY = 6
_BEND = 1.25  # its square is exact, so that nothing stays nothing
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

    def __len__(self) -> int:
        return len(self._rows)

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
        rows = self._rows
        size = rows.size
        lexical, conversation_lexical = self._lexical(query)
        aimed, level = (None, 0.0) if query.vector is None else model.calibration.aim(query.vector)
        evidence = Evidence(
            count=len(rows),
            entries=rows.entries[:size],
            lengths=rows.lengths[:size],
            lexical=lexical,
            products=None if aimed is None else rows.vectors.dot(aimed),
            level=level,
            missing_vector=rows.missing_vector[:size] if rows.any_missing_vector else None,
            conversations=rows.conversations[:size],
            conversation_lexical=conversation_lexical,
            previous=rows.previous[:size],
            following=rows.following[:size],
            by_author=rows.written_by(query.names),
            dated=said_within(rows.said_at[:size], query.dates, now),
            visible=self._visible(now, allowed),
        )
        return rank_evidence(evidence, model=model, limit=limit, threshold=threshold, explain=explain)

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

    def _lexical(self, query: Query) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        rows = self._rows
        hits = self._postings.gather(query.terms)
        slots, impacts, sizes = hits.slots, hits.impacts, hits.sizes
        living = None
        if rows.dead:
            living = np.flatnonzero(rows.alive[slots])
            slots, impacts = slots[living], impacts[living]
            sizes = np.bincount(hits.terms[living], minlength=len(sizes)).tolist()
        weights = rarity(np.array(sizes, np.float32), len(rows), query.priors)
        scores = sums(slots, impacts * np.repeat(weights, sizes), rows.size)
        talks = len(rows.conversation_words)
        if talks == 1:
            return share_of_best(scores, weights), _NO_TALK
        counts = hits.counts if living is None else hits.counts[living]
        cells = rows.conversations[slots] + np.repeat(np.arange(0, len(sizes) * talks, talks), sizes)
        spoken = sums(cells, counts, talks * len(weights)).reshape(len(weights), talks)
        return share_of_best(scores, weights), conversation_scores(spoken, rows.conversation_words, weights)


def sums(places: NDArray[np.integer], values: NDArray[np.generic], size: int) -> NDArray[np.float64]:
    """Add up values by place, in their order, so that equal content gives equal sums."""
    return np.bincount(places, weights=values, minlength=size).astype(np.float64, copy=False)


def share_of_best(scores: NDArray[np.float64], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide sums of weighted impacts by what a text with every term would have, unknown terms included.

    Of a long query nobody expects to find every word, so beyond six terms the demand grows with the square root of
    their number. Texts that repeat words could have more than is asked for; it counts as everything. A small share is
    often an accident (one everyday word of the question) and counts a little less than itself.
    """
    best = math.fsum(weights.tolist()) * min(1.0, math.sqrt(_SHORT_QUERY / max(len(weights), 1)))
    shares = np.empty(len(scores), np.float32)
    np.multiply(scores, 1 / best if best > 0 else 0.0, out=shares, casting="same_kind")
    np.minimum(shares, 1, out=shares)
    # ((s + b)² - b²) / (1 + 2b) leaves 0 and 1 where they are; in place, a large scope needs no second array.
    shares += np.float32(_BEND)
    np.square(shares, out=shares)
    shares -= np.float32(_BEND**2)
    shares *= np.float32(1 / (1 + 2 * _BEND))
    return shares


def conversation_scores(
    spoken: NDArray[np.float64], words: NDArray[np.float64], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Score whole conversations: `spoken[t, c]` counts term t in conversation c, which has `words[c]` words.

    Only differences count, from the least fitting conversation up: when there is one conversation, everything was
    said in it, and that says nothing about any entry. Number 0 is no conversation and scores nothing.
    """
    living = words > 0
    living[0] = False
    pivot = float(words[living].mean()) if living.any() else 0.0
    if not pivot or not len(weights):
        return np.zeros(len(words), np.float32)
    counts = np.minimum(spoken, 255).astype(np.uint8)
    impacts = impact(counts, words.astype(np.float32), pivot, length_share=_CONVERSATION_LENGTH_SHARE)
    impacts *= weights[:, np.newaxis]
    # Row after row, so that the sum of a conversation does not depend on how many others there are.
    scores = share_of_best(np.add.reduce(impacts, axis=0, dtype=np.float64), weights)
    scores -= scores[living].min()
    np.maximum(scores, 0, out=scores)
    scores[0] = 0
    return scores
