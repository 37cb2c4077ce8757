"""Observers and reflectors that do as they are told, and remember what they were asked."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio

from lamina.errors import ModelFailedError
from lamina.kernel.ids import new_id
from lamina.observation.types import (
    Entry,
    EntryKind,
    Observed,
    ObserverRequest,
    Priority,
    Reflected,
    ReflectorRequest,
    Speaker,
    Spent,
    Status,
)
from lamina.session.types import Message

Watcher = Callable[[str], None]


def entry_of(message: Message) -> Entry:
    """An entry that says which message it comes from."""
    return Entry(
        id=new_id(),
        text=f"said in {message.sequence}: {message.content[:40]}",
        kind=EntryKind.FACT,
        priority=Priority.MEDIUM,
        status=Status.OPEN,
        origin=Speaker.USER,
        said_at=message.at,
        sources=(message.sequence,),
    )


class ScriptedObserver:
    """Writes one entry for each message. `script` holds what the next calls do instead: an error, or nothing."""

    def __init__(self, *, written_by: str = "scripted", provisional: bool = False) -> None:
        self.requests: list[ObserverRequest] = []
        self.script: list[Exception | None] = []
        self.failing: Exception | None = None
        self.silent = False
        self.written_by = written_by
        self.provisional = provisional
        self.gate: anyio.Event | None = None
        self.entered: Watcher = lambda session_key: None
        self.invent: int | None = None
        self.leak: str | None = None

    @property
    def sequences(self) -> list[int]:
        """The messages it was shown, in order."""
        return [one.sequence for request in self.requests for one in request.messages]

    async def observe(self, request: ObserverRequest) -> Observed:
        self.requests.append(request)
        self.entered(request.session_key)
        if self.gate is not None:
            await self.gate.wait()
        if self.failing is not None:
            raise self.failing
        if self.script and (error := self.script.pop(0)) is not None:
            raise error
        entries = () if self.silent else tuple(map(entry_of, request.messages))
        if self.invent is not None:
            entries = (*entries, replace(entries[0], sources=(self.invent,)))
        if self.leak is not None:
            entries = (*entries, replace(entries[0], text=f"the token is {self.leak}"))
        return Observed(
            entries=entries,
            spent=Spent(calls=1, input_tokens=100, output_tokens=10),
            written_by=self.written_by,
            provisional=self.provisional,
        )


class ScriptedReflector:
    """Keeps the last of the entries and gives it the sources of all. `answer` decides otherwise."""

    def __init__(self, *, provisional: bool = False) -> None:
        self.requests: list[ReflectorRequest] = []
        self.answer: Callable[[Sequence[Entry]], tuple[Entry, ...]] = merged
        self.failing: Exception | None = None
        self.provisional = provisional

    async def reflect(self, request: ReflectorRequest) -> Reflected:
        self.requests.append(request)
        if self.failing is not None:
            raise self.failing
        entries = [entry for note in request.notes for entry in note.entries]
        return Reflected(
            entries=self.answer(entries),
            spent=Spent(calls=1, input_tokens=200, output_tokens=20),
            written_by="scripted",
            provisional=self.provisional,
        )


def merged(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """One entry with the sources of all."""
    sources = sorted({sequence for entry in entries for sequence in entry.sources})
    last = entries[-1]
    return (
        Entry(
            id=new_id(),
            text=f"everything from {sources[0]} to {sources[-1]}",
            kind=last.kind,
            priority=last.priority,
            status=last.status,
            origin=last.origin,
            said_at=last.said_at,
            sources=tuple(sources),
        ),
    )


def model_failure() -> ModelFailedError:
    """What a broken model raises."""
    return ModelFailedError("The model answered nonsense.")
