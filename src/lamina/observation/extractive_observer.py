"""Writes notes without a model: what is worth most of a conversation, in the words in which it was said.

Nothing is rephrased, so nothing can be invented. A note takes at most two fifths of what it stands for, less where
little was said. Notes written like this are provisional: they are written anew when there is a model.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lamina.kernel.ids import new_id
from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.observation.kinds import Kind, classify
from lamina.observation.pieces import Clause, Sentence, join_clauses, read_sentences
from lamina.observation.salience import Worth, judge, name_terms, weigh_terms
from lamina.observation.selection import Candidate, choose
from lamina.observation.tool_lines import ToolLine, pasted_error, tool_lines
from lamina.observation.types import (
    PINNED,
    Entry,
    EntryKind,
    Observed,
    ObserverRequest,
    Priority,
    Speaker,
    Status,
)
from lamina.session.types import Message, MessageKind, Role

SHARE = 0.4
"""Tokens of a note for each token of what it stands for, at most."""
_LEAST_TOKENS = 150  # a short stretch is noted almost whole
_LEAST_VALUE = 0.02
_LINE_TOKENS = 8
_TOOL_SHARE = 0.4
_FIXED_SHARE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A clause, who said it, and what is to be thought of it."""

    message: Message
    origin: Speaker
    sentence: Sentence
    clause: Clause
    worth: Worth
    kind: Kind
    before: tuple[int, ...] = ()
    """The messages in which it was said before, word for word."""


class ExtractiveObserver:
    """An observer without a model. Deterministic but for the ids."""

    def __init__(self, *, share: float = SHARE, count: TokenCounter = estimate_tokens) -> None:
        self._share = share
        self._count = count

    async def observe(self, request: ObserverRequest) -> Observed:
        """What is worth keeping of the messages; nothing, where nothing is."""
        return Observed(entries=tuple(self.extract(request)), written_by="extractive", provisional=True)

    def extract(self, request: ObserverRequest) -> list[Entry]:
        """The entries, in the order in which things were said."""
        messages = [one for one in request.messages if one.kind is MessageKind.MESSAGE]
        budget = max(_LEAST_TOKENS, int(self._share * sum(map(self._said_tokens, messages))))
        known = name_terms(one.author for one in messages)
        said = _said_last(one for one in _said(messages, known) if one.worth.value >= _LEAST_VALUE)
        lines = list(tool_lines(messages))
        spent, tools = self._tool_entries(lines, int(_TOOL_SHARE * budget) if said else budget)
        entries = [*tools, *_pasted_errors(messages), *self._said_entries(said, budget - spent, request.recent)]
        return sorted(entries, key=lambda entry: (entry.sources[-1], entry.sources))

    def _said_tokens(self, message: Message) -> int:
        """Tokens of what somebody said; what tools gave back counts as one line each."""
        return self._count(message.content) + 3 * _LINE_TOKENS * len(message.results)

    def _tool_entries(self, lines: Sequence[ToolLine], budget: int) -> tuple[int, list[Entry]]:
        """Outcomes within the budget: failures first, then the newest."""
        order = sorted(range(len(lines)), key=lambda place: (not lines[place].failed, -place))
        spent, kept = 0, []
        for place in order:
            cost = self._count(lines[place].text) + _LINE_TOKENS
            if spent + cost <= budget:
                spent += cost
                kept.append(_tool_entry(lines[place]))
        return spent, kept

    def _said_entries(self, said: Sequence[_Said], budget: int, recent: Iterable[Entry]) -> Iterator[Entry]:
        seen: dict[int, int] = {}
        for entry in recent:
            for term in weigh_terms(entry.text):
                seen[term] = 1
        chosen = choose(list(self._candidates(said, budget)), budget=budget, line_tokens=_LINE_TOKENS, seen=seen)
        lines: dict[object, list[_Said]] = {}
        for place in chosen:
            lines.setdefault(_line_of(said[place]), []).append(said[place])
        for together in lines.values():
            yield _entry(together)

    def _candidates(self, said: Sequence[_Said], budget: int) -> Iterator[Candidate]:
        left = _FIXED_SHARE * budget
        for one in said:
            tokens = self._count(str(one.clause))
            fixed = one.kind.kind in _KEPT and one.kind.priority is Priority.HIGH and tokens <= left
            left -= tokens if fixed else 0
            yield Candidate(
                tokens=tokens + (_DATE_TOKENS if one.worth.refers_to else 0),
                value=one.worth.value,
                terms=one.worth.terms,
                line=_line_of(one),
                fixed=fixed,
            )


