"""What a cosine of an embedder means, and what a raw score means: calibration without labels."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The scale of one embedder: cosines of `unrelated` texts map to 0, those of `related` texts to 1.

    A raw score of `middle` is a relevance of 0.7, `steepness` says how fast relevance grows around it.
    """

    embedder: str = ""
    unrelated: float = 0.2
    related: float = 0.8
    middle: float = 0.3
    steepness: float = 6.0

    def similarity(self, cosine: Floats) -> Floats:
        """Map cosines to [0, 1]."""
        scaled: Floats = (cosine - np.float32(self.unrelated)) * np.float32(
            1 / (self.related - self.unrelated)
        )
        np.clip(scaled, 0, 1, out=scaled)
        return scaled

    def relevance(self, raw: Floats) -> Floats:
        """Map raw scores to a relevance in [0, 1], ascending; 0 stays 0 and a perfect match reaches 1."""
        offset = math.log(0.7 / 0.3)
        logit = np.float32(self.steepness) * (raw - np.float32(self.middle)) + np.float32(offset)
        value: Floats = (1 / (1 + np.exp(-logit))).astype(np.float32)
        return value

    def raw_of(self, relevance: float) -> float:
        """Give the raw score that has this relevance: the inverse of `relevance`."""
        if relevance <= 0:
            return -math.inf
        if relevance >= 1:
            return math.inf
        return self.middle + (math.log(relevance / (1 - relevance)) - math.log(0.7 / 0.3)) / self.steepness

    def to_json(self) -> str:
        """Write the calibration as JSON, to be stored with the embedder's name."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Read what `to_json` wrote; raises ValueError for anything else."""
        fields = json.loads(text)
        if not isinstance(fields, dict):
            raise ValueError("a calibration is a JSON object")  # noqa: TRY004
        try:
            return cls(**fields)
        except TypeError as error:
            raise ValueError(f"not a calibration: {error}") from error
