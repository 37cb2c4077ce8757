"""Budgets of tokens: what is found shares one, the notes of a conversation have one of their own. Pure.

`distribute`: every section may use its share. What a section does not need goes to those that need more, in
proportion to their shares, until nothing is left over or everybody has enough. Items are taken best first; one that
does not fit is passed over and smaller ones after it still get their chance. What the cutting of whole items left
unused is offered once more to all sections, in order.

`fill`: one section after the other, best first, up to the first item that does not fit. So what is kept of notes has
no holes, and observations come in only beside every reflection.
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
        left -= _take(demand, grant, grant.allowed)
    for demand, grant in zip(demands, grants, strict=True):
        left -= _take(demand, grant, left)
        grant.taken.sort()
    return grants


def fill(demands: Sequence[Demand], budget: int) -> list[Grant]:
    """Give sections what fits, in order and best first; nothing after the first item that does not fit gets any."""
    left = sum(demand.tokens for demand in demands) if budget == UNLIMITED else max(0, budget)
    grants = [Grant() for _ in demands]
    for demand, grant in zip(demands, grants, strict=True):
        grant.allowed = left
        for number, size in enumerate(demand.sizes):
            cost = size if grant.taken else size + demand.frame
            if cost > left:
                return grants
            grant.taken.append(number)
            left -= cost
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


def _take(demand: Demand, grant: Grant, most: int) -> int:
    """Take further items of a section within so many tokens; how many they cost, its frame included."""
    spent = 0
    for number, size in enumerate(demand.sizes):
        cost = size if grant.taken else size + demand.frame
        if number not in grant.taken and spent + cost <= most:
            grant.taken.append(number)
            spent += cost
    return spent
