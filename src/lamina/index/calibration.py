"""What a similarity of an embedder means, and what an amount of evidence means: calibration without labels.

An embedder nobody tried is calibrated on a hundred short memories and questions that ship with the package
(`calibration_texts.tsv`, written for this purpose). What all questions have in common, and all memories, is no sign
that two of them belong together: the mean question and the mean memory are taken off before vectors are multiplied.
A question and the memory of *another* line have nothing to do with each other, so their 9,900 similarities show how
alike unrelated texts look to that embedder: a mean and a standard deviation. A similarity counts from one standard
deviation above the mean (0) to eight above it (1), which suits a static and a transformer model alike. To repeat it:

    memories, questions = calibration_texts()
    fit_calibration(embedder.name, embed(memories, purpose="document"), embed(questions, purpose="query"))
"""

import base64
import json
import math
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_STARTS_AT = 1.0
_FULL_AT = 8.0
_HIGHEST_FULL = 0.97

# The relevance of an entry with exactly as much evidence as its scope asks for is the default threshold.
_ENOUGH = 0.7
_SHAPE = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The scale of one embedder: similarities up to `unrelated` mean nothing, from `related` on they mean everything.

    The centres are the mean question and the mean memory, float16 in base64; empty ones leave vectors as they are.
    """

    embedder: str = ""
    unrelated: float = 0.39
    related: float = 0.97
    question_centre: str = ""
    memory_centre: str = ""

    def aim(self, question: Floats) -> tuple[Floats, float]:
        """Give the vector that memories are multiplied with, and what the mean memory's product would be."""
        if not self.question_centre:
            return question, 0.0
        aimed = question - _numbers(self.question_centre)
        return aimed, float(aimed @ _numbers(self.memory_centre))

    def similarity(self, products: Floats, level: float = 0.0) -> Floats:
        """Map products with an aimed question to [0, 1], in place; `level` is the mean memory's product."""
        products -= np.float32(self.unrelated + level)
        products *= np.float32(1 / (self.related - self.unrelated))
        np.maximum(products, 0, out=products)
        return np.minimum(products, 1, out=products)

    def to_json(self) -> str:
        """Write the calibration as JSON, to be stored with the embedder's name."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Calibration":
        """Read what `to_json` wrote; raises ValueError for anything else."""
        found = json.loads(text)
        if not isinstance(found, dict) or set(found) != {field.name for field in fields(cls)}:
            raise ValueError("not a calibration")
        return cls(
            embedder=str(found["embedder"]),
            unrelated=float(found["unrelated"]),
            related=float(found["related"]),
            question_centre=str(found["question_centre"]),
            memory_centre=str(found["memory_centre"]),
        )


@lru_cache(maxsize=32)
def _numbers(centre: str) -> Floats:
    return np.frombuffer(base64.b64decode(centre), "<f2").astype(np.float32)


def _centre(vectors: NDArray[np.float64]) -> tuple[str, NDArray[np.float64]]:
    """Give the mean as it is stored, and the vectors without it."""
    text = base64.b64encode(vectors.mean(axis=0).astype("<f2").tobytes()).decode("ascii")
    return text, vectors - _numbers(text)


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
    asked, question_centre = np.asarray(questions, np.float64), ""
    kept, memory_centre = np.asarray(memories, np.float64), ""
    if np.isfinite(asked).all() and np.isfinite(kept).all():
        question_centre, asked = _centre(asked)
        memory_centre, kept = _centre(kept)
    products = asked @ kept.T
    unrelated = products[~np.eye(len(products), dtype=np.bool_)]
    mean, deviation = float(unrelated.mean()), float(unrelated.std())
    if not (math.isfinite(mean) and deviation > 1e-6):
        raise ValueError("an embedder that finds all texts alike cannot be calibrated")
    start = min(mean + _STARTS_AT * deviation, _HIGHEST_FULL - 0.1)
    full = min(mean + _FULL_AT * deviation, _HIGHEST_FULL)
    return Calibration(
        embedder=embedder,
        unrelated=round(start, 4),
        related=round(full, 4),
        question_centre=question_centre,
        memory_centre=memory_centre,
    )


def relevance(evidence: Floats, full: float | NDArray[np.float64]) -> Floats:
    """Map evidence, counted in what its scope asks for, to a relevance: 0 to 0, 1 to 0.7, `full` and more to 1.

    Above 0.7 every doubling of the evidence adds the same, so that good and better stay apart. `full` is above 1.
    """
    short = np.minimum(np.maximum(evidence, 0), 1) ** np.float32(_SHAPE) * np.float32(_ENOUGH)
    steepness = np.divide(1 - _ENOUGH, np.log(full)).astype(np.float32)
    beyond = np.log(np.maximum(evidence, 1)) * steepness
    result: Floats = np.minimum(short + beyond, 1)
    result[evidence >= np.asarray(full, np.float32)] = 1
    return result


def evidence_of(relevance: float, full: float) -> float:
    """Give the evidence that has this relevance: the inverse of `relevance`.

    It is below 0 for 0, which all entries pass, and infinite beyond 1, which none does.
    """
    if relevance <= 0:
        return -1.0
    if relevance > 1:
        return math.inf
    if relevance <= _ENOUGH:
        return float((relevance / _ENOUGH) ** (1 / _SHAPE))
    return float(full ** ((relevance - _ENOUGH) / (1 - _ENOUGH)))
