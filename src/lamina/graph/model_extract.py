"""Entities and relations read by a chat model, held to what the text says, with the rules behind it."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import anyio

from lamina.errors import ContentTooLongError, LaminaError
from lamina.graph.extract import MOST_NAMES, MOST_TRIPLES, RuleExtractor
from lamina.graph.model_answer import Judged, judge
from lamina.graph.model_prompt import VERSION, extraction_request
from lamina.graph.names import fold
from lamina.graph.sentences import split_sentences
from lamina.graph.shapes import USER
from lamina.graph.types import SEEN_TOGETHER, Extraction, FoundTriple, Predicate
from lamina.kernel.clock import Clock
from lamina.kernel.redact import redact
from lamina.llm.types import ChatModel
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.graph")

MODEL_EXTRACTOR: Final = f"model:{VERSION}"
"""The name stored with what a model read, whichever model it was: another model does not read everything again."""
PAUSE_S: Final = 60.0
"""Seconds for which a model that failed is not asked."""
_CONCURRENT: Final = 4
_PIECE: Final = 6_000
_MOST_PIECES: Final = 8
_OPERATION: Final = "graph_extract"


class ModelExtractor:
    """A `TripleExtractor` that asks a model, one text at a time, and believes what the text bears out.

    The model's relations take the place of those the rules would state; names and nearness are still found by the
    rules. While the model fails, the rules read alone, and what they read is marked to be read again. A text that the
    model cannot read, or answers without form, stays with the rules. Every such case is counted.
    """

    name = MODEL_EXTRACTOR

    def __init__(self, model: ChatModel, *, clock: Clock, metrics: Metrics) -> None:
        self._model = model
        self._clock = clock
        self._metrics = metrics
        self._rules = RuleExtractor()
        self._paused_until = float("-inf")
        self.fallback_count = 0
        """Texts that the rules read alone."""
        self.dropped_count = 0
        """Lines of answers that the texts did not bear out."""

    async def extract(self, texts: Sequence[str]) -> Sequence[Extraction]:
        """What each text says; never fails."""
        ruled = await self._rules.extract(texts)
        found = list(ruled)
        queue = iter(enumerate(texts))

        async def work() -> None:
            for place, text in queue:
                found[place] = await self._read(text, ruled[place])

        async with anyio.create_task_group() as group:
            for _ in range(min(_CONCURRENT, len(texts))):
                group.start_soon(work)
        return found

    async def _read(self, text: str, ruled: Extraction) -> Extraction:
        if not text.strip():
            return ruled
        if self._clock.monotonic() < self._paused_until:
            self.fallback_count += 1
            return replace(ruled, read_by=self._rules.name)
        try:
            judged = await self._ask(text, of_user=USER in ruled.names)
        except ContentTooLongError as error:
            return self._fall_back(ruled, error.code)
        except LaminaError as error:
            self._pause(error)
            return replace(self._fall_back(ruled, error.code), read_by=self._rules.name)
        if judged.dropped:
            self.dropped_count += judged.dropped
            self._metrics.operation_failed(_OPERATION, "NOT_IN_TEXT")
            _log.info("%s of %s's lines were not borne out by the text", judged.dropped, self._model.name)
        return _joined(judged, ruled) if judged.understood else self._fall_back(ruled, "UNREADABLE_ANSWER")

    async def _ask(self, text: str, *, of_user: bool) -> Judged:
        judged, understood = Judged(), False
        for piece in _pieces(redact(text, emails=False)):
            reply = await self._model.complete(extraction_request(piece))
            # The last line of an answer that was cut off may be half a relation.
            said = reply.text if reply.finished else reply.text.rpartition("\n")[0]
            judge(said, piece, judged, of_user=of_user)
            understood = understood or judged.understood
        judged.understood = understood
        return judged

    def _fall_back(self, ruled: Extraction, code: str) -> Extraction:
        self.fallback_count += 1
        self._metrics.operation_failed(_OPERATION, code)
        return ruled

    def _pause(self, error: LaminaError) -> None:
        now = self._clock.monotonic()
        if now >= self._paused_until:
            _log.warning(
                "%s cannot read texts for the graph, the rules do for %g s: %s", self._model.name, PAUSE_S, error
            )
        self._paused_until = now + PAUSE_S


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that a model reads at once; the end of a very long one is left to the rules."""
    if len(text) <= _PIECE:
        yield text
        return
    piece, given = "", 0
    for sentence in split_sentences(text):
        if piece and len(piece) + len(sentence) >= _PIECE:
            yield piece
            piece, given = "", given + 1
            if given == _MOST_PIECES:
                return
        piece = f"{piece}\n{sentence}" if piece else sentence
    yield piece


def _joined(judged: Judged, ruled: Extraction) -> Extraction:
    """The model's names and relations first, then the rules' names, and nearness where nothing more is known."""
    names = dict(judged.names)
    for name in ruled.names:
        names.setdefault(fold(name), name)
    related = {frozenset((subject, object)) for subject, _, object in judged.triples}
    # What the rules took for a statement, and the model did not, is nearness.
    near = [
        FoundTriple(subject=one.subject, predicate=Predicate.RELATED_TO, object=one.object, weight=SEEN_TOGETHER)
        for one in ruled.triples
        if _ends(one) not in related
    ]
    return Extraction(
        names=tuple(names.values())[:MOST_NAMES], triples=(*judged.triples.values(), *near)[:MOST_TRIPLES]
    )


def _ends(triple: FoundTriple) -> frozenset[str]:
    return frozenset((fold(triple.subject), fold(triple.object)))
