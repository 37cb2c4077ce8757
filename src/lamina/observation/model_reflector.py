"""Condenses notes with a chat model, and keeps nothing of its answer that the notes do not bear out.

At most three calls, each asking for more condensation than the one before, with what was wrong then. Of the answers
that are smaller than the notes, the best is taken: one within the target before a larger one, one without faults before
one whose lines had to be left out, a shorter before a longer one. Pinned entries come back as they were unless a line
carries them or something newer took their place.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from lamina.errors import LaminaError, ModelFailedError
from lamina.kernel.text import normalise
from lamina.llm.types import ChatModel
from lamina.observation.condensing import condense_draft
from lamina.observation.parsing import parse_answer
from lamina.observation.pins import Condensed, lost_pins, put_back
from lamina.observation.reflector_prompt import LEVELS, reflection_request
from lamina.observation.render import entry_counter
from lamina.observation.types import Entry, EntryCounter, Priority, Reflected, Reflector, ReflectorRequest, Spent

_log = logging.getLogger("lamina.observation")
_OPERATION: Final = "reflect"
_LEAST_ACCOUNTED: Final = 0.5
"""The share of the entries above low priority that an answer has to account for; less is a model that did not try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    entries: tuple[Entry, ...]
    tokens: int
    kept: int
    faults: tuple[str, ...]


class ModelReflector(Reflector):
    """A reflector that asks a chat model."""

    def __init__(self, model: ChatModel, *, count: EntryCounter | None = None) -> None:
        self._model = model
        self._count = count or entry_counter()

    async def reflect(self, request: ReflectorRequest) -> Reflected:
        """Fewer tokens that say the same.

        Raises what the model raises, and ModelFailedError when none of its answers was usable and smaller.
        """
        entries = [entry for note in request.notes for entry in note.entries]
        inputs = {f"e{place}": entry for place, entry in enumerate(entries, 1)}
        before = self._count(entries)
        best: _Candidate | None = None
        usable = False
        faults: tuple[str, ...] = ()
        spent = Spent()
        for level in range(len(LEVELS)):
            ask = reflection_request(
                inputs, tokens=before, target_tokens=request.target_tokens, level=level, faults=faults
            )
            try:
                reply = await self._model.complete(ask)
            except LaminaError as error:
                if best is None:
                    raise
                _log.info("%s failed to condense further (%s); the best answer is kept", self._model.name, error.code)
                break
            spent += Spent(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
            made = await asyncio.to_thread(self._candidate, reply.text, inputs)
            faults = made.faults
            usable = usable or bool(made.entries)
            if made.entries and made.tokens < before:
                best = min((best, made), key=lambda one: _order(one, request.target_tokens)) if best else made
                if made.tokens <= request.target_tokens and not faults:
                    break
            if made.tokens > request.target_tokens:
                faults = (*faults, "It was too long.")
        if best is None:
            # What is no gain will not become one by asking again; what could not be used may.
            reason = "not_condensed" if usable else "unusable"
            raise ModelFailedError(
                "The model's answers were not smaller than the notes, or could not be used.",
                operation=_OPERATION,
                details={"reason": reason, **asdict(spent)},
            )
        return Reflected(entries=best.entries, spent=spent, kept=best.kept, written_by=self._model.name)

    def _candidate(self, text: str, inputs: Mapping[str, Entry]) -> _Candidate:
        """What an answer makes of the entries; none where it could not be read, or accounts for too little."""
        answer = parse_answer(text)
        condensed: dict[str, Condensed] = {}
        faults: list[str] = list(answer.unreadable)
        for draft in answer.drafts:
            judged = condense_draft(draft, inputs)
            if judged.made is not None:
                condensed.setdefault(normalise(draft.text), judged.made)
            else:
                faults.append(f"{draft.text[:200]} (because {'; '.join(judged.faults)})")
        lines = tuple(condensed.values())
        if not lines:
            return _Candidate(entries=(), tokens=0, kept=0, faults=(*faults, "There was no line that could be used."))
        if (share := _accounted(inputs, lines)) < _LEAST_ACCOUNTED:
            return _Candidate(
                entries=(), tokens=0, kept=0, faults=(*faults, f"Only {share:.0%} of the lines were accounted for.")
            )
        lost = lost_pins(inputs, lines)
        # What comes back as it was needs no line beside it that says the same with less.
        made = [one.entry for one in lines if not set(one.made_from) <= set(lost)]
        pins = put_back(inputs[id] for id in lost)
        entries = tuple(sorted((*made, *pins), key=lambda entry: (entry.said_at, entry.sources)))
        return _Candidate(entries=entries, tokens=self._count(entries), kept=len(pins), faults=tuple(faults))


def _order(candidate: _Candidate, target: int) -> tuple[bool, int, int]:
    return candidate.tokens > target, len(candidate.faults), candidate.tokens


def _accounted(inputs: Mapping[str, Entry], lines: Sequence[Condensed]) -> float:
    """The share of the entries worth keeping, pinned ones apart, that some line was made from or replaces."""
    cited = {id for one in lines for id in (*one.made_from, *one.replaces)}
    matter = [id for id, entry in inputs.items() if entry.priority is not Priority.LOW and not entry.pinned]
    return sum(id in cited for id in matter) / len(matter) if matter else 1.0
