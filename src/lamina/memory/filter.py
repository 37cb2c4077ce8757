"""Filters on tags and metadata: parsed once, evaluated in Python (`matches`) or inside a query (`filter_sql`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Operator = Literal["eq", "ne", "in", "contains", "gt", "gte", "lt", "lte", "exists"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One comparison on a metadata field; `path` is the dotted field, split."""

    path: tuple[str, ...]
    operator: Operator
    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Tags are ORed; conditions are ANDed with each other and with the tags. Empty matches everything."""

    tags: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()


def parse_filter(*, tags: Sequence[str] | None, where: Mapping[str, object] | None) -> Filter:
    """Check and normalise what a caller passed; raises InvalidFilterError."""
    raise NotImplementedError
