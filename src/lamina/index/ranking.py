"""How evidence becomes a relevance: pure functions, the same for an index in memory and for a scan.

1. `lexical` is BM25 as a share of the most the query could score (unknown words count in full): it is absolute.
2. `vector` is the similarity on the scale of the embedder's calibration; without a vector, words speak for both.
3. Both make an entry's own evidence. The better neighbour of its conversation, and of the second neighbours, lends
   a share of its own, but never enough. For an entry that stands alone its own evidence counts for that too, so
   entries without a source lose nothing.
4. The words of the whole conversation add a little, as far as it fits better than the least fitting one.
5. The sum is divided by what the scope asks for: the more entries, the more evidence, since each is a chance to be
   wrong. What remains is counted in units of "enough".
6. An author or a date that the query names adds a fixed share of enough, never enough on its own.
7. `calibration.relevance` maps the evidence to [0, 1]: enough is 0.7, an entry that says just what was asked is 1.

Filters only choose among the results; what is filtered out still counts as context.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina.index.calibration import Calibration, evidence_of, relevance
from lamina.index.signals import Signal, Signals

Floats = NDArray[np.float32]

_SHORT = 20.0
_LEAST_FULL = 1.5
_ROUNDING = 1e-6  # of a relevance, computed in single precision
_TRACE = 1e-5  # of evidence: what a difference of equal parts leaves
_MARGIN = 1e-4  # of evidence, so that rounding never leaves a candidate out


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingModel:
    """The weights of the fusion; the defaults suit conversations and short memories alike."""

    calibration: Calibration = field(default_factory=Calibration)
    lexical: float = 0.6
    vector: float = 0.4
    neighbour: float = 0.45
    second_neighbour: float = 0.15
    lent_at_most: float = 0.9
    alone: float = 0.6
    conversation: float = 0.2
    author: float = 0.6
    date: float = 0.5
    asked: float = 0.085
    asked_by_crowd: float = 0.052

    def enough(self, size: int) -> float:
        """Give the evidence that a scope of so many entries asks for."""
        return self.asked + self.asked_by_crowd * math.log(max(size, 1))

    def full(self, size: int) -> float:
        """Give the evidence, in units of enough, of an entry that says just what was asked and stands alone."""
        return max((self.lexical + self.vector) * (1 + self.alone) / self.enough(size), _LEAST_FULL)


class Evidence(NamedTuple):
    """What is known about every entry of a scope for one query, beside words and vectors, and what is wanted of it.

    Entry i of each array is the same entry. `previous` and `following` are -1 where the conversation has no such
    entry. `conversations` are dense numbers into `conversation_lexical`, whose number 0 stands for "no conversation"
    and holds zero. `living` is the number of living entries; the arrays may hold dead ones, which `visible` masks.
    Without `counted` nobody asks how many pass the threshold in all.
    """

    limit: int
    threshold: float
    counted: bool
    living: int
    entries: NDArray[np.int64]
    lengths: Floats
    missing_vector: NDArray[np.bool_] | None
    conversations: NDArray[np.intp]
    conversation_lexical: Floats
    previous: NDArray[np.intp]
    following: NDArray[np.intp]
    by_author: NDArray[np.bool_] | None
    dated: Floats | None
    visible: NDArray[np.bool_] | None

    @property
    def talks(self) -> bool:
        """Whether there are conversations."""
        return len(self.conversation_lexical) > 1


class Ranked(NamedTuple):
    """The best entries, best first (ties: the higher entry first), and how many passed the threshold in all, where
    that was asked for; else it is their number.

    `places` say where in the scope's arrays they are. `evidence` is what `scores` were made from, on a scale where
    `full` has the score 1: whoever knows more about an entry changes the evidence and maps it with
    `calibration.relevance` again. `vectors` are there where they were asked for, all zero for an entry that has none.
    """

    entries: NDArray[np.int64]
    places: NDArray[np.intp]
    evidence: Floats
    scores: Floats
    signals: Sequence[Signal]
    total: int
    full: float
    vectors: Floats | None = None


def rank_evidence(
    scopes: Sequence[Evidence],
    lexical: Floats,
    products: Floats | None,
    level: float,
    *,
    model: RankingModel,
    explain: bool = True,
) -> list[Ranked]:
    """Fuse, lift, calibrate and choose, for several scopes at once and for each by itself.

    `lexical` and `products` have the entries of one scope after those of another, each scope followed by a zero: what
    the neighbour number -1 reads. `products` are those with the aimed query, `level` what the mean memory's would be;
    they are used up. Without `explain` there are no signals.
    """
    ends = list(accumulate(len(scope.entries) + 1 for scope in scopes))
    parts = [slice(end - len(scope.entries) - 1, end) for scope, end in zip(scopes, ends, strict=True)]
    own = _own(scopes, parts, lexical, products, level, model)
    full = [model.full(scope.living) for scope in scopes]
    chosen = [_choose(scope, own[part], most, model) for scope, part, most in zip(scopes, parts, full, strict=True)]
    sizes = [len(places) for places, _, _ in chosen]
    places = np.concatenate([places for places, _, _ in chosen])
    strength = np.concatenate([strength for _, strength, _ in chosen])
    entries = np.concatenate([scope.entries[found] for scope, (found, _, _) in zip(scopes, chosen, strict=True)])
    order = np.lexsort((-entries, -strength, np.repeat(np.arange(len(scopes)), sizes)))
    entries, places, strength = entries[order], places[order], strength[order]
    scores = relevance(strength, np.repeat(full, sizes))
    ranked = []
    for at, (scope, end) in enumerate(zip(scopes, accumulate(sizes), strict=True)):
        best = _best(scope, scores, slice(end - sizes[at], end))
        count = chosen[at][2]
        signals: Sequence[Signal] = []
        if explain:
            few = _few(scope, own[parts[at]], lexical[parts[at]], places[best], products is not None)
            signals = Signals(partial(_signals, few, strength[best], scores[best], model))
        ranked.append(
            Ranked(
                entries=entries[best],
                places=places[best],
                evidence=strength[best],
                scores=scores[best],
                signals=signals,
                total=best.stop - best.start if count is None else count,
                full=full[at],
            )
        )
    return ranked


def _best(scope: Evidence, scores: Floats, found: slice) -> slice:
    """Give the part of the sorted results that counts: no more than wanted, none below the threshold."""
    stop = min(found.stop, found.start + scope.limit)
    if not scope.counted:  # otherwise those below were taken out before
        stop = found.start + int(np.count_nonzero(scores[found.start : stop].astype(np.float64) >= scope.threshold))
    return slice(found.start, stop)


def _choose(
    scope: Evidence, own: Floats, full: float, model: RankingModel
) -> tuple[NDArray[np.intp], Floats, int | None]:
    """Give the places of the best entries of a scope, in no order and at least as many as wanted, with their
    evidence, and how many passed the threshold in all, if that is asked for.
    """
    wanted = evidence_of(scope.threshold - _ROUNDING, full)
    near = _candidates(scope, own, model, wanted)
    total = _total(scope, own, near, model)
    if scope.visible is not None:
        total[~scope.visible[near]] = -np.inf
    count = _passing(total, wanted, scope.threshold, full) if scope.counted else None
    least = np.float32(wanted)
    if (len(total) if count is None else count) > scope.limit:
        rank = len(total) - scope.limit
        least = max(least, np.partition(total, rank)[rank])
    chosen = (total >= least).nonzero()[0]
    return chosen if isinstance(near, slice) else near[chosen], total[chosen], count


def _passing(total: Floats, wanted: float, threshold: float, full: float) -> int:
    """Count what scores `threshold` or more, and take out what reaches `wanted` without doing so.

    `wanted` is the threshold's evidence less a rounding; where rounding could decide, the score itself does.
    """
    passed = total >= np.float32(wanted)
    count = int(np.count_nonzero(passed))
    surely = total >= np.float32(evidence_of(threshold + _ROUNDING, full))
    if threshold > 0 and count > np.count_nonzero(surely):
        close = (passed & ~surely).nonzero()[0]
        short = close[relevance(total[close], full).astype(np.float64) < threshold]
        total[short] = -np.inf
        count -= len(short)
    return count


def _candidates(evidence: Evidence, own: Floats, model: RankingModel, wanted: float) -> NDArray[np.intp] | slice:
    """Give, in ascending order, every entry whose evidence can reach `wanted`, or all of them.

    An entry needs strong evidence of its own, a neighbour that has it, or an author or a date that was asked for: if
    it and all its neighbours stay below the floor, even the best conversation is not enough. Where nobody has
    neighbours there is nothing to be spared.
    """
    size = len(evidence.entries)
    if not evidence.talks:
        return slice(size)
    said = model.conversation * float(evidence.conversation_lexical.max())
    own_and_lent = 1 + max(model.alone, model.neighbour + model.second_neighbour)
    floor = (wanted * model.enough(evidence.living) - said) / own_and_lent
    if floor <= _ROUNDING:
        return slice(size)
    reached = np.zeros(size + 1, np.bool_)  # the last one is what the neighbour number -1 marks
    np.greater_equal(own[:size], np.float32(floor * (1 - _MARGIN)), out=reached[:size])
    strong = reached.nonzero()[0]
    for links in (evidence.previous, evidence.following):
        first = links[strong]
        reached[first] = True
        reached[links[first[first >= 0]]] = True
    if evidence.by_author is not None:
        reached[:size] |= evidence.by_author
    if evidence.dated is not None:
        reached[:size] |= evidence.dated > 0
    return reached[:size].nonzero()[0]


def _own(
    scopes: Sequence[Evidence],
    parts: Sequence[slice],
    lexical: Floats,
    products: Floats | None,
    level: float,
    model: RankingModel,
) -> Floats:
    """Give each entry's own evidence."""
    if products is None:
        return lexical * np.float32(model.lexical + model.vector)
    vector = model.calibration.similarity(products, level)
    for scope, part in zip(scopes, parts, strict=True):
        vector[part.stop - 1] = 0
        if scope.missing_vector is not None:
            np.copyto(vector[part][:-1], lexical[part][:-1], where=scope.missing_vector)
    own: Floats = lexical * np.float32(model.lexical)
    vector *= np.float32(model.vector)
    own += vector
    return own


