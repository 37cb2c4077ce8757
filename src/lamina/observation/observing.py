"""Writes a note on a stretch of a conversation and commits it: note, watermark and compaction in one transaction.

Three outcomes: something was recorded, there was explicitly nothing to record, or it failed. The first two move the
watermark. After a failure the messages stay as they are, and they are observed again later; after several failures
whoever needs no model writes the note, provisionally, so that a broken model delays nothing for ever.
"""

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lamina.database.link import Link
from lamina.errors import LaminaError
from lamina.kernel.ids import new_id
from lamina.observation.batch import Batch
from lamina.observation.desk import Desk, checked_entries, sized, spent_on
from lamina.observation.state import Lease, State, commit_state, hold_session, leased_session, one_more, spent_by
from lamina.observation.store import insert_note, read_notes
from lamina.observation.types import Entry, Note, Observed, Observer, ObserverRequest, Spent
from lamina.observation.view import view_messages
from lamina.session.reading import StoredSession, tokens_through
from lamina.session.types import Message

_log = logging.getLogger("lamina.observation")
_INLINE_TOKENS = 2000
_RECENT_NOTES = 4
_RECENT_ENTRIES = 40
_FIRST_DELAY_S = 10.0
LONGEST_DELAY_S = 900.0
"""Seconds between two attempts of a model that keeps failing, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What became of a stretch: a note, nothing to record, or a failure."""

    lease: Lease
    note: Note | None = None
    error: str | None = None


def may_observe(desk: Desk, state: State, patient: bool) -> bool:
    """Whether it is time to try, or somebody steps in for an observer that has to wait after its failures."""
    resting = patient and is_resting(state.next_attempt_at, desk.clock.now())
    return not resting or _stand_in(desk, state) is not None


async def observe(desk: Desk, lease: Lease, batch: Batch, *, patient: bool = True) -> Observation | None:
    """Observe the batch and commit; None when it is too early to try again. Raises LostError.

    `patient` waits after failures as long as was decided then; otherwise it is tried at once.
    """
    if not may_observe(desk, lease.state, patient):
        return None
    if not (patient and is_resting(lease.state.next_attempt_at, desk.clock.now())):
        try:
            observed = await ask(desk, desk.writers.observer, lease, batch)
        except LaminaError as error:
            lease = await _failed(desk, lease, error)
            if _stand_in(desk, lease.state) is None:
                return Observation(lease=lease, error=error.code)
        else:
            return await _commit(desk, lease, batch, observed, failed=False)
    stand_in = _stand_in(desk, lease.state)
    assert stand_in is not None
    try:
        observed = await ask(desk, stand_in, lease, batch)
    except LaminaError as error:
        return Observation(lease=await _failed(desk, lease, error), error=error.code)
    return await _commit(desk, lease, batch, observed, failed=True)


async def ask(desk: Desk, observer: Observer, lease: Lease, batch: Batch) -> Observed:
    """What an observer records of a batch, checked. Raises LaminaError, whatever it was that the observer raised."""
    recent = await desk.database.read(lambda link: _recent_entries(link, lease, before=batch.first))
    seen = await _view(batch, desk.settings.max_batch_tokens)
    request = ObserverRequest(session_key=lease.session_key, messages=seen, recent=recent)
    try:
        observed = await observer.observe(request)
    except LaminaError:
        raise
    except Exception as error:  # isolation: an observer is anybody's code; its mistake costs one note, not the worker
        _log.exception("the observer of session %s broke", lease.session_key)
        raise LaminaError(f"The observer broke ({type(error).__name__}).") from error
    return replace(observed, entries=checked_entries(observed.entries, allowed=batch.sequences))


async def _view(batch: Batch, max_tokens: int) -> tuple[Message, ...]:
    if batch.tokens <= _INLINE_TOKENS:
        return view_messages(batch.messages, max_tokens=max_tokens)
    return await asyncio.to_thread(view_messages, batch.messages, max_tokens=max_tokens)


