"""A trial in the playground: what was asked, what a model would get to see, and how that differs from the trial before.

Pure, but for `run`, which changes nothing either: no use is counted, no receipt is stored, no session is touched.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, cast

from lamina.context.assemble import PREAMBLE
from lamina.context.receipt import Prompt, Receipt, ReceiptItem, ReceiptSection
from lamina.context.turns import PreviousTurns
from lamina.context.types import TURN_LAYERS, ContextLayer
from lamina.memory.types import IdentifierArguments
from lamina.visitor import Visitor

LAYERS: Final = tuple(layer for layer in TURN_LAYERS if layer is not ContextLayer.TOOL_REGISTRY)
"""What can be switched: tools are the application's, and none are registered here."""
BASE: Final = "You are a helpful assistant."
_END: Final = re.compile(r"(?<=\n````\n)")  # a fence closes a section, and no text inside can write one
_REASONS: Final = {
    "share": "other sections needed the room",
    "total": "larger than the whole budget",
    "memory": "over the budget of Conversation Memory",
    "quarantine": "held in quarantine",
    "recalled_messages": "more messages than are recalled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody tried."""

    query: str
    base: str = BASE
    session: str | None = None
    identifiers: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[ContextLayer, ...] = LAYERS
    budget: int | None = None
    memory_budget: int | None = None
    max_per_layer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of it."""

    asked: Asked
    prompt: Prompt

    @property
    def receipt(self) -> Receipt:
        """What the prompt was made of."""
        return self.prompt.receipt

    def sections(self) -> Iterator[tuple[ReceiptSection, str]]:
        """Every section with its text as the model gets it."""
        _, _, added = self.prompt.text[len(self.asked.base) :].partition(PREAMBLE)
        texts = [text for text in _END.split(added) if text]
        yield from zip(self.receipt.sections, texts, strict=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """An item that is not where it was."""

    item: ReceiptItem
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How one trial differs from the one before."""

    asked: tuple[str, ...]
    """What was asked otherwise, in words."""
    tokens: int
    """By how many tokens the prompt grew."""
    sections: Mapping[str, tuple[int, int]]
    """Tokens before and now, of sections where they differ."""
    moved: tuple[Moved, ...]


async def run(visitor: Visitor, asked: Asked, turns: PreviousTurns) -> Trial:
    """Assemble the prompt as a model would get it. Raises InvalidInputError, ForbiddenError, SessionNotFoundError."""
    if asked.session is not None:
        await visitor.conversation(asked.session)
    context = visitor.rooms.context
    looking = replace(
        context,
        turns=turns,
        settings=replace(context.settings, store_receipts=False),
        on_injected=None,
        on_turn=None,
    )
    prompt = await looking.assemble(
        asked.base,
        query=asked.query,
        layers=asked.layers,
        budget_tokens=asked.budget,
        memory_budget_tokens=asked.memory_budget,
        max_per_layer=asked.max_per_layer,
        session_key=asked.session,
        **cast(IdentifierArguments, visitor.identifiers(asked.identifiers)),
    )
    return Trial(asked=asked, prompt=prompt)


def compare(before: Trial, after: Trial) -> Comparison:
    """What changed from one trial to the next."""
    was, now = _states(before.receipt), _states(after.receipt)
    items = {**{_name(item): item for item in _items(before.receipt)}, **{_name(i): i for i in _items(after.receipt)}}
    tokens = [{one.name: one.tokens for one in trial.receipt.sections} for trial in (before, after)]
    sizes = {name: (tokens[0].get(name, 0), tokens[1].get(name, 0)) for name in {**tokens[0], **tokens[1]}}
    return Comparison(
        asked=tuple(_changes(before.asked, after.asked)),
        tokens=after.receipt.total_tokens - before.receipt.total_tokens,
        sections={name: pair for name, pair in sizes.items() if pair[0] != pair[1]},
        moved=tuple(
            Moved(item=item, before=was.get(name) or _absent(item, before), after=now.get(name) or _absent(item, after))
            for name, item in items.items()
            if was.get(name) != now.get(name)
        ),
    )


def reason(cut_by: str) -> str:
    """Why an item was left out, in words."""
    return _REASONS.get(cut_by, f"more than {cut_by} allows")


def _states(receipt: Receipt) -> dict[tuple[str, str], str]:
    return {_name(item): "in the prompt" if item.cut_by is None else reason(item.cut_by) for item in _items(receipt)}


def _absent(item: ReceiptItem, trial: Trial) -> str:
    return "layer off" if item.layer in LAYERS and item.layer not in trial.asked.layers else "not found"


def _items(receipt: Receipt) -> tuple[ReceiptItem, ...]:
    return (*receipt.injected, *receipt.cut)


def _name(item: ReceiptItem) -> tuple[str, str]:
    return item.layer.value, item.key


def _changes(before: Asked, after: Asked) -> Iterator[str]:
    for one in fields(Asked):
        was, now = getattr(before, one.name), getattr(after, one.name)
        if was != now:
            yield _change(one.name, was, now)


def _change(name: str, was: Any, now: Any) -> str:
    if name == "layers":
        switched = [f"{layer.title} off" for layer in was if layer not in now]
        return ", ".join(switched + [f"{layer.title} on" for layer in now if layer not in was])
    if name in ("query", "base"):
        return {"query": "another question", "base": "another base prompt"}[name]
    word = name.replace("_", " ")
    return f"{word} {_shown(was)} → {_shown(now)}"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(value.values()) or "nobody"
    return "default" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