def _total(evidence: Evidence, own: Floats, near: NDArray[np.intp] | slice, model: RankingModel) -> Floats:
    """Give the whole evidence of some entries, counted in what their scope asks for."""
    enough = model.enough(evidence.living)
    if not evidence.talks:
        total: Floats = own[near] * np.float32(1 + model.alone)
    else:
        total = own[near].copy() if isinstance(near, slice) else own[near]
        total += _lift(own, near, evidence.previous, evidence.following, model, enough)
        talk = evidence.conversation_lexical * np.float32(model.conversation)
        total += talk[evidence.conversations[near]]
    total *= np.float32(1 / enough)
    if evidence.by_author is not None:
        author = evidence.lengths[near] * np.float32(model.author / _SHORT)
        np.minimum(author, np.float32(model.author), out=author)
        author *= evidence.by_author[near]
        total += author
    if evidence.dated is not None:
        total += evidence.dated[near] * np.float32(model.date)
    return total


def _lift(
    own: Floats,
    near: NDArray[np.intp] | slice,
    previous: NDArray[np.intp],
    following: NDArray[np.intp],
    model: RankingModel,
    enough: float,
) -> Floats:
    """Give what neighbours lend to each entry."""
    before, after = previous[near], following[near]
    lift: Floats = np.maximum(own[before], own[after])
    lift *= np.float32(model.neighbour)
    # The second neighbour is the neighbour's neighbour: the same step once more.
    second = np.maximum(own[_step(previous, before)], own[_step(following, after)])
    second *= np.float32(model.second_neighbour)
    lift += second
    np.minimum(lift, np.float32(model.lent_at_most * enough), out=lift)
    alone = (before & after) < 0
    lift[alone] = own[near][alone] * np.float32(model.alone)
    return lift


