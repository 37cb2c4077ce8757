"""Judges what was found before it enters a prompt: suspicious text is marked, or held back until a person decides."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamina.context.assemble import Cut
from lamina.context.quarantine import Quarantine, State, digest
from lamina.context.settings import ContextSettings
from lamina.context.suspicion import findings
from lamina.context.types import ContextItem, ContextLayer, Place, Semantic, TextJudge
from lamina.errors import LaminaError
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.context")

CLASSIFIED: Final = ("classifier",)
"""The finding of a text that only the classifier takes for instructions."""
Items = Mapping[Place, Sequence[ContextItem]]
_NAMELESS: Final = (Semantic.MEMORY, ContextLayer.AGENT_LEARNINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Decides about the items of one prompt."""

    settings: ContextSettings
    quarantine: Quarantine
    metrics: Metrics
    judge: TextJudge | None = None
    """Asked about texts of low trust that no pattern found suspicious."""

    async def judged(self, items: Items) -> tuple[Items, list[Cut]]:
        """The items with suspicious ones marked, and those that are held back; of a note that is single entries."""
        noted = any(item.note is not None and item.suspicious for found in items.values() for item in found)
        if self.settings.suspicious == "ignore":
            return (_trusted(items) if noted else items), []
        marked = await self._marked([item for found in items.values() for item in found if item.note is None])
        if not marked and not noted:
            return items, []
        lines = _lines(items) if noted else []
        suspects = [*marked.values(), *lines]
        states = await self._states(suspects)
        held = {id(one) for one in suspects if not self._passes(one, states)}
        kept: dict[Place, Sequence[ContextItem]] = {}
        for place, found in items.items():
            others = [item for item in found if id(marked.get(id(item))) not in held]
            kept[place] = [
                item if _is_released(marked.get(id(item)), states) else marked.get(id(item), item) for item in others
            ]
        if lines:
            kept = _decided(kept, lines, held, states)
        return kept, [Cut(item=one, tokens=0, budget="quarantine") for one in suspects if id(one) in held]

    async def _marked(self, items: Sequence[ContextItem]) -> dict[int, ContextItem]:
        """The suspicious ones of these items with what was found, by their identity."""
        reasons = [findings(_said(item), item.origin) for item in items]
        if self.judge is not None:
            reasons = await self._second_opinion(self.judge, items, reasons)
        return {id(item): replace(item, suspicious=found) for item, found in zip(items, reasons, strict=True) if found}

    def _passes(self, suspect: ContextItem, states: Mapping[bytes, State]) -> bool:
        state = states.get(digest(suspect))
        return state is State.RELEASED or (state is None and not self._holds(suspect))

    def _holds(self, suspect: ContextItem) -> bool:
        """Whether nobody's decision is needed to hold a text back; what only the classifier says never is enough."""
        return self.settings.suspicious == "quarantine" and suspect.suspicious != CLASSIFIED

    async def _second_opinion(
        self, judge: TextJudge, items: Sequence[ContextItem], reasons: list[tuple[str, ...]]
    ) -> list[tuple[str, ...]]:
        asked = [number for number, item in enumerate(items) if item.origin.trust == "low" and not reasons[number]]
        if not asked:
            return reasons
        try:
            answers = await judge.judge([items[number].content for number in asked])
        except Exception as error:  # noqa: BLE001 -- isolation: a second opinion that fails leaves the first one
            self.metrics.operation_failed("context_classifier", type(error).__name__)
            _log.warning("the classifier failed: %s", type(error).__name__)
            return reasons
        seen = {number for number, answer in zip(asked, answers, strict=True) if answer}
        return [CLASSIFIED if number in seen else found for number, found in enumerate(reasons)]

    async def _states(self, suspects: list[ContextItem]) -> dict[bytes, State]:
        """What was decided about suspects; with `quarantine`, those nobody decided about are held from now on."""
        try:
            states = await self.quarantine.states(suspects)
            new = [item for item in suspects if digest(item) not in states and self._holds(item)]
            if new:
                await self.quarantine.hold(new)
        except LaminaError as error:
            # What cannot be looked up is treated as undecided: marked, or held back where that is the rule.
            self.metrics.operation_failed("quarantine", error.code)
            _log.warning("the quarantine could not be read: %s", error.code)
            return {}
        return states


def _said(item: ContextItem) -> str:
    """What a model reads of an item; the id of a memory or a learning it never sees."""
    return item.content if item.layer in _NAMELESS else f"{item.key}\n{item.content}\n{item.location or ''}"


def _is_released(suspect: ContextItem | None, states: Mapping[bytes, State]) -> bool:
    return suspect is not None and states.get(digest(suspect)) is State.RELEASED


def _trusted(items: Items) -> Items:
    """The items without any suspicion."""
    return {
        place: [replace(item, suspicious=()) if item.suspicious else item for item in found]
        for place, found in items.items()
    }


# Where nothing is observed, the room of notes is not loaded.


def _lines(items: Items) -> list[ContextItem]:
    """The suspicious entries of notes as items of their own."""
    from lamina.context.notes import suspects

    return suspects(item for found in items.values() for item in found)


def _decided(
    items: Items, lines: Sequence[ContextItem], held: set[int], states: Mapping[bytes, State]
) -> dict[Place, Sequence[ContextItem]]:
    """The items with suspicious entries of notes marked or left out."""
    from lamina.context.notes import decided

    out = {line.key for line in lines if id(line) in held}
    marks = {line.key for line in lines if not _is_released(line, states)} - out
    return {
        place: [one for item in found if (one := decided(item, marked=marks, held=out)) is not None]
        for place, found in items.items()
    }
