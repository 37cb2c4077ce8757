"""The receipt of a prompt: what was put in, what was found and left out, what failed, what stayed the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NamedTuple

from lamina.context.assemble import Assembled, Cut, Placed
from lamina.context.types import ContextItem, LayerFailure, Origin, Place, parse_place


class ReceiptItem(NamedTuple):
    """One item that was found. `cut_by` is None for one that is in the prompt; see `assemble.Cut` for the others."""

    layer: Place
    key: str
    score: float
    signals: Mapping[str, float]
    tokens: int
    origin: str
    trust: str
    suspicious: tuple[str, ...] = ()
    cut_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptSection:
    """One section of the prompt: its tokens, those it was allowed, and how many items it has."""

    layer: Place
    name: str
    tokens: int
    allowed: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What one prompt was made of. It names items and never repeats their text."""

    id: str
    at: datetime
    session_key: str | None
    query: str
    keywords: tuple[str, ...]
    budget_tokens: int
    base_tokens: int
    added_tokens: int
    unchanged_tokens: int
    """Tokens at the beginning of the prompt that are the same bytes as in the previous turn of the session."""
    memory_budget_tokens: int = 0
    memory_tokens: int = 0
    """Tokens of Conversation Memory, its headings included; a part of `added_tokens`."""
    unchanged_memory_tokens: int = 0
    """Those of them that are within `unchanged_tokens`."""
    sections: tuple[ReceiptSection, ...] = ()
    injected: tuple[ReceiptItem, ...] = ()
    cut: tuple[ReceiptItem, ...] = ()
    failures: tuple[LayerFailure, ...] = ()
    elapsed_ms: float = 0.0
    error: str | None = None
    """Why nothing could be added at all, as an error's code; None when all went well."""
    user_id: str | None = None
    """For whom the prompt was; a session's name alone does not say, since it may be another's later."""

    @property
    def total_tokens(self) -> int:
        """The tokens of the whole prompt."""
        return self.base_tokens + self.added_tokens

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain values, ready for JSON."""
        plain: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        plain["at"] = self.at.isoformat()
        plain["keywords"] = list(self.keywords)
        for name in ("sections", "injected", "cut", "failures"):
            plain[name] = [_row(one) for one in plain[name]]
        return {**plain, "total_tokens": self.total_tokens}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Receipt":
        """What `to_dict` wrote; raises KeyError, TypeError or ValueError for anything else."""
        values = {name: value for name, value in plain.items() if name != "total_tokens"}
        values["at"] = datetime.fromisoformat(plain["at"])
        values["keywords"] = tuple(plain["keywords"])
        values["sections"] = tuple(ReceiptSection(**_placed(row)) for row in plain["sections"])
        values["injected"] = tuple(_item(row) for row in plain["injected"])
        values["cut"] = tuple(_item(row) for row in plain["cut"])
        values["failures"] = tuple(LayerFailure(**_placed(row)) for row in plain["failures"])
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What the model should see, and how it came about."""

    text: str
    receipt: Receipt
    items: tuple[ContextItem, ...] = field(default=(), repr=False)
    """What is in the prompt, in its order."""

    def __str__(self) -> str:
        return self.text


def sections_of(made: Assembled) -> tuple[ReceiptSection, ...]:
    """The sections of an assembled prompt."""
    counted: dict[Place, int] = {}
    for placed in made.placed:
        counted[placed.item.layer] = counted.get(placed.item.layer, 0) + 1
    return tuple(
        ReceiptSection(layer=use.place, name=use.name, tokens=use.tokens, allowed=use.allowed, items=counted[use.place])
        for use in made.sections
    )


def injected_item(placed: Placed) -> ReceiptItem:
    """The line of an item that is in the prompt."""
    return _line(placed.item, placed.tokens, None)


def cut_item(cut: Cut) -> ReceiptItem:
    """The line of an item that was left out."""
    return _line(cut.item, cut.tokens, cut.budget)


_SHOWN = {origin: (origin.value, origin.trust) for origin in Origin}


def _line(item: ContextItem, tokens: int, cut_by: str | None) -> ReceiptItem:
    origin, trust = _SHOWN[item.origin]
    return ReceiptItem(item.layer, item.key, item.score, item.signals, tokens, origin, trust, item.suspicious, cut_by)


def _row(one: Any) -> dict[str, Any]:
    if isinstance(one, ReceiptItem):
        row = {**one._asdict(), "signals": dict(one.signals), "suspicious": list(one.suspicious)}
    else:
        row = {part.name: getattr(one, part.name) for part in fields(one)}
    row["layer"] = row["layer"].value
    return row


def _placed(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "layer": parse_place(row["layer"])}


def _item(row: Mapping[str, Any]) -> ReceiptItem:
    return ReceiptItem(**{**_placed(row), "suspicious": tuple(row["suspicious"])})