def _step(links: NDArray[np.intp], at: NDArray[np.intp]) -> NDArray[np.intp]:
    """Follow links once; from nowhere they lead nowhere."""
    return np.where(at < 0, at, links[at])


class _Few(NamedTuple):
    """What the signals of a few results are worked out from."""

    living: int
    own: Floats
    lexical: Floats | None
    missing_vector: NDArray[np.bool_] | None
    alone: NDArray[np.bool_] | None
    conversation: Floats | None
    author: Floats | None
    dated: Floats | None


def _few(scope: Evidence, own: Floats, lexical: Floats, places: NDArray[np.intp], has_vector: bool) -> _Few:
    """Copy what belongs to these places: the arrays of the scope may change before anybody asks."""
    author = scope.by_author
    return _Few(
        living=scope.living,
        own=own[places],
        lexical=lexical[places] if has_vector else None,
        missing_vector=None if scope.missing_vector is None else scope.missing_vector[places],
        alone=(scope.previous[places] & scope.following[places]) < 0 if scope.talks else None,
        conversation=scope.conversation_lexical[scope.conversations[places]] if scope.talks else None,
        author=None if author is None else scope.lengths[places] * author[places],
        dated=None if scope.dated is None else scope.dated[places],
    )


def _signals(few: _Few, total: Floats, scores: Floats, model: RankingModel) -> list[Signal]:
    """Split scores, whose evidence is `total`, in proportion to their parts."""
    scale = np.float32(1 / model.enough(few.living))
    parts = np.zeros((6, len(total)), np.float32)
    lexical, vector, neighbour, conversation, author, date = parts
    mine = few.own * scale
    lexical[:] = mine
    if few.lexical is not None:
        np.multiply(few.lexical, np.float32(model.lexical) * scale, out=lexical)
        if few.missing_vector is not None:
            np.copyto(lexical, mine, where=few.missing_vector)
    np.maximum(mine - lexical, 0, out=vector)
    parts[:2, slice(None) if few.alone is None else few.alone] *= np.float32(1 + model.alone)
    if few.conversation is not None:
        np.multiply(few.conversation, np.float32(model.conversation) * scale, out=conversation)
    if few.author is not None:
        np.minimum(few.author * np.float32(model.author / _SHORT), np.float32(model.author), out=author)
    if few.dated is not None:
        np.multiply(few.dated, np.float32(model.date), out=date)
    if few.alone is not None:
        np.maximum(total - parts.sum(axis=0), 0, out=neighbour)
        neighbour[few.alone] = 0
    parts[parts < _TRACE] = 0
    whole = parts.sum(axis=0)
    parts *= np.divide(scores, whole, out=np.zeros_like(whole), where=whole > 0)
    return list(map(Signal._make, parts.T.tolist()))
