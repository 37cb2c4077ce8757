"""What observational memory saves and costs, of one session or of all of a tenant's."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.schema import from_micros
from lamina.observation.tables import note, observation_state
from lamina.observation.types import SET_ASIDE, Spent
from lamina.session.reading import StoredSession
from lamina.session.tables import session

_state = observation_state.c


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStatus:
    """Figures of one session, or the sums of all where `session_key` is None. Tokens are counted as they are sent."""

    session_key: str | None
    sessions: int
    """Sessions that the figures are of."""
    raw_tokens: int
    """Tokens of everything ever said."""
    observed_tokens: int
    """Tokens of what was observed."""
    observations: int
    """Observations there are now."""
    reflections: int
    """Reflections there are now."""
    provisional: int
    """Notes that a model has to write anew."""
    memory_tokens: int
    """Tokens of all notes there are now."""
    aside_tokens: int
    """Tokens of preferences, decisions and open tasks that are kept, but too many for any prompt."""
    turns: int
    """Prompts that were assembled with Conversation Memory."""
    sent_tokens: int
    """Tokens of Conversation Memory in those prompts."""
    unchanged_tokens: int
    """Tokens of them that stood in the same place in the prompt before, so that a provider's cache can serve them."""
    observer: Spent
    reflector: Spent
    dropped_entries: int
    """Lines of observers that could not be proved from the messages."""
    failing: int
    """Sessions whose observation failed last time."""
    last_error: str | None
    """Why the last attempt failed, of one session."""
    next_attempt_at: datetime | None
    """When it is tried again, of one session."""

    @property
    def pending_tokens(self) -> int:
        """Tokens that were not observed yet."""
        return self.raw_tokens - self.observed_tokens

    @property
    def compression(self) -> float | None:
        """How many tokens of messages one token of notes stands for; None without notes."""
        return self.observed_tokens / self.memory_tokens if self.memory_tokens else None


_SUMMED = (
    _state.observed_tokens,
    _state.provisional,
    _state.turns,
    _state.sent_tokens,
    _state.unchanged_tokens,
    _state.observer_calls,
    _state.observer_input_tokens,
    _state.observer_output_tokens,
    _state.reflector_calls,
    _state.reflector_input_tokens,
    _state.reflector_output_tokens,
    _state.dropped_entries,
)


def read_status(link: Link, tenant: str, of: StoredSession | None) -> MemoryStatus:
    """The figures of a session, or of all sessions of a tenant."""
    of_state, of_session = [_state.tenant == tenant], [session.c.tenant == tenant]
    of_note = [note.c.tenant == tenant]
    if of is not None:
        of_state.append(_state.session_row == of.row)
        of_note.append(note.c.session_row == of.row)
        of_session.append(session.c.row == of.row)
    failing = sa.func.sum(sa.case((_state.failures > 0, 1), else_=0))
    sums = [sa.func.coalesce(sa.func.sum(column), 0) for column in _SUMMED]
    latest = (sa.func.max(_state.last_error), sa.func.max(_state.next_attempt_at))
    known: Any = link.execute(sa.select(*sums, sa.func.coalesce(failing, 0), *latest).where(*of_state)).one()
    observed, provisional, turns, sent, unchanged, *spent, dropped = map(int, known[: len(sums)])
    reflection = sa.case((note.c.generation > 0, 1), else_=0)
    notes = link.execute(
        sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(reflection), 0),
            sa.func.coalesce(sa.func.sum(note.c.tokens), 0),
        ).where(*of_note, note.c.generation != SET_ASIDE)
    ).one()
    aside = sa.select(sa.func.coalesce(sa.func.sum(note.c.tokens), 0)).where(*of_note, note.c.generation == SET_ASIDE)
    whole = link.execute(
        sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(session.c.total_tokens), 0)).where(*of_session)
    ).one()
    return MemoryStatus(
        session_key=None if of is None else of.key,
        sessions=int(whole[0]),
        raw_tokens=int(whole[1]),
        observed_tokens=observed,
        observations=int(notes[0]) - int(notes[1]),
        reflections=int(notes[1]),
        provisional=provisional,
        memory_tokens=int(notes[2]),
        aside_tokens=int(link.execute(aside).scalar_one()),
        turns=turns,
        sent_tokens=sent,
        unchanged_tokens=unchanged,
        observer=Spent(calls=spent[0], input_tokens=spent[1], output_tokens=spent[2]),
        reflector=Spent(calls=spent[3], input_tokens=spent[4], output_tokens=spent[5]),
        dropped_entries=dropped,
        failing=int(known[len(sums)]),
        last_error=None if of is None else known[-2],
        next_attempt_at=None if of is None or known[-1] is None else from_micros(known[-1]),
    )