def note_of(desk: Desk, lease: Lease, batch: Batch, observed: Observed, *, now: datetime) -> Note | None:
    """The note on a batch, None when nothing was recorded."""
    if not observed.entries:
        return None
    made = Note(
        id=new_id(),
        session_key=lease.session_key,
        generation=0,
        first_sequence=batch.first,
        last_sequence=batch.last,
        entries=observed.entries,
        tokens=0,
        source_tokens=batch.tokens,
        written_by=observed.written_by,
        provisional=observed.provisional,
        created_at=now,
    )
    return sized(made, desk.count)


async def _commit(desk: Desk, lease: Lease, batch: Batch, observed: Observed, *, failed: bool) -> Observation:
    now = desk.clock.now()
    note = note_of(desk, lease, batch, observed, now=now)

    def work(link: Link) -> Lease:
        held = hold_session(link, lease)
        if note is not None:
            insert_note(link, held, note)
        recovered = {} if failed else {"failures": 0, "last_error": None, "next_attempt_at": None}
        moved = commit_state(
            link,
            lease,
            watermark=batch.last,
            observed_tokens=tokens_through(link, held, batch.last),
            unsettled=1,
            **recovered,
            **spent_by("observer", observed.spent),
            **one_more("observations", int(note is not None)),
            **one_more("dropped_entries", len(observed.dropped)),
        )
        _compact(desk, link, held, batch.last, now)
        return moved

    moved = await desk.database.write(work)
    desk.metrics.observed("recorded" if note else "nothing")
    count_spent(desk, "observer", observed.spent)
    for reason in observed.dropped:
        _log.info("session %s: an entry was dropped: %s", lease.session_key, reason)
    return Observation(lease=moved, note=note)


def _compact(desk: Desk, link: Link, held: StoredSession, up_to: int, now: datetime) -> None:
    if desk.compactor is None:
        return
    what = "Message 1 is" if up_to == 1 else f"Messages 1 to {up_to} are"
    desk.compactor(
        link, held, up_to=up_to, summary=f"{what} in Conversation Memory; recall finds their words.", now=now
    )


async def _failed(desk: Desk, lease: Lease, error: LaminaError) -> Lease:
    """Remember a failure, and when to try again: on the next trigger after the first, later and later after that."""
    failures = lease.state.failures + 1
    desk.metrics.observation_failed("observe", error.code)
    _log.warning(
        "observing session %s failed (%s, %d in a row): %s", lease.session_key, error.code, failures, error.message
    )
    again = desk.clock.now() + timedelta(seconds=delay_s(failures))
    count_spent(desk, "observer", spent_on(error))

    def work(link: Link) -> Lease:
        hold_session(link, lease)
        return commit_state(
            link,
            lease,
            failures=failures,
            last_error=f"{error.code}: {error.message}"[:500],
            next_attempt_at=again,
            **spent_by("observer", spent_on(error)),
        )

    return await desk.database.write(work)


def count_spent(desk: Desk, who: str, spent: Spent) -> None:
    """Count what a call of the `observer` or the `reflector` cost."""
    desk.metrics.observation_spent(who, calls=spent.calls, input=spent.input_tokens, output=spent.output_tokens)


def delay_s(failures: int, longest_s: float = LONGEST_DELAY_S) -> float:
    """Seconds to wait after so many failures in a row."""
    return 0.0 if failures < 2 else min(longest_s, _FIRST_DELAY_S * 2.0 ** min(failures - 2, 30))


def is_resting(until: datetime | None, now: datetime, longest_s: float = LONGEST_DELAY_S) -> bool:
    """Whether it is too early; a time further off than any delay comes from a clock that was set back since."""
    return until is not None and now < until <= now + timedelta(seconds=longest_s)


def _stand_in(desk: Desk, state: State) -> Observer | None:
    """Who writes instead of an observer that failed too often."""
    most = desk.settings.fallback_after_failures
    return desk.writers.fallback if 0 < most <= state.failures else None


def _recent_entries(link: Link, lease: Lease, *, before: int) -> tuple[Entry, ...]:
    """The newest entries on what was said before."""
    notes = read_notes(link, leased_session(link, lease), before=before, limit=_RECENT_NOTES)
    return tuple(entry for stored in notes for entry in stored.note.entries)[-_RECENT_ENTRIES:]
