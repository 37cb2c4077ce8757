"""When two memories are the same fact.

Embedders put opposites, swapped names and changed numbers close together, so vectors alone never decide: they must
be close, and the texts must say the same word by word (`wording`). A wrong merge hides a memory, a missed one
only shows it twice; so where it is uncertain, they are two.
"""

import unicodedata
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamina.memory.provider import Vector
from lamina.memory.wording import Wording, read, same_wording

_ROUNDING = 1e-6
"""The cosine of a vector with itself can fall this short of one."""


class Statement:
    """A text that is read only when it must be compared."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def wording(self) -> Wording:
        return read(self.text)

    @cached_property
    def normal(self) -> str:
        """Without case, spacing and a closing full stop."""
        return " ".join(unicodedata.normalize("NFC", self.text).casefold().split()).rstrip(".!… ")


def same_fact(
    a_text: str, b_text: str, a_vector: Vector | None, b_vector: Vector | None, similarity: float = 0.95
) -> bool:
    """Whether two texts are one memory: close vectors (equal normalised text when one is missing), same wording."""
    cosine = float(cosines([a_vector, b_vector])[0, 1])
    return not cosine < similarity and same_statement(Statement(a_text), Statement(b_text), cosine)


def same_statement(one: Statement, other: Statement, cosine: float) -> bool:
    """Whether texts whose vectors are close say the same; a cosine of NaN stands for a missing vector."""
    if one.text == other.text:
        return True
    if np.isnan(cosine) and one.normal != other.normal:
        return False
    return same_wording(one.wording, other.wording)


def cosines(vectors: Sequence[Vector | None]) -> NDArray[np.float32]:
    """The cosine of each pair; NaN where a vector is missing, zero, or of another length than the first."""
    known = [(row, vector) for row, vector in enumerate(vectors) if vector is not None]
    alike = [(row, vector) for row, vector in known if len(vector) == len(known[0][1])]
    products = np.full((len(vectors), len(vectors)), np.nan, dtype=np.float32)
    if alike:
        matrix = np.array([vector for _, vector in alike], np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        real = norms.nonzero()[0]
        unit = matrix[real] / norms[real, np.newaxis]
        among = np.minimum(unit @ unit.T + np.float32(_ROUNDING), 1)
        rows = np.array([row for row, _ in alike])[real]
        products[rows[:, np.newaxis], rows] = among
    return products
