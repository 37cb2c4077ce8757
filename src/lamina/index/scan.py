"""Ranking a scope that does not fit into memory: rows stream by, only compact evidence stays."""

import numpy as np
from numpy.typing import NDArray

from lamina.index.dates import said_within
from lamina.index.lexical import Talks, conversation_scores, per_best, rarity, shares, sums
from lamina.index.postings import impact
from lamina.index.query import Query
from lamina.index.ranking import Evidence, Ranked, RankingModel, rank_evidence
from lamina.index.rows import RowBatch, chain
from lamina.index.scope import typical_length
from lamina.index.terms import unpack_many
from lamina.index.vectors import decode_vectors


class ScopeScan:
    """The same ranking as `ScopeIndex`, fed batch by batch for one query; each entry is fed once.

    Per entry it keeps the counts of the query's terms, a cosine and a few numbers: never vectors, never postings.
    """

    def __init__(self, query: Query, *, dimensions: int, model: RankingModel) -> None:
        self._query = query
        self._model = model
        self._aimed: NDArray[np.float32] | None = None
        self._level = 0.0
        if query.vector is not None:
            self._aimed, self._level = model.calibration.aim(query.vector)
        self._dimensions = dimensions
        self._terms = query.terms
        self._names = np.array(query.names, np.int64)
        self._chunks: list[tuple[NDArray[np.generic], ...]] = []

    def feed(self, batch: RowBatch) -> None:
        """Take in rows; raises ValueError for blobs that do not fit."""
        if not len(batch.entries):
            return
        terms = unpack_many(batch.terms)
        counts = np.zeros((len(batch.entries), len(self._terms)), np.uint8)
        order = np.argsort(self._terms)
        at = np.searchsorted(self._terms, terms.hashes, sorter=order)
        at = np.minimum(at, max(len(order) - 1, 0))
        if len(order):
            column = order[at]
            hit = self._terms[column] == terms.hashes
            counts[terms.rows[hit], column[hit]] = terms.counts[hit]
        vectors, missing = decode_vectors(batch.vectors, self._dimensions)
        aimed = self._aimed
        products = vectors @ aimed if aimed is not None else np.zeros(len(vectors), np.float32)
        self._chunks.append(
            (
                np.array(batch.entries, np.int64),
                counts,
                terms.lengths,
                products,
                missing,
                np.array(batch.conversations, np.int64),
                np.array(batch.sequences, np.int64),
                np.isin(np.array(batch.authors, np.int64), self._names),
                np.array(batch.said_at, np.float64),
                np.array(batch.expires_at, np.float64),
            )
        )

    def rank(
        self,
        *,
        limit: int,
        threshold: float,
        now: float,
        allowed: NDArray[np.int64] | None = None,
        explain: bool = True,
    ) -> Ranked:
        """Rank what was fed, with the same result as `ScopeIndex.rank`."""
        if not self._chunks:
            none, nowhere = np.zeros(0, np.float32), np.zeros(0, np.int64)
            return Ranked(entries=nowhere, places=nowhere, evidence=none, scores=none, signals=[], total=0, full=1.0)
        columns = [np.concatenate(parts) for parts in zip(*self._chunks, strict=True)]
        entries, counts, lengths, products, missing, keys, sequences, by_author, said_at, expires = columns
        _, inverse = np.unique(np.append(keys, 0), return_inverse=True)
        numbers = inverse[:-1]
        lexical, conversation_lexical = self._lexical(counts, lengths, numbers)
        previous, following, _ = chain(numbers, sequences, entries)
        visible = expires > now
        if allowed is not None:
            visible &= np.isin(entries, allowed)
        evidence = Evidence(
            limit=limit,
            threshold=threshold,
            counted=True,
            living=len(entries),
            entries=entries,
            lengths=lengths.astype(np.float32),
            missing_vector=missing if missing.any() else None,
            conversations=numbers,
            conversation_lexical=conversation_lexical,
            previous=previous,
            following=following,
            by_author=by_author if by_author.any() else None,
            dated=said_within(said_at, self._query.dates, now),
            visible=visible,
        )
        (ranked,) = rank_evidence(
            [evidence],
            np.append(lexical, np.float32(0)),
            None if self._aimed is None else np.append(products, np.float32(0)),
            self._level,
            model=self._model,
            explain=explain,
        )
        return ranked

    def _lexical(
        self, counts: NDArray[np.uint8], lengths: NDArray[np.int64], numbers: NDArray[np.intp]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        query, size = self._query, len(lengths)
        frequencies = np.count_nonzero(counts, axis=0).astype(np.float32)
        (weights,) = rarity(frequencies[np.newaxis], [size], query.priors)
        pivot = typical_length(int(lengths.sum()), size)
        short = lengths.astype(np.float32)
        scores = np.zeros(size, np.float64)
        talks = int(numbers.max()) + 1
        spoken = np.zeros((len(weights), talks), np.float64)
        for i, weight in enumerate(weights):
            scores += impact(counts[:, i], short, pivot) * weight
            spoken[i] = sums(numbers, counts[:, i], talks)
        known = Talks.of(sums(numbers, lengths, talks)) if len(weights) else None
        talk = np.zeros(talks, np.float32) if known is None else conversation_scores(spoken, known, weights)
        return shares(scores * per_best(weights)), talk
