"""What a cosine of an embedder means, and what an amount of evidence means: calibration without labels.

An embedder nobody tried is calibrated on a hundred short memories and questions that ship with the package
(`calibration_texts.tsv`, written for this purpose). A question and the memory of *another* line have nothing to do with
each other, so their 9,900 cosines show how alike unrelated texts look to that embedder: their mean and their
standard deviation. A cosine then counts from 1.5 standard deviations above the mean (0) to 7 above it (1), which
is the range where answers were found with a static and with a transformer model alike. To repeat it:

    memories, questions = calibration_texts()
    fit_calibration(embedder.name, embed(memories, purpose="document"), embed(questions, purpose="query"))
"""

import json
import math
from dataclasses import asdict, dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_STARTS_AT = 1.5
_FULL_AT = 7.0
_HIGHEST_FULL = 0.97

# The relevance of an entry with exactly as much evidence as its scope asks for is the default threshold.
_ENOUGH = 0.7
_SHAPE = 1.5
_PLENTY = 3.0
_TOP = 0.998
_RATE = -math.log(1 - _ENOUGH * _TOP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The scale of one embedder: cosines up to `unrelated` mean nothing, from `related` on they mean everything."""

    embedder: str = ""
    unrelated: float = 0.39
    related: float = 0.97

    def similarity(self, cosine: Floats) -> Floats:
        """Map cosines to [0, 1], in place."""
        cosine -= np.float32(self.unrelated)
        cosine *= np.float32(1 / (self.related - self.unrelated))
        np.clip(cosine, 0, 1, out=cosine)
        return cosine

    def to_json(self) -> str:
        """Write the calibration as JSON, to be stored with the embedder's name."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Calibration":
        """Read what `to_json` wrote; raises ValueError for anything else."""
        fields = json.loads(text)
        if not isinstance(fields, dict) or set(fields) != {"embedder", "unrelated", "related"}:
            raise ValueError("not a calibration")
        return cls(
            embedder=str(fields["embedder"]),
            unrelated=float(fields["unrelated"]),
            related=float(fields["related"]),
        )


def calibration_texts() -> tuple[list[str], list[str]]:
    """Give the shipped sample: memories, and as many questions, each answered by the memory of its own line."""
    text = (files("lamina.index") / "calibration_texts.tsv").read_text(encoding="utf-8")
    pairs = [line.split("\t") for line in text.splitlines()]
    return [memory for memory, _ in pairs], [question for _, question in pairs]


def fit_calibration(embedder: str, memories: Floats, questions: Floats) -> Calibration:
    """Fit the scale of an embedder to its unit vectors of `calibration_texts`; see the module's docstring.

    Raises ValueError when the vectors do not belong to the sample or are all alike.
    """
    if memories.shape != questions.shape or memories.ndim != 2 or len(memories) < 2:
        raise ValueError("one vector for each memory and each question of the calibration texts is needed")
    cosines = np.asarray(questions, np.float64) @ np.asarray(memories, np.float64).T
    unrelated = cosines[~np.eye(len(cosines), dtype=np.bool_)]
    mean, deviation = float(unrelated.mean()), float(unrelated.std())
    if not (math.isfinite(mean) and deviation > 1e-6):
        raise ValueError("an embedder that finds all texts alike cannot be calibrated")
    start = min(mean + _STARTS_AT * deviation, _HIGHEST_FULL - 0.1)
    full = min(mean + _FULL_AT * deviation, _HIGHEST_FULL)
    return Calibration(embedder=embedder, unrelated=round(start, 4), related=round(full, 4))


def relevance(evidence: Floats) -> Floats:
    """Map evidence, counted in what its scope asks for, to a relevance: 0 to 0, 1 to 0.7, 3 and more to 1."""
    value = np.exp(np.maximum(evidence, 0) ** np.float32(_SHAPE) * np.float32(-_RATE))
    np.subtract(1, value, out=value)
    value *= np.float32(1 / _TOP)
    result: Floats = np.minimum(value, 1, out=value)
    return result


def evidence_of(relevance: float) -> float:
    """Give the evidence that has this relevance: the inverse of `relevance`; below 0 for 0, which all entries pass."""
    if relevance <= 0:
        return -1.0
    if relevance >= 1:
        return _PLENTY
    return float((-math.log(1 - relevance * _TOP) / _RATE) ** (1 / _SHAPE))
