"""Writes provisional notes anew, the oldest first, once there is a model.

A provisional note is replaced stretch by stretch, each in one transaction: the model's observation comes, and what the
provisional note says about that stretch alone goes. So a reflection that was made without a model becomes observations
of its range, which are condensed in the ordinary way. If the model fails on one note, the next attempt takes the next.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from lamina.database.link import Link
from lamina.errors import LaminaError
from lamina.observation.batch import Batch
from lamina.observation.desk import Desk, sized, spent_on
from lamina.observation.observing import ask, count_spent, delay_s, is_resting, note_of
from lamina.observation.state import (
    Lease,
    LostError,
    State,
    commit_state,
    hold_session,
    leased_session,
    one_more,
    spent_by,
)
from lamina.observation.store import StoredNote, delete_notes, insert_note, read_notes
from lamina.observation.types import Note, Observed
from lamina.session.cut import batch_end, safe_ends
from lamina.session.reading import StoredSession, read_messages
from lamina.session.types import Message

_log = logging.getLogger("lamina.observation")
_PAGE = 64
LONGEST_DELAY_S = 86_400.0
"""Seconds between two attempts on notes that the model keeps failing on, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """What became of a stretch that was to be written anew."""

    lease: Lease
    error: str | None = None


def wants_rewriting(desk: Desk, state: State, *, patient: bool = True) -> bool:
    """Whether there are provisional notes and a model to write them anew now, which did not fail just before."""
    if desk.writers.model is None or not state.provisional:
        return False
    now = desk.clock.now()
    resting = is_resting(state.rewrite_at, now, LONGEST_DELAY_S) or is_resting(state.next_attempt_at, now)
    return not (patient and resting)


async def rewrite(desk: Desk, lease: Lease) -> Rewriting | None:
    """Write the next stretch anew and commit; None when there is none. Raises LostError."""
    found = await desk.database.read(lambda link: _next_stretch(link, lease, desk.settings.max_batch_tokens))
    if found is None:
        return None
    old, batch = found
    try:
        observed = await ask(desk, desk.writers.observer, lease, batch)
    except LaminaError as error:
        return await _failed(desk, lease, error)
    return await _commit(desk, lease, old, batch, observed)


def _next_stretch(link: Link, lease: Lease, max_tokens: int) -> tuple[StoredNote, Batch] | None:
    of = leased_session(link, lease)
    waiting = [one for one in read_notes(link, of) if one.note.provisional]
    if not waiting:
        return None
    chosen = waiting[lease.state.rewrite_failures % len(waiting)]
    messages: list[Message] = []
    while True:
        first = messages[-1].sequence + 1 if messages else chosen.note.first_sequence
        page = read_messages(link, of, first=first, last=chosen.note.last_sequence, limit=_PAGE)
        messages += page
        complete = len(page) < _PAGE
        if not complete and sum(one.tokens for one in messages) <= max_tokens:
            continue
        if last := _end(messages, max_tokens, complete=complete):
            return chosen, Batch(messages=tuple(one for one in messages if one.sequence <= last))
        if complete:
            return None


def _end(messages: Sequence[Message], max_tokens: int, *, complete: bool) -> int:
    """Where the first stretch may end; the end of all of them was a safe cut before."""
    ends = safe_ends(messages, abandoned_after=len(messages) + 1)
    if complete and messages:
        ends = (*ends, messages[-1].sequence)
    return batch_end(messages, ends, max_tokens=max_tokens)


async def _commit(desk: Desk, lease: Lease, old: StoredNote, batch: Batch, observed: Observed) -> Rewriting:
    note = note_of(desk, lease, batch, observed, now=desk.clock.now())
    rest = _rest(desk, old.note, batch)

    def work(link: Link) -> Lease:
        held = hold_session(link, lease)
        _replace(link, held, old, [one for one in (rest, note) if one is not None])
        return commit_state(
            link,
            lease,
            unsettled=1,
            rewrite_failures=0,
            rewrite_at=None,
            failures=0,
            last_error=None,
            next_attempt_at=None,
            **spent_by("observer", observed.spent),
            **one_more("observations", int(note is not None)),
            **one_more("dropped_entries", len(observed.dropped)),
        )

    moved = await desk.database.write(work)
    desk.metrics.observed("rewritten")
    count_spent(desk, "observer", observed.spent)
    return Rewriting(lease=moved)


def _replace(link: Link, held: StoredSession, old: StoredNote, new: Sequence[Note]) -> None:
    if delete_notes(link, held, [old.row]) != 1:
        raise LostError("the note was deleted meanwhile")
    for note in new:
        insert_note(link, held, note)


def _rest(desk: Desk, old: Note, batch: Batch) -> Note | None:
    """What is left of a provisional note beside the stretch: entries that say something about later messages, too."""
    if batch.last >= old.last_sequence:
        return None
    left = replace(
        old,
        first_sequence=batch.last + 1,
        entries=tuple(entry for entry in old.entries if entry.sources[-1] > batch.last),
        source_tokens=max(0, old.source_tokens - batch.tokens),
    )
    return sized(left, desk.count)


async def _failed(desk: Desk, lease: Lease, error: LaminaError) -> Rewriting:
    failures = lease.state.rewrite_failures + 1
    desk.metrics.observation_failed("rewrite", error.code)
    _log.warning(
        "writing a note of session %s anew failed (%s, %d in a row): %s",
        lease.session_key,
        error.code,
        failures,
        error.message,
    )
    again = desk.clock.now() + timedelta(seconds=delay_s(failures, LONGEST_DELAY_S))
    count_spent(desk, "observer", spent_on(error))

    def work(link: Link) -> Lease:
        hold_session(link, lease)
        cost = spent_by("observer", spent_on(error))
        return commit_state(link, lease, rewrite_failures=failures, rewrite_at=again, **cost)

    return Rewriting(lease=await desk.database.write(work), error=error.code)
