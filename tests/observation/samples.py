"""Entries and notes for tests."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from lamina.kernel.tokens import estimate_tokens
from lamina.observation.render import render_note
from lamina.observation.types import Entry, EntryKind, Note, Period, Priority, Speaker, Status

START = datetime(2026, 5, 1, 14, 30, tzinfo=UTC)


def entry(
    text: str = "The release moves to Monday.",
    *,
    kind: EntryKind = EntryKind.FACT,
    priority: Priority = Priority.MEDIUM,
    status: Status = Status.OPEN,
    origin: Speaker = Speaker.USER,
    author: str | None = None,
    minutes: float = 0,
    refers_to: tuple[date, date] | None = None,
    sources: Sequence[int] = (1,),
    id: str | None = None,
) -> Entry:
    """An entry with sensible values for everything that a test does not care about."""
    return Entry(
        id=id or f"entry {text} {minutes}",
        text=text,
        kind=kind,
        priority=priority,
        status=status,
        origin=origin,
        said_at=START + timedelta(minutes=minutes),
        sources=tuple(sources),
        refers_to=Period(first=refers_to[0], last=refers_to[1]) if refers_to else None,
        author=author,
    )


def note(
    *entries: Entry,
    id: str = "note",
    generation: int = 0,
    first: int = 1,
    last: int = 24,
    tokens: int | None = None,
    session_key: str = "direct:1",
) -> Note:
    """A note of the entries; `tokens`, where given, stand in for what it really takes."""
    made = Note(
        id=id,
        session_key=session_key,
        generation=generation,
        first_sequence=first,
        last_sequence=last,
        entries=entries or (entry(),),
        tokens=0,
        source_tokens=1000,
        written_by="scripted",
        provisional=False,
        created_at=START,
    )
    return replace(made, tokens=estimate_tokens(render_note(made)) if tokens is None else tokens)
