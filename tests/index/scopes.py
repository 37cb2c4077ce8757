"""Scopes to rank, written as rows that a person can read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamina.index.query import prepare_query
from lamina.index.ranking import Ranked, RankingModel
from lamina.index.scope import RowBatch, ScopeIndex
from lamina.index.terms import analyse, name_key, pack

MODEL = RankingModel()


@dataclass(frozen=True)
class Row:
    entry: int
    text: str
    # Halves are exact in every order of summation, so that results can be compared to the last bit.
    vector: tuple[float, ...] | None = None
    conversation: str = ""
    sequence: int = 0
    author: str = ""
    said_at: float = 0.0
    expires_at: float = math.inf


def batch(rows: Sequence[Row]) -> RowBatch:
    return RowBatch(
        entries=[row.entry for row in rows],
        terms=[pack(analyse(row.text)) for row in rows],
        vectors=[None if row.vector is None else np.array(row.vector, "<f2").tobytes() for row in rows],
        conversations=[name_key(row.conversation) if row.conversation else 0 for row in rows],
        sequences=[row.sequence for row in rows],
        authors=[name_key(row.author) if row.author else 0 for row in rows],
        said_at=[row.said_at for row in rows],
        expires_at=[row.expires_at for row in rows],
    )


def index_of(rows: Sequence[Row], dimensions: int = 4) -> ScopeIndex:
    index = ScopeIndex(dimensions=dimensions)
    index.upsert(batch(rows))
    return index


def search(
    index: ScopeIndex,
    text: str,
    vector: Sequence[float] | None = None,
    threshold: float = 0.0,
    limit: int = 100,
    now: float = 0.0,
    allowed: NDArray[np.int64] | None = None,
) -> Ranked:
    query = prepare_query(text, None if vector is None else np.array(vector, np.float32))
    return index.rank(query, model=MODEL, limit=limit, threshold=threshold, now=now, allowed=allowed)
