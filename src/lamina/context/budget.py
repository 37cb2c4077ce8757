"""One budget of tokens for many sections: shares that move to where the content is, and only whole items. Pure.

Every section may use its share. What a section does not need goes to those that need more, in proportion to their
shares, until nothing is left over or everybody has enough. Items are taken best first; one that does not fit is
passed over and smaller ones after it still get their chance. What the cutting of whole items left unused is offered
once more to all sections, in order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

UNLIMITED = 0
"""The budget that cuts nothing; below it, nothing fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one section asks for: its share, what it costs to have it at all, and its items' sizes, best first."""

    share: float
    frame: int
    sizes: tuple[int, ...]
    needs: int | None = None
    """The number of an earlier section that must have all its items before this one gets any."""

    @property
    def tokens(self) -> int:
        """Everything the section asks for."""
        return self.frame + sum(self.sizes) if self.sizes else 0


@dataclass(slots=True, kw_only=True)
class Grant:
    """What one section gets: the tokens it may use, and the numbers of its items that fit, ascending."""

    allowed: int = 0
    taken: list[int] = field(default_factory=list)


def distribute(demands: Sequence[Demand], budget: int) -> list[Grant]:
    """Give every section what it gets of the budget; the sum of frames and taken items never exceeds it."""
    if budget == UNLIMITED or sum(demand.tokens for demand in demands) <= budget:
        return [Grant(allowed=demand.tokens, taken=list(range(len(demand.sizes)))) for demand in demands]
    if budget < UNLIMITED:
        return [Grant() for _ in demands]
    grants = [Grant(allowed=allowed) for allowed in allowances(demands, budget)]
    left = budget
    for demand, grant in zip(demands, grants, strict=True):
        left -= _take(demand, grant, grant.allowed, demands, grants)
    for demand, grant in zip(demands, grants, strict=True):
        left -= _take(demand, grant, left, demands, grants)
        grant.taken.sort()
    return grants


def allowances(demands: Sequence[Demand], budget: int) -> list[int]:
    """The tokens each section may use; together at most the budget."""
    allowed = [0] * len(demands)
    hungry = [number for number, demand in enumerate(demands) if demand.sizes]
    left = budget
    while hungry:
        shares = math.fsum(demands[number].share for number in hungry)
        portions = {number: int(left * demands[number].share / shares) if shares > 0 else 0 for number in hungry}
        full = [number for number in hungry if demands[number].tokens <= portions[number]]
        for number in full or hungry:
            allowed[number] = demands[number].tokens if full else portions[number]
        if not full:
            break
        left -= sum(allowed[number] for number in full)
        hungry = [number for number in hungry if number not in full]
    return allowed


def _take(demand: Demand, grant: Grant, most: int, demands: Sequence[Demand], grants: Sequence[Grant]) -> int:
    """Take further items of a section within so many tokens; how many they cost, its frame included."""
    if demand.needs is not None and len(grants[demand.needs].taken) < len(demands[demand.needs].sizes):
        return 0
    spent = 0
    for number, size in enumerate(demand.sizes):
        cost = size if grant.taken else size + demand.frame
        if number not in grant.taken and spent + cost <= most:
            grant.taken.append(number)
            spent += cost
    return spent
