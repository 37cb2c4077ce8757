"""Chooses what fits into a budget: what is worth most for its length, and says something that is not there yet."""

import heapq
import math
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass

_LENGTH_COUNTS = 0.7  # a clause twice as long must be worth a little less than twice as much
_SAID_AGAIN = 0.93  # what a term still tells each time it occurs again


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that may be noted. Those of one `line` are written together and share what a line costs."""

    tokens: int
    value: float
    terms: Mapping[int, float]
    line: object
    fixed: bool = False
    """Whether it must be taken, whatever it costs."""


def choose(
    candidates: Sequence[Candidate], *, budget: int, line_tokens: int, seen: MutableMapping[int, int] | None = None
) -> list[int]:
    """The places of the chosen ones, ascending. `seen` says how often terms occurred before, and is kept up.

    Pure but for `seen`; the same input gives the same choice.
    """
    state = _State(candidates, line_tokens, {} if seen is None else seen)
    chosen = [place for place, one in enumerate(candidates) if one.fixed]
    left = budget - sum(state.take(place) for place in chosen)
    heap = [(-state.gain(place), place) for place, one in enumerate(candidates) if not one.fixed]
    heapq.heapify(heap)
    while heap and left > 0:
        gain, place = heapq.heappop(heap)
        now = -state.gain(place)
        if now > gain and heap and now > heap[0][0]:  # it lost since: others said the same
            heapq.heappush(heap, (now, place))
            continue
        if state.cost(place) <= left:
            left -= state.take(place)
            chosen.append(place)
    return sorted(chosen)


class _State:
    def __init__(self, candidates: Sequence[Candidate], line_tokens: int, seen: MutableMapping[int, int]) -> None:
        self._candidates = candidates
        self._line_tokens = line_tokens
        self._seen = seen
        self._lines: set[object] = set()

    def cost(self, place: int) -> int:
        one = self._candidates[place]
        return one.tokens + (1 if one.line in self._lines else self._line_tokens)

    def gain(self, place: int) -> float:
        one = self._candidates[place]
        whole = sum(one.terms.values())
        fresh = sum(weight * math.pow(_SAID_AGAIN, self._seen.get(term, 0)) for term, weight in one.terms.items())
        # A line that is there anyway is not counted: it would draw everything to a few lines.
        return one.value * (fresh / whole if whole else 0.5) / math.pow(one.tokens + self._line_tokens, _LENGTH_COUNTS)

    def take(self, place: int) -> int:
        cost = self.cost(place)
        one = self._candidates[place]
        self._lines.add(one.line)
        for term in one.terms:
            self._seen[term] = self._seen.get(term, 0) + 1
        return cost
