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
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina.index.calibration import Calibration, evidence_of, relevance

Floats = NDArray[np.float32]

_BACKGROUND_SIZE = 20.0
_LEAST_RARITY = 0.01
_GROWN_SIZE = 300.0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about every entry of a scope for one query; entry i of each array is the same entry.

    `previous` and `following` are -1 where the conversation has no such entry. `conversations` are dense numbers
    into `conversation_lexical`, whose number 0 stands for "no conversation" and holds zero. `count` is the number of
    living entries; the arrays may hold dead ones, which `visible` masks. `products` are those with the aimed query,
    `level` what the mean memory's would be; they are used up.
    """

    count: int
    entries: NDArray[np.int64]
    lengths: Floats
    lexical: Floats
    products: Floats | None
    level: float
    missing_vector: NDArray[np.bool_] | None
    conversations: NDArray[np.intp]
    conversation_lexical: Floats
    previous: NDArray[np.intp]
    following: NDArray[np.intp]
    by_author: NDArray[np.bool_] | None
    dated: Floats | None
    visible: NDArray[np.bool_] | None


class Signal(NamedTuple):
    """Why an entry got its score: parts that add up to it; 0 for a signal that took no part.

    A tuple, because every search makes dozens of them.
    """

    lexical: float
    vector: float
    neighbour: float
    conversation: float
    author: float
    date: float

    def by_name(self) -> dict[str, float]:
        """Give every part by its name."""
        return self._asdict()

    def parts(self) -> dict[str, float]:
        """Give the parts of the signals that took part, by name."""
        return {name: part for name, part in self.by_name().items() if part > 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The best entries, best first (ties: the higher entry first), and how many passed the threshold in all.

    `evidence` is what `scores` were made from, on a scale where `full` has the score 1: whoever knows more about an
    entry changes the evidence and maps it with `calibration.relevance` again.
    """

    entries: NDArray[np.int64]
    evidence: Floats
    scores: Floats
    signals: list[Signal]
    total: int
    full: float


def rarity(frequencies: Floats, size: int, priors: Floats) -> Floats:
    """Give the weight of terms found in `frequencies` of `size` entries.

    What counts is how often a term occurs in the *other* entries: the one that is looked at proves nothing. A scope of
    three entries says little about that, so a background of twenty imagined entries, in which a term occurs with
    its prior probability, is counted in; a large scope knows more about rare words than the prior does.
    """
    rest = max(size - 1, 0)
    unseen = 0.5 * rest / (rest + _GROWN_SIZE)
    others = np.maximum(frequencies - 1, 0) + np.float32(_BACKGROUND_SIZE) * priors + np.float32(unseen)
    weights: Floats = np.log(np.float32(rest + _BACKGROUND_SIZE + unseen) / others)
    return np.maximum(weights, np.float32(_LEAST_RARITY), out=weights)


def rank_evidence(
    evidence: Evidence, *, model: RankingModel, limit: int, threshold: float, explain: bool = True
) -> Ranked:
    """Fuse, lift, calibrate and choose; without `explain` the parts of the scores are not worked out."""
    own = _own(evidence, model)
    full = model.full(evidence.count)
    wanted = evidence_of(threshold - _ROUNDING, full)
    near = _candidates(evidence, own, model, wanted)
    total = _total(evidence, own, near, model)
    if evidence.visible is not None:
        total[~evidence.visible[near]] = -np.inf
    count = _passing(total, wanted, threshold, full)
    least = np.float32(wanted)
    if count > limit:
        least = max(least, np.partition(total, len(total) - limit)[len(total) - limit])
    chosen = (total >= least).nonzero()[0]
    strength = total[chosen]
    if not isinstance(near, slice):
        chosen = near[chosen]
    order = np.lexsort((-evidence.entries[chosen], -strength))[:limit]
    chosen, strength = chosen[order], strength[order]
    scores = relevance(strength, full)
    signals = _signals(evidence, own, strength, chosen, scores, model) if explain else []
    return Ranked(
        entries=evidence.entries[chosen], evidence=strength, scores=scores, signals=signals, total=count, full=full
    )


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
    if len(evidence.conversation_lexical) == 1:
        return slice(size)
    said = model.conversation * float(evidence.conversation_lexical.max())
    own_and_lent = 1 + max(model.alone, model.neighbour + model.second_neighbour)
    floor = (wanted * model.enough(evidence.count) - said) / own_and_lent
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


def _own(evidence: Evidence, model: RankingModel) -> Floats:
    """Give each entry's own evidence, with one more element, zero: what the neighbour number -1 reads."""
    size = len(evidence.entries)
    own = np.empty(size + 1, np.float32)
    own[size] = 0
    view = own[:size]
    if evidence.products is None:
        np.multiply(evidence.lexical, np.float32(model.lexical + model.vector), out=view)
        return own
    vector = model.calibration.similarity(evidence.products, evidence.level)
    if evidence.missing_vector is not None:
        np.copyto(vector, evidence.lexical, where=evidence.missing_vector)
    np.multiply(evidence.lexical, np.float32(model.lexical), out=view)
    vector *= np.float32(model.vector)
    view += vector
    return own


def _total(evidence: Evidence, own: Floats, near: NDArray[np.intp] | slice, model: RankingModel) -> Floats:
    """Give the whole evidence of some entries, counted in what their scope asks for."""
    enough = model.enough(evidence.count)
    if len(evidence.conversation_lexical) == 1:
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


def _signals(
    evidence: Evidence, own: Floats, total: Floats, chosen: NDArray[np.intp], scores: Floats, model: RankingModel
) -> list[Signal]:
    """Split the scores of the chosen entries, whose evidence is `total`, in proportion to their parts."""
    scale = np.float32(1 / model.enough(evidence.count))
    parts = np.zeros((6, len(chosen)), np.float32)
    lexical, vector, neighbour, conversation, author, date = parts
    mine = own[chosen] * scale
    lexical[:] = mine
    if evidence.products is not None:
        np.multiply(evidence.lexical[chosen], np.float32(model.lexical) * scale, out=lexical)
        if evidence.missing_vector is not None:
            np.copyto(lexical, mine, where=evidence.missing_vector[chosen])
    np.maximum(mine - lexical, 0, out=vector)
    talks = len(evidence.conversation_lexical) > 1
    alone = (evidence.previous[chosen] & evidence.following[chosen]) < 0 if talks else slice(None)
    parts[:2, alone] *= np.float32(1 + model.alone)
    if talks:
        numbers = evidence.conversations[chosen]
        np.multiply(evidence.conversation_lexical[numbers], np.float32(model.conversation) * scale, out=conversation)
    if evidence.by_author is not None:
        np.minimum(evidence.lengths[chosen] * np.float32(model.author / _SHORT), np.float32(model.author), out=author)
        author *= evidence.by_author[chosen]
    if evidence.dated is not None:
        np.multiply(evidence.dated[chosen], np.float32(model.date), out=date)
    if talks:
        np.maximum(total - parts.sum(axis=0), 0, out=neighbour)
        neighbour[alone] = 0
    parts[parts < _TRACE] = 0
    whole = parts.sum(axis=0)
    parts *= np.divide(scores, whole, out=np.zeros_like(whole), where=whole > 0)
    return list(map(Signal._make, parts.T.tolist()))
