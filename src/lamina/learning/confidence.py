"""How far a fix can be trusted: a Beta distribution over "the tool succeeds with it". Pure.

`alpha` counts successes and `beta` failures, each plus what is assumed before the first trial. Counting is adding, so
concurrent outcomes can be added in the database in any order without losing one. There is no decay with time: a fix
that no longer works is found out by its next failures.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is known about a fix; both numbers are above 0."""

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if not (self.alpha > 0 and self.beta > 0):
            raise ValueError("alpha and beta must be above 0")

    @property
    def confidence(self) -> float:
        """The mean of the distribution: strictly between 0 and 1."""
        return self.alpha / (self.alpha + self.beta)

    def after(self, *, successes: int = 0, failures: int = 0) -> "Belief":
        """The belief after these outcomes, in whatever order they came."""
        if successes < 0 or failures < 0:
            raise ValueError("outcomes are counted, not taken back")
        return Belief(alpha=self.alpha + successes, beta=self.beta + failures)


UNTRIED = Belief(alpha=1.0, beta=1.0)
"""Nothing is known: confidence 0.5, and two successes pass 0.7."""

USER_SAID = Belief(alpha=9.0, beta=1.0)
"""The user said so: confidence 0.9, and it takes three failures in a row to fall below 0.7."""
