"""Writes notes with a chat model, and believes nothing of its answer that the messages do not bear out.

One call, and one more to mend what was wrong or left out. What still cannot be proved is dropped and reported; what the
user wants, ruled out or decided and no line carries is noted in the user's own words. An answer that cannot be read is
a failure, never "nothing to record".
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from lamina.errors import LaminaError, ModelFailedError
from lamina.kernel.text import normalise
from lamina.llm.types import ChatModel, ChatReply, ChatRequest
from lamina.observation.drafts import Answer, Draft
from lamina.observation.judging import judge_draft
from lamina.observation.loss import Missing, find_missing, matters, verbatim
from lamina.observation.observer_prompt import observation_request, repair_request
from lamina.observation.parsing import parse_answer
from lamina.observation.transcript import Shown, show_messages
from lamina.observation.types import Entry, Observed, Observer, ObserverRequest, Spent

_log = logging.getLogger("lamina.observation")
_OPERATION: Final = "observe"


class ModelObserver(Observer):
    """An observer that asks a chat model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def observe(self, request: ObserverRequest) -> Observed:
        """What the model noted and the messages bear out.

        Raises what the model raises, and ModelFailedError when its answer is empty, cannot be read, or holds nothing
        that could be proved although something mattered.
        """
        shown = show_messages(request.messages)
        work = _Work(shown={one.message.sequence: one for one in shown}, recent=_numbered(request.recent))
        if not any(one.said or one.returned for one in shown):
            return Observed(entries=(), written_by=self._model.name)
        asked = observation_request(shown, work.recent)
        reply = await self._ask(asked, work)
        if not reply.text.strip():
            raise _failed("The model answered nothing.", "empty", work.spent)
        answer = await asyncio.to_thread(work.take, reply)
        missing = await asyncio.to_thread(work.missing)
        lacking = matters(missing, len(work.entries)) or (missing and not reply.finished)
        if work.faulty or lacking or not answer.readable:
            await self._repair(asked, reply, work, missing)
            missing = await asyncio.to_thread(work.missing)
        return self._observed(work, missing)

    async def _repair(self, asked: ChatRequest, reply: ChatReply, work: "_Work", missing: Sequence[Missing]) -> None:
        """Ask for what was wrong or left out, once. A repair that fails costs nothing that could be proved before."""
        mend = repair_request(asked, reply.text, work.faulty, missing)
        refused, work.faulty = work.faulty, []
        proved = set(work.entries)
        try:
            await asyncio.to_thread(work.take, await self._ask(mend, work))
        except LaminaError as error:
            if not work.entries:
                raise
            _log.info("mending the notes of %s failed (%s); what was proved is kept", self._model.name, error.code)
        mended = {one for key, entry in work.entries.items() if key not in proved for one in entry.sources}
        # A line whose messages have a new one now was written again; the others were given up.
        again = {draft.text for draft, _ in work.faulty}
        work.faulty += [
            (draft, why) for draft, why in refused if mended.isdisjoint(draft.sources) and draft.text not in again
        ]

    async def _ask(self, request: ChatRequest, work: "_Work") -> ChatReply:
        reply = await self._model.complete(request)
        work.spent += Spent(calls=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        return reply

    def _observed(self, work: "_Work", missing: Sequence[Missing]) -> Observed:
        if not work.readable:
            raise _failed("The model's answer could not be read.", "unreadable", work.spent)
        if not work.entries and not work.nothing and matters(missing, 0):
            raise _failed("Nothing in the model's answer could be proved from the messages.", "unproved", work.spent)
        kept = [*work.entries.values(), *verbatim(missing)]
        dropped = [f"{'; '.join(why)}: {draft.text[:200]}" for draft, why in work.faulty]
        return Observed(
            entries=tuple(sorted(kept, key=lambda entry: entry.sources)),
            spent=work.spent,
            dropped=(*dropped, *work.unreadable),
            written_by=self._model.name,
        )


@dataclass(slots=True, kw_only=True)
class _Work:
    """What came of the answers so far."""

    shown: Mapping[int, Shown]
    recent: Mapping[str, Entry]
    entries: dict[str, Entry] = field(default_factory=dict)
    faulty: list[tuple[Draft, tuple[str, ...]]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    nothing: bool = False
    readable: bool = False
    spent: Spent = field(default_factory=Spent)

    def take(self, reply: ChatReply) -> Answer:
        """Read an answer, and keep what of it is borne out and new."""
        answer = parse_answer(reply.text)
        self.readable = self.readable or answer.readable
        self.nothing = self.nothing or answer.nothing
        self.unreadable += answer.unreadable
        known = {normalise(entry.text) for entry in self.recent.values()}
        for draft in answer.drafts:
            if (key := normalise(draft.text)) in self.entries or key in known:
                continue
            judged = judge_draft(draft, self.shown, self.recent)
            if judged.entry is not None:
                self.entries[key] = judged.entry
            else:
                self.faulty.append((draft, judged.faults))
        return answer

    def missing(self) -> tuple[Missing, ...]:
        """What matters and is not noted."""
        return find_missing(tuple(self.shown.values()), tuple(self.entries.values()), tuple(self.recent.values()))


def _failed(message: str, reason: str, spent: Spent) -> ModelFailedError:
    return ModelFailedError(message, operation=_OPERATION, details={"reason": reason, **asdict(spent)})


def _numbered(recent: Sequence[Entry]) -> dict[str, Entry]:
    return {f"r{place}": entry for place, entry in enumerate(recent, 1)}
