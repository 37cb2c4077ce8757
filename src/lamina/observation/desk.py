"""What the steps of the pipeline work with: the store, the knobs, and who writes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.errors import LaminaError, ModelFailedError
from lamina.kernel.clock import Clock
from lamina.kernel.ids import is_id, new_id
from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.observability.metrics import Metrics
from lamina.observation.render import render_note
from lamina.observation.settings import ObservationSettings
from lamina.observation.types import Entry, Note, Observer, Reflector, Spent
from lamina.observation.view import hide_in_entry
from lamina.session.reading import StoredSession


class Compactor(Protocol):
    """Moves observed messages out of a conversation and puts a summary in their place, in the caller's transaction."""

    def __call__(self, link: Link, held: StoredSession, *, up_to: int, summary: str, now: datetime) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """Who writes notes and condenses them."""

    observer: Observer
    reflector: Reflector
    model: str | None = None
    """The model that writes, None where notes are written without one."""
    fallback: Observer | None = None
    """Who writes, provisionally, when the observer failed too often."""


@dataclass(slots=True, kw_only=True)
class Desk:
    """Everything that the steps share. Only the compactor may change while they work."""

    database: Database
    settings: ObservationSettings
    clock: Clock
    metrics: Metrics
    writers: Writers
    compactor: Compactor | None = None
    count: TokenCounter = estimate_tokens


def checked_entries(entries: Sequence[Entry], *, allowed: frozenset[int]) -> tuple[Entry, ...]:
    """Entries as they are stored: secrets hidden, sources in order, every id its own.

    Raises ModelFailedError for an entry without words or sources, or with a source that it was not made from.
    """
    return tuple(_checked(entries, allowed))


def _checked(entries: Sequence[Entry], allowed: frozenset[int]) -> Iterator[Entry]:
    known: set[str] = set()
    for entry in entries:
        sources = tuple(sorted(set(entry.sources)))
        if not entry.text.strip() or not sources or not allowed.issuperset(sources):
            raise ModelFailedError(
                "An entry has no words, no sources, or sources it was not made from.", details={"reason": "sources"}
            )
        id = entry.id if is_id(entry.id) and entry.id not in known else new_id()
        known.add(id)
        yield hide_in_entry(replace(entry, id=id, sources=sources))


def spent_on(error: LaminaError) -> Spent:
    """What a call cost that failed, as far as the error says so."""
    calls, read, written = (error.details.get(name) for name in ("calls", "input_tokens", "output_tokens"))
    if isinstance(calls, int) and isinstance(read, int) and isinstance(written, int):
        return Spent(calls=calls, input_tokens=read, output_tokens=written)
    return Spent()


def sized(made: Note, count: TokenCounter) -> Note:
    """The note with the tokens that it takes in a prompt."""
    return replace(made, tokens=count(render_note(made)))
