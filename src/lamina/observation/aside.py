"""Leaves room in a prompt beside what no reflection may lose: pinned entries beyond their share are set aside. Pure.

Preferences, decisions and open tasks never vanish, and in a conversation of many months there are more of them than a
prompt can carry. Those set aside stay with the session as a note of their own, with their sources; no prompt carries it
and nothing condenses it again. Otherwise each condensation would read and write all of them, and they would leave no
room for anything else.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lamina.kernel.ids import new_id
from lamina.kernel.tokens import TokenCounter
from lamina.observation.render import entry_counter, render_note
from lamina.observation.settings import ObservationSettings
from lamina.observation.types import SET_ASIDE, Entry, Note, Priority

_MOST = 0.4  # of the memory section: what pinned entries may take
_LEFT = 0.3  # what they take after some were set aside, so that it need not happen with every note
_RANK = (Priority.HIGH, Priority.MEDIUM, Priority.LOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """Notes as they are condensed, and the note of what is set aside, None where everything has room."""

    notes: tuple[Note, ...]
    aside: Note | None = None


def set_aside(notes: Sequence[Note], *, settings: ObservationSettings, count: TokenCounter, now: datetime) -> Parted:
    """Part notes from the pinned entries that have no room: the less urgent before the urgent, the older first."""
    tokens = entry_counter(count)
    pinned = [entry for note in notes for entry in note.entries if entry.pinned]
    budget = settings.memory_token_budget
    if not budget or tokens(pinned) <= _MOST * budget:
        return Parted(notes=tuple(notes))
    ranked = sorted(range(len(pinned)), key=lambda place: (_RANK.index(pinned[place].priority), -place))

    def size(number: int) -> int:
        return tokens([pinned[place] for place in sorted(ranked[:number])])

    kept = max(1, bisect_right(range(1, len(ranked) + 1), _LEFT * budget, key=size))
    gone = {pinned[place].id for place in ranked[kept:]}
    left = (replace(note, entries=tuple(one for one in note.entries if one.id not in gone)) for note in notes)
    return Parted(
        notes=tuple(replace(note, tokens=count(render_note(note))) for note in left if note.entries),
        aside=_note([entry for entry in pinned if entry.id in gone], notes[-1], count, now) if gone else None,
    )


def _note(entries: Sequence[Entry], newest: Note, count: TokenCounter, now: datetime) -> Note:
    sources = [sequence for entry in entries for sequence in entry.sources]
    made = Note(
        id=new_id(),
        session_key=newest.session_key,
        generation=SET_ASIDE,
        first_sequence=min(sources),
        last_sequence=max(sources),
        entries=tuple(entries),
        tokens=0,
        source_tokens=0,
        written_by=newest.written_by,
        provisional=False,  # what a model writes anew is the range of the reflection they came from
        created_at=now,
    )
    return replace(made, tokens=count(render_note(made)))
