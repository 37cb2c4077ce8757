"""Condenses notes: observations into a reflection, reflections into one of the next generation.

What takes their place and what it replaces change in one transaction, and exactly the notes that were condensed go. A
result that is empty, or not smaller, is rejected: the old text stays as it is, and the same notes are not tried again
until there is another one beside them.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from lamina.database.link import Link
from lamina.errors import LaminaError
from lamina.kernel.ids import new_id
from lamina.kernel.text import content_hash
from lamina.observation.aside import set_aside
from lamina.observation.desk import Desk, checked_entries, sized, spent_on
from lamina.observation.observing import count_spent, delay_s
from lamina.observation.state import Lease, LostError, commit_state, hold_session, one_more, spent_by
from lamina.observation.store import StoredNote, delete_notes, insert_note
from lamina.observation.targets import observations_target, reflections_due, reflections_target
from lamina.observation.types import Note, Reflected, ReflectorRequest, Spent

_log = logging.getLogger("lamina.observation")
Kind = Literal["observations", "reflections"]
NOT_CONDENSED = "not_condensed"
"""The reason in the details of an error that says: it worked, and the result was no gain."""
_TRIED = {"observations": "reflect_tried", "reflections": "consolidate_tried"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """What became of notes that were to be condensed: a note, a rejection, or a failure."""

    lease: Lease
    note: Note | None = None
    error: str | None = None


def notes_to_reflect(desk: Desk, notes: Sequence[StoredNote], lease: Lease) -> list[StoredNote]:
    """All current observations, when they have more tokens, or are more, than a prompt should carry; else none.

    While a model is at hand, provisional ones wait to be written anew first.
    """
    current = [one for one in _condensable(desk, notes) if one.note.generation == 0]
    settings = desk.settings
    tokens = sum(one.note.tokens for one in current)
    crowded = 0 < settings.observations_shown < len(current)
    if tokens <= settings.observation_token_threshold and not crowded:
        return []
    return [] if _fingerprint([one.note for one in current]) == lease.state.reflect_tried else current


def notes_to_consolidate(desk: Desk, notes: Sequence[StoredNote], lease: Lease) -> list[StoredNote]:
    """All current reflections, when there are too many, or notes no longer fit the memory section; else none."""
    current = [one for one in _condensable(desk, notes) if one.note.generation > 0]
    if not _is_crowded(desk, [one.note for one in current], _observation_tokens(notes)):
        return []
    return [] if _fingerprint([one.note for one in current]) == lease.state.consolidate_tried else current


def _is_crowded(desk: Desk, reflections: Sequence[Note], observation_tokens: int) -> bool:
    return reflections_due(
        reflections=len(reflections),
        reflection_tokens=sum(note.tokens for note in reflections),
        observation_tokens=observation_tokens,
        settings=desk.settings,
    )


def _observation_tokens(notes: Sequence[StoredNote]) -> int:
    return sum(one.note.tokens for one in notes if one.note.generation == 0)


async def condense(
    desk: Desk, lease: Lease, kind: Kind, condensed: Sequence[StoredNote], notes: Sequence[StoredNote]
) -> Reflection:
    """Condense some of the session's notes and commit. Raises LostError."""
    chosen = tuple(one.note for one in condensed)
    rows = {one.row for one in condensed}
    beside = [one for one in notes if one.row not in rows]
    parted = set_aside(chosen, settings=desk.settings, count=desk.count, now=desk.clock.now())
    try:
        reflected = await _ask(desk, lease, parted.notes, _target(desk, kind, parted.notes, beside))
    except LaminaError as error:
        if error.details.get("reason") == NOT_CONDENSED:
            return await _rejected(desk, lease, kind, condensed, spent_on(error))
        return await _failed(desk, lease, kind, error)
    made = _note_of(desk, lease, chosen, reflected)
    if made is None:
        return await _rejected(desk, lease, kind, condensed, reflected.spent)
    # What is still too large would be condensed over and over, a little each time; it waits for another one instead.
    still = kind == "reflections" and _is_crowded(desk, [made], _observation_tokens(beside))
    tried = _fingerprint([made]) if still else None
    return await _commit(desk, lease, kind, condensed, (made, parted.aside), reflected.spent, tried)


def _target(desk: Desk, kind: Kind, chosen: Sequence[Note], beside: Sequence[StoredNote]) -> int:
    tokens, model = sum(note.tokens for note in chosen), desk.writers.model is not None
    if kind == "reflections":
        waiting = _observation_tokens(beside)
        return reflections_target(tokens, observation_tokens=waiting, settings=desk.settings, model=model)
    others = sum(one.note.tokens for one in beside if one.note.generation > 0)
    return observations_target(tokens, reflection_tokens=others, settings=desk.settings, model=model)


