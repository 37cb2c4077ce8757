"""What rooms ask of the search engine. Searches for one query share its ranking, so a room says first what it wants."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lamina.database.link import Link
from lamina.index.ranking import Ranked
from lamina.index.scope import ScopeIndex
from lamina.index.signals import Explanation
from lamina.index.store import ScopeKey

T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")

Allowed = Callable[[Link, int], NDArray[np.int64]]
"""Given a scope's id, the entries a filter lets through."""
Rankings = Sequence[Ranked | None]
"""What was ranked, in the order in which it was wanted; None where there is no such scope."""


class Wanted(NamedTuple):
    """What to rank, a scope of the store or an index of one's own, and how many results of which relevance."""

    scope: ScopeKey | ScopeIndex
    limit: int
    threshold: float
    allowed: Allowed | None = None
    counted: bool = True
    """Whether it matters how many reach the relevance in all."""
    vectors: bool = False
    """Whether the vectors of the results are needed."""


class Search(NamedTuple, Generic[T_co]):
    """A room's search: what it wants ranked, and what it makes of the rankings, which come in the same order."""

    wanted: tuple[Wanted, ...]
    finish: Callable[[Link, Rankings], T_co]

    def then(self, make: Callable[[T_co], U]) -> "Search[U]":
        """The same search, with something else made of what it finds."""
        return Search(wanted=self.wanted, finish=lambda link, rankings: make(self.finish(link, rankings)))


class RankedRow(NamedTuple):
    """A row of a room's table that was found: whoever shows it takes from it what is needed."""

    row: Any
    score: float
    explain: Explanation
