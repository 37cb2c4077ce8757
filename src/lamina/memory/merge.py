"""Merging the results of several layers. Pure: the same results merge alike, in whatever order layers finished."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lamina.memory.duplicate import Statement, cosines, same_statement
from lamina.memory.provider import Found, ScopeResults
from lamina.memory.types import Duplicate, MemoryLayer, SearchHit


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a search over several layers found.

    `total` counts what passed the threshold in every layer, before the limit, less the duplicates left out. A
    duplicate can be seen only among the entries that layers handed over, so beyond the limit none is taken off.
    """

    hits: tuple[SearchHit, ...]
    duplicates: tuple[Duplicate, ...]
    total: int


def merge(results: Mapping[MemoryLayer, ScopeResults], *, limit: int, similarity: float = 0.95) -> Merged:
    """The best `limit` hits by precedence, then score; of two that say the same the first is kept.

    Equal scores stay in the order their layer gave them: a relevance of 1 has no room above it, a ranking has.
    """
    found = sorted((item for result in results.values() for item in result.found), key=_order)
    kept, duplicates = _distinct(found, similarity)
    hits = (SearchHit(memory=item.entry, score=item.score, explain=item.signals) for item in kept[:limit])
    return Merged(
        hits=tuple(hits),
        duplicates=tuple(duplicates),
        total=sum(result.total for result in results.values()) - len(duplicates),
    )


def _order(item: Found) -> tuple[int, float]:
    return (item.entry.layer.precedence, -item.score)


def _distinct(found: list[Found], similarity: float) -> tuple[list[Found], list[Duplicate]]:
    """Keep the first of those that say the same. Only pairs with close or missing vectors have their texts read."""
    cosine = cosines([item.vector for item in found])
    apart = cosine < similarity
    if np.count_nonzero(apart) >= len(found) * (len(found) - 1):
        return found, []  # every pair is apart: only the diagonal is left
    statements = [Statement(item.entry.content) for item in found]
    near: dict[int, list[int]] = {}
    for here, there in np.argwhere(np.tril(~apart, -1)).tolist():
        near.setdefault(here, []).append(there)
    kept: list[int] = []
    left_out: set[int] = set()
    duplicates: list[Duplicate] = []
    for here, item in enumerate(found):
        others = (there for there in near.get(here, ()) if there not in left_out)
        same = (t for t in others if same_statement(statements[here], statements[t], float(cosine[here, t])))
        twin = next(same, None)
        if twin is None:
            kept.append(here)
            continue
        left_out.add(here)
        entry = item.entry
        kept_id = found[twin].entry.id
        duplicates.append(Duplicate(id=entry.id, layer=entry.layer, score=item.score, kept_id=kept_id))
    return [found[index] for index in kept], duplicates