async def _ask(desk: Desk, lease: Lease, notes: tuple[Note, ...], target_tokens: int) -> Reflected:
    request = ReflectorRequest(session_key=lease.session_key, notes=notes, target_tokens=target_tokens)
    try:
        return await desk.writers.reflector.reflect(request)
    except LaminaError:
        raise
    except Exception as error:  # isolation: a reflector is anybody's code; its mistake costs one reflection at most
        _log.exception("the reflector of session %s broke", lease.session_key)
        raise LaminaError(f"The reflector broke ({type(error).__name__}).") from error


def _note_of(desk: Desk, lease: Lease, notes: Sequence[Note], reflected: Reflected) -> Note | None:
    """The reflection, None when it is empty, not smaller, or not made from these notes."""
    allowed = frozenset(sequence for note in notes for entry in note.entries for sequence in entry.sources)
    try:
        entries = checked_entries(reflected.entries, allowed=allowed)
    except LaminaError as error:
        _log.warning("a reflection of session %s is rejected: %s", lease.session_key, error.message)
        return None
    made = Note(
        id=new_id(),
        session_key=lease.session_key,
        generation=max(note.generation for note in notes) + 1,
        first_sequence=min(note.first_sequence for note in notes),
        last_sequence=max(note.last_sequence for note in notes),
        entries=entries,
        tokens=0,
        source_tokens=sum(note.source_tokens for note in notes),
        written_by=reflected.written_by,
        provisional=reflected.provisional or any(note.provisional for note in notes),
        created_at=desk.clock.now(),
    )
    made = sized(made, desk.count)
    # Against the same entries in one note: sparing a few headings is no gain.
    whole = sized(replace(made, entries=tuple(entry for note in notes for entry in note.entries)), desk.count)
    return made if entries and made.tokens < whole.tokens else None


async def _commit(
    desk: Desk,
    lease: Lease,
    kind: Kind,
    condensed: Sequence[StoredNote],
    written: tuple[Note, Note | None],
    spent: Spent,
    tried: str | None,
) -> Reflection:
    rows = [one.row for one in condensed]
    made, aside = written

    def work(link: Link) -> Lease:
        held = hold_session(link, lease)
        if delete_notes(link, held, rows) != len(rows):
            raise LostError("notes were deleted meanwhile")
        insert_note(link, held, made)
        if aside is not None:
            insert_note(link, held, aside)
        return commit_state(
            link,
            lease,
            unsettled=1,
            reflect_failures=0,
            reflect_at=None,
            **{_TRIED[kind]: tried},
            **spent_by("reflector", spent),
            **one_more("reflections"),
        )

    moved = await desk.database.write(work)
    desk.metrics.reflected(kind, "stored")
    if aside is not None:
        desk.metrics.reflected(kind, "set_aside")
        _log.info("session %s: %d pinned entries are set aside", lease.session_key, len(aside.entries))
    count_spent(desk, "reflector", spent)
    return Reflection(lease=moved, note=made)


async def _rejected(desk: Desk, lease: Lease, kind: Kind, condensed: Sequence[StoredNote], spent: Spent) -> Reflection:
    tried = _fingerprint([one.note for one in condensed])
    _log.warning("%d %s of session %s could not be made smaller; they stay", len(condensed), kind, lease.session_key)
    moved = await _remember(desk, lease, {_TRIED[kind]: tried, **spent_by("reflector", spent)})
    desk.metrics.reflected(kind, "rejected")
    count_spent(desk, "reflector", spent)
    return Reflection(lease=moved)


async def _failed(desk: Desk, lease: Lease, kind: Kind, error: LaminaError) -> Reflection:
    failures = lease.state.reflect_failures + 1
    desk.metrics.observation_failed("reflect" if kind == "observations" else "consolidate", error.code)
    _log.warning(
        "condensing %s of session %s failed (%s, %d in a row): %s",
        kind,
        lease.session_key,
        error.code,
        failures,
        error.message,
    )
    again = desk.clock.now() + timedelta(seconds=delay_s(failures))
    cost = spent_on(error)
    changes = {"reflect_failures": failures, "reflect_at": again, **spent_by("reflector", cost)}
    moved = await _remember(desk, lease, changes)
    count_spent(desk, "reflector", cost)
    return Reflection(lease=moved, error=error.code)


async def _remember(desk: Desk, lease: Lease, changes: dict[str, object]) -> Lease:
    def work(link: Link) -> Lease:
        hold_session(link, lease)
        return commit_state(link, lease, **changes)

    return await desk.database.write(work)


def _condensable(desk: Desk, notes: Sequence[StoredNote]) -> list[StoredNote]:
    return [one for one in notes if desk.writers.model is None or not one.note.provisional]


def _fingerprint(notes: Sequence[Note]) -> str:
    return content_hash("\n".join(sorted(note.id for note in notes))).hex()
