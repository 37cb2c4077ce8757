"""How evidence becomes a relevance: pure functions, the same for an index in memory and for a scan.

The evidence of every entry is fused into one raw score, lifted by its neighbours in the conversation and mapped to
a relevance in [0, 1]. Filters only choose among the results; what is filtered out still counts as context.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lamina.index.calibration import Calibration

Floats = NDArray[np.float32]

BACKGROUND_SIZE = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingModel:
    """The weights of the fusion; the defaults suit conversations and short memories alike."""

    calibration: Calibration = field(default_factory=Calibration)
    lexical: float = 0.6
    vector: float = 0.4
    neighbour: float = 0.4
    conversation: float = 0.15
    author: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about every entry of a scope for one query; entry i of each array is the same entry.

    `previous` and `following` are -1 where the conversation has no such entry, `conversations` are dense numbers
    into `conversation_lexical`, whose number 0 stands for "no conversation" and holds zero.
    """

    entries: NDArray[np.int64]
    lexical: Floats
    cosine: Floats | None
    missing_vector: NDArray[np.bool_] | None
    conversations: NDArray[np.int32]
    conversation_lexical: Floats
    previous: NDArray[np.int32]
    following: NDArray[np.int32]
    written_by: NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Why an entry got its score: parts that add up to it."""

    lexical: float
    vector: float
    neighbour: float
    conversation: float
    author: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The best entries, best first (ties: the higher entry first), and how many passed the threshold in all."""

    entries: NDArray[np.int64]
    scores: Floats
    signals: list[Signal]
    total: int


def rarity(frequencies: Floats, size: int, priors: Floats) -> Floats:
    """Give the weight of terms found in `frequencies` of `size` entries.

    A scope of three entries says little about which words are rare, so a background of `BACKGROUND_SIZE` imagined
    entries, in which a term occurs with its prior probability, is counted in.
    """
    expected = frequencies + np.float32(BACKGROUND_SIZE) * priors + np.float32(0.5)
    weights: Floats = np.log(np.float32(size + BACKGROUND_SIZE + 1) / expected)
    return weights


def rank_evidence(
    evidence: Evidence,
    *,
    model: RankingModel,
    limit: int,
    threshold: float,
    visible: NDArray[np.bool_] | None,
) -> Ranked:
    """Fuse, lift, calibrate and choose; `visible` masks the entries that may be returned."""
    size = len(evidence.entries)
    parts = _Parts(evidence, model)
    raw = parts.total()
    cut = model.calibration.raw_of(threshold)
    passed = raw[:size] >= np.float32(cut)
    if visible is not None:
        passed &= visible
    chosen = np.flatnonzero(passed)
    total = len(chosen)
    if total > limit:
        kth = total - limit
        floor = np.partition(raw[chosen], kth)[kth]
        chosen = chosen[raw[chosen] >= floor]
    order = np.lexsort((-evidence.entries[chosen], -raw[chosen]))[:limit]
    chosen = chosen[order]
    scores = model.calibration.relevance(raw[chosen])
    return Ranked(
        entries=evidence.entries[chosen], scores=scores, signals=parts.signals(chosen, scores), total=total
    )


class _Parts:
    """The weighted parts of the raw score of every entry."""

    def __init__(self, evidence: Evidence, model: RankingModel) -> None:
        self._evidence = evidence
        self._model = model
        size = len(evidence.entries)
        # One more element, zero, is what the neighbour number -1 reads.
        own = np.zeros(size + 1, np.float32)
        lexical = np.minimum(evidence.lexical, np.float32(1))
        if evidence.cosine is None:
            own[:size] = lexical * np.float32(model.lexical + model.vector)
        else:
            vector = model.calibration.similarity(evidence.cosine)
            if evidence.missing_vector is not None:
                np.copyto(vector, lexical, where=evidence.missing_vector)
            np.multiply(vector, np.float32(model.vector), out=own[:size])
            own[:size] += lexical * np.float32(model.lexical)
        self.own = own
        self.lexical = lexical

    def total(self) -> Floats:
        evidence, model = self._evidence, self._model
        size = len(evidence.entries)
        lift = np.maximum(self.own[evidence.previous], self.own[evidence.following])
        lift *= np.float32(model.neighbour)
        raw = lift
        raw += self.own[:size]
        if len(evidence.conversation_lexical) > 1:
            raw += (evidence.conversation_lexical * np.float32(model.conversation))[evidence.conversations]
        if evidence.written_by is not None:
            raw += evidence.written_by * np.float32(model.author)
        return raw

    def signals(self, chosen: NDArray[np.int64], scores: Floats) -> list[Signal]:
        evidence, model = self._evidence, self._model
        own = self.own[chosen]
        lexical = self.lexical[chosen] * np.float32(model.lexical)
        if evidence.cosine is None:
            lexical = own
        elif evidence.missing_vector is not None:
            lexical = np.where(evidence.missing_vector[chosen], own, lexical)
        lift = np.maximum(self.own[evidence.previous[chosen]], self.own[evidence.following[chosen]])
        lift *= np.float32(model.neighbour)
        conversation = evidence.conversation_lexical[evidence.conversations[chosen]] * np.float32(
            model.conversation
        )
        author = np.zeros_like(own)
        if evidence.written_by is not None:
            author = evidence.written_by[chosen] * np.float32(model.author)
        parts = np.stack([lexical, own - lexical, lift, conversation, author])
        whole = parts.sum(axis=0)
        parts *= np.divide(scores, whole, out=np.zeros_like(whole), where=whole > 0)
        return [
            Signal(lexical=a, vector=b, neighbour=c, conversation=d, author=e)
            for a, b, c, d, e in parts.T.tolist()
        ]
