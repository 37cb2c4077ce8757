"""What kind of thing a sentence says, by its wording. Only what the user says can be a preference, a rule or a task."""

from dataclasses import dataclass

from lamina.index.terms import words
from lamina.observation.phrases import (
    CONSTRAINT,
    DECISION,
    DONE,
    ERROR,
    PREFERENCE,
    REMINDER,
    REQUEST,
)
from lamina.observation.salience import is_first_person, is_past
from lamina.observation.types import EntryKind, Period, Priority, Speaker, Status

_LIKELY, _POSSIBLE = 0.35, 0.12


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Kind, priority and status of an entry."""

    kind: EntryKind
    priority: Priority
    status: Status = Status.OPEN


def classify(
    text: str, *, origin: Speaker, value: float, question: bool, answered: bool, refers_to: Period | None
) -> Kind:
    """Classify a sentence worth `value`; `answered`: the other side said something after it."""
    if question:
        asks = origin is Speaker.USER and REQUEST.search(text)
        if asks and not answered:
            return Kind(kind=EntryKind.TASK, priority=Priority.HIGH)
        return Kind(kind=EntryKind.QUESTION, priority=Priority.LOW if answered else Priority.MEDIUM)
    if origin is Speaker.USER and (rule := _rule(text)) is not None:
        return Kind(kind=rule, priority=Priority.HIGH)
    if DECISION.search(text):
        return Kind(kind=EntryKind.DECISION, priority=Priority.HIGH)
    if origin is Speaker.USER and REQUEST.search(text):
        kind = EntryKind.EVENT if answered else EntryKind.TASK
        return Kind(kind=kind, priority=Priority.MEDIUM if answered else Priority.HIGH)
    if origin is not Speaker.USER and DONE.search(text):
        return Kind(kind=EntryKind.OUTCOME, priority=Priority.MEDIUM, status=Status.DONE)
    found = words(text)
    own = is_first_person(text, found)
    if not own and ERROR.search(text):
        return Kind(kind=EntryKind.ERROR, priority=_priority(value))
    happened = refers_to is not None or (own and is_past(found))
    return Kind(kind=EntryKind.EVENT if happened else EntryKind.FACT, priority=_priority(value))


def _rule(text: str) -> EntryKind | None:
    if REMINDER.search(text):
        return EntryKind.TASK
    if CONSTRAINT.search(text):
        return EntryKind.CONSTRAINT
    return EntryKind.PREFERENCE if PREFERENCE.search(text) else None


def _priority(value: float) -> Priority:
    if value >= _LIKELY:
        return Priority.HIGH
    return Priority.MEDIUM if value >= _POSSIBLE else Priority.LOW
