"""Measures what a long conversation's notes keep: whole conversations, message by message, through the real pipeline.

Every turn is appended to a session (the first speaker as the user, the other as the assistant, at the time it was
said), and whatever is due is observed, archived and condensed, without a model and with everything at its default. At
the end the questions are asked of the memory section that a prompt would carry. What answers a question is said in
`lamina.evaluation.answers`; the same holds for two baselines that put raw messages into the same budget.

Questions without an answer or without evidence are skipped and counted: among them all of category 5, which ask for
what nobody said.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from lamina.app import App
from lamina.context.types import ContextItem, Semantic
from lamina.embedding.buffer import EmbeddingBuffer
from lamina.evaluation.answers import Passage, Shown
from lamina.evaluation.conversations import CATEGORIES, Conversation, Question, Turn
from lamina.kernel.clock import Clock, SystemClock
from lamina.observation.extractive_reflector import STATEMENTS
from lamina.session.types import Message, Role

Progress = Callable[[int, int], None]
"""Called with the steps done and the steps there are."""

_TOP = 10
_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What was kept. Shares are of the questions; `lost` are archived messages that cannot be had back as they were.

    `answer_in_prompt`: answered by the memory section. `answer_with_recall`: by it or by the archived messages that the
    same prompt carries for the question. `evidence_recallable`: the mean share of a question's evidence among the ten
    messages that `recall` finds. `compression`: tokens of the archived messages for each token of the memory section.
    """

    answer_in_prompt: float
    answer_with_recall: float
    baseline_recent: float
    baseline_head: float
    evidence_recallable: float
    compression: float
    lost: int
    questions: int
    skipped_questions: int
    messages: int
    archived: int
    raw_tokens: int
    memory_tokens: int
    observations: int
    reflections: int
    highest_generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionReport:
    """What an evaluation found, over all conversations and for each."""

    overall: Retention
    by_conversation: dict[str, Retention]
    by_category: dict[str, dict[str, float]]
    memory_budget: int
    append_ms_p50: float
    append_ms_p95: float
    embedder: str

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, the overall figures at the top."""
        rest = asdict(self)
        return {**rest.pop("overall"), **rest}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What became of one question."""

    category: int
    noted: bool
    recalled: bool
    recent: bool
    head: bool
    found: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What became of one conversation."""

    asked: tuple[_Asked, ...]
    skipped: int
    lost: int
    messages: int
    archived: int
    raw_tokens: int
    archived_tokens: int
    memory_tokens: int
    generations: tuple[int, ...]


async def evaluate_retention(
    app: App,
    conversations: Sequence[Conversation],
    *,
    clock: Clock | None = None,
    progress: Progress = lambda done, total: None,
) -> RetentionReport:
    """Say every conversation, ask its questions, and report. The store should be empty.

    Raises ConfigurationError while observational memory is off.
    """
    run = _Run(app, clock or SystemClock(), progress)
    run.total = sum(len(one.turns) + len(one.questions) for one in conversations)
    kept = {one.id: await run.keep(f"eval:{number}:{one.id}", one) for number, one in enumerate(conversations)}
    return run.report(kept)


class _Run:
    """One evaluation under way."""

    def __init__(self, app: App, clock: Clock, progress: Progress) -> None:
        self.app = app
        self.clock = clock
        self.progress = progress
        self.total = 0
        self._done = 0
        self._append_ms: list[float] = []
        self._budget = app.context.memory_token_budget

    async def keep(self, key: str, conversation: Conversation) -> _Kept:
        said = await self._say(key, conversation.turns)
        places = {turn.reference: message.sequence for turn, message in zip(conversation.turns, said, strict=True)}
        contents = {message.sequence: message.content for message in said}
        baselines = (Shown(_raw(_within(reversed(said), self._budget))), Shown(_raw(_within(said, self._budget))))
        asked: list[_Asked] = []
        memory_tokens = 0
        for question in conversation.questions:
            evidence = {places[one]: contents[places[one]] for one in question.evidence if one in places}
            if question.answer and evidence:
                one, memory_tokens = await self._ask(key, question, evidence, said, baselines)
                asked.append(one)
            self._advance()
        archived = (await self.app.sessions.get(key)).archived_count
        notes = await self.app.observation.notes(key)
        return _Kept(
            asked=tuple(asked),
            skipped=len(conversation.questions) - len(asked) + conversation.unasked,
            lost=await count_lost(self.app, key, conversation.turns, archived),
            messages=len(said),
            archived=archived,
            raw_tokens=sum(message.tokens for message in said),
            archived_tokens=sum(message.tokens for message in said[:archived]),
            memory_tokens=memory_tokens,
            generations=tuple(note.generation for note in notes),
        )

    async def _say(self, key: str, turns: Sequence[Turn]) -> list[Message]:
        """Append every turn, and after each do what is due, as the worker would."""
        said = []
        for turn in turns:
            started = self.clock.monotonic()
            message = await self.app.sessions.append(
                role=Role.USER if turn.author == turns[0].author else Role.ASSISTANT,
                content=turn.content,
                author=turn.author,
                at=turn.said_at,
                session_key=key,
            )
            self._append_ms.append((self.clock.monotonic() - started) * 1000)
            await self.app.observation.observe_now(key)
            said.append(message)
            self._advance()
        await self._vectors_are_there()
        return said

    async def _vectors_are_there(self) -> None:
        """Wait for an embedder that takes its time: recall is measured with what it knows in the end."""
        late = self.app.sessions.embeddings
        if isinstance(late, EmbeddingBuffer):
            await late.drain()
            if late.dropped_count:
                await late.backfill()
                await late.drain()

    async def _ask(
        self,
        key: str,
        question: Question,
        evidence: dict[int, str],
        said: Sequence[Message],
        baselines: tuple[Shown, Shown],
    ) -> tuple[_Asked, int]:
        prompt = await self.app.context.assemble("", query=question.text, session_key=key)
        noted = [passage for item in prompt.items for passage in _noted(item)]
        recalled = [said[int(item.key) - 1] for item in prompt.items if item.layer is Semantic.MESSAGE]
        found = await self.app.sessions.recall(question.text, session_key=key, limit=_TOP)
        first = said[min(evidence) - 1].at
        in_notes = Shown(noted).answers(question, evidence, first)
        asked = _Asked(
            category=question.category,
            noted=in_notes,
            recalled=in_notes or Shown([*noted, *_raw(recalled)]).answers(question, evidence, first),
            recent=baselines[0].answers(question, evidence, first),
            head=baselines[1].answers(question, evidence, first),
            found=len(evidence.keys() & {hit.message.sequence for hit in found}) / len(evidence),
        )
        return asked, prompt.receipt.memory_tokens

    def report(self, kept: dict[str, _Kept]) -> RetentionReport:
        asked = [one for conversation in kept.values() for one in conversation.asked]
        return RetentionReport(
            overall=_retention(list(kept.values())),
            by_conversation={name: _retention([one]) for name, one in kept.items()},
            by_category={
                CATEGORIES[category]: _shares([one for one in asked if one.category == category])
                for category in sorted({one.category for one in asked})
            },
            memory_budget=self._budget,
            append_ms_p50=round(_percentile(self._append_ms, 50), 3),
            append_ms_p95=round(_percentile(self._append_ms, 95), 3),
            embedder=self.app.parts.embedder.name,
        )

    def _advance(self) -> None:
        self._done += 1
        self.progress(self._done, self.total)


async def count_lost(app: App, session_key: str, turns: Sequence[Turn], archived: int) -> int:
    """Archived messages that do not come back word for word by their sequence number, both in a stretch and alone."""
    lost = set(range(1, archived + 1))
    for first in range(1, archived + 1, _PAGE):
        last = min(first + _PAGE - 1, archived)
        stretch = await app.sessions.recall(session_key=session_key, first=first, last=last, limit=_PAGE)
        lost -= {hit.message.sequence for hit in stretch if _is(hit.message, turns)}
    for sequence in range(1, archived + 1):
        alone = await app.sessions.recall(session_key=session_key, first=sequence, last=sequence)
        if [hit.message.sequence for hit in alone if _is(hit.message, turns)] != [sequence]:
            lost.add(sequence)
    return len(lost)


def _is(message: Message, turns: Sequence[Turn]) -> bool:
    turn = turns[message.sequence - 1]
    said_when = turn.said_at is None or message.at == turn.said_at
    return (message.content, message.author) == (turn.content, turn.author) and said_when


def _noted(item: ContextItem) -> list[Passage]:
    """The lines of a note; one that joins what was said in several messages is taken apart."""
    if item.note is None:
        return []
    return [
        Passage(
            text=text,
            sources=frozenset(entry.sources),
            said_at=entry.said_at,
            author=entry.author,
            refers_to=entry.refers_to,
        )
        for entry in item.note.entries
        for text in (entry.text.split(STATEMENTS) if len(entry.sources) > 1 else [entry.text])
    ]


def _raw(messages: Iterable[Message]) -> list[Passage]:
    return [
        Passage(text=one.content, sources=frozenset({one.sequence}), said_at=one.at, author=one.author)
        for one in messages
    ]


def _within(messages: Iterable[Message], budget: int) -> list[Message]:
    """Messages up to the first that does not fit any more."""
    taken: list[Message] = []
    for message in messages:
        budget -= message.tokens
        if budget < 0:
            break
        taken.append(message)
    return taken


def _shares(asked: Sequence[_Asked]) -> dict[str, float]:
    return {
        "answer_in_prompt": _mean(one.noted for one in asked),
        "answer_with_recall": _mean(one.recalled for one in asked),
        "baseline_recent": _mean(one.recent for one in asked),
        "baseline_head": _mean(one.head for one in asked),
        "evidence_recallable": _mean(one.found for one in asked),
        "questions": len(asked),
    }


def _retention(kept: Sequence[_Kept]) -> Retention:
    asked = [one for conversation in kept for one in conversation.asked]
    memory_tokens = sum(one.memory_tokens for one in kept)
    generations = [generation for one in kept for generation in one.generations]
    values: dict[str, Any] = {
        **_shares(asked),
        "compression": round(sum(one.archived_tokens for one in kept) / memory_tokens, 2) if memory_tokens else 0.0,
        "lost": sum(one.lost for one in kept),
        "skipped_questions": sum(one.skipped for one in kept),
        "messages": sum(one.messages for one in kept),
        "archived": sum(one.archived for one in kept),
        "raw_tokens": sum(one.raw_tokens for one in kept),
        "memory_tokens": memory_tokens,
        "observations": sum(generation == 0 for generation in generations),
        "reflections": sum(generation > 0 for generation in generations),
        "highest_generation": max(generations, default=0),
    }
    return Retention(**{field.name: values[field.name] for field in fields(Retention)})


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return round(statistics.fmean(numbers), 4) if numbers else 0.0


def _percentile(values: Sequence[float], percent: int) -> float:
    if len(values) < 2:
        return _mean(values)
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