_DATE_TOKENS = 6
_KEPT = PINNED | {EntryKind.TASK}


def _said(messages: Sequence[Message], known: frozenset[int]) -> Iterator[_Said]:
    asked_by: str | None = None
    last = {_voice(one): place for place, one in enumerate(messages)}
    for place, message in enumerate(messages):
        origin = _origin(message)
        if origin is None or not message.content:
            continue
        voice = _voice(message)
        answers = asked_by is not None and asked_by != voice
        answered = any(other != voice and at > place for other, at in last.items())
        sentences = read_sentences(message.content)
        for sentence in sentences:
            yield from _judged(message, origin, sentence, answers=answers, answered=answered, known=known)
        asked_by = voice if any(sentence.is_question for sentence in sentences) else None


def _said_last(said: Iterable[_Said]) -> list[_Said]:
    """Of a sentence that was said several times its last place, so that it follows what it revokes."""
    last: dict[object, _Said] = {}
    for one in said:
        words = (_voice(one.message), one.sentence.text.casefold(), str(one.clause).casefold(), one.worth.refers_to)
        earlier = last.pop(words, None)
        before = (*earlier.before, earlier.message.sequence) if earlier else ()
        last[words] = replace(one, before=before)
    return list(last.values())


def _judged(
    message: Message, origin: Speaker, sentence: Sentence, *, answers: bool, answered: bool, known: frozenset[int]
) -> Iterator[_Said]:
    question = sentence.is_question
    worths = [
        judge(str(clause), said_at=message.at, answers=answers, question=question, known=known)
        for clause in sentence.clauses
    ]
    dated = next((worth.refers_to for worth in worths if worth.refers_to), None)
    kind = classify(
        sentence.text[sentence.clauses[0].start :],
        origin=origin,
        value=max(worth.value for worth in worths),
        question=question,
        answered=answered,
        refers_to=dated,
    )
    for clause, worth in zip(sentence.clauses, worths, strict=True):
        yield _Said(message=message, origin=origin, sentence=sentence, clause=clause, worth=worth, kind=kind)


def _line_of(one: _Said) -> object:
    """What is written as one entry: what somebody said in one message, rules, dates and questions apart."""
    apart = one.kind.kind in (*_KEPT, EntryKind.QUESTION, EntryKind.ERROR, EntryKind.OUTCOME)
    alone = apart or one.worth.refers_to is not None
    return (one.message.sequence, one.sentence.place if alone else None)


def _entry(together: Sequence[_Said]) -> Entry:
    first = together[0]
    sentences: dict[int, list[Clause]] = {}
    for one in together:
        sentences.setdefault(one.sentence.place, []).append(one.clause)
    kind = max(together, key=lambda one: _PRIORITIES.index(one.kind.priority)).kind
    return Entry(
        id=new_id(),
        text="; ".join(join_clauses(clauses) for clauses in sentences.values()),
        kind=kind.kind,
        priority=kind.priority,
        status=kind.status,
        origin=first.origin,
        said_at=first.message.at,
        sources=tuple(sorted({source for one in together for source in (*one.before, one.message.sequence)})),
        refers_to=next((one.worth.refers_to for one in together if one.worth.refers_to), None),
        author=first.message.author,
    )


_PRIORITIES = (Priority.LOW, Priority.MEDIUM, Priority.HIGH)


def _tool_entry(line: ToolLine) -> Entry:
    return Entry(
        id=new_id(),
        text=line.text,
        kind=EntryKind.ERROR if line.failed else EntryKind.OUTCOME,
        priority=Priority.MEDIUM if line.failed else Priority.LOW,
        status=Status.OPEN if line.failed else Status.DONE,
        origin=Speaker.TOOL,
        said_at=line.message.at,
        sources=line.sources,
        author=None,
    )


def _pasted_errors(messages: Iterable[Message]) -> Iterator[Entry]:
    for message in messages:
        origin = _origin(message)
        if origin is not None and (error := pasted_error(message.content)):
            yield Entry(
                id=new_id(),
                text=error,
                kind=EntryKind.ERROR,
                priority=Priority.MEDIUM,
                status=Status.OPEN,
                origin=origin,
                said_at=message.at,
                sources=(message.sequence,),
                author=message.author,
            )


def _origin(message: Message) -> Speaker | None:
    """Whose words a message's text is; what the application says to the model is not noted, nor bulk from a tool."""
    if message.role is Role.USER:
        return Speaker.USER
    return Speaker.ASSISTANT if message.role is Role.ASSISTANT else None


def _voice(message: Message) -> str:
    return f"{message.role} {message.author or ''}"
