"""Makes an entry of a reflection out of a draft and the entries it cites, or says why not. Pure but for the id.

Sources, origin, time and author are taken from the cited entries, never from the model; so is everything that would
bind less or more than they do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamina.kernel.ids import new_id
from lamina.observation.drafts import Draft
from lamina.observation.evidence import Evidence
from lamina.observation.faithful import borrowed, find_faults
from lamina.observation.judging import LONGEST_ENTRY, OF_PEOPLE, borne_out, entry_evidence, least_trusted
from lamina.observation.note_words import USERS
from lamina.observation.pins import Condensed, is_done
from lamina.observation.types import Entry, EntryKind, Period, Priority, Speaker, Status

_PRIORITIES: Final = (Priority.LOW, Priority.MEDIUM, Priority.HIGH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensation:
    """A line of a reflection, or why there is none."""

    made: Condensed | None = None
    faults: tuple[str, ...] = ()


def condense_draft(draft: Draft, inputs: Mapping[str, Entry]) -> Condensation:
    """Hold a draft against the entries it cites, by short id."""
    unknown = sorted({*draft.made_from, *draft.replaces} - set(inputs))
    if unknown:
        return Condensation(faults=(f"it cites {', '.join(unknown[:5])}, which is not there",))
    if not draft.made_from:
        return Condensation(faults=("it cites no line that it was made from",))
    ids = [id for id in inputs if id in draft.made_from]
    replaced = [id for id in inputs if id in draft.replaces and id not in ids]
    cited, old = [inputs[id] for id in ids], [inputs[id] for id in replaced]
    faults = find_faults(draft.text, _evidence(cited))
    if faults and old:
        cited_too = [*cited, *old]
        faults = find_faults(draft.text, _evidence(cited_too))
    else:
        cited_too = cited
    faults = faults or _faults(draft, cited_too, inputs.values())
    if faults:
        return Condensation(faults=faults)
    entry = _entry(draft, cited, old, origin=least_trusted([one.origin for one in cited_too]))
    return Condensation(made=Condensed(entry=entry, made_from=tuple(ids), replaces=tuple(replaced)))


def _evidence(entries: Sequence[Entry]) -> list[Evidence]:
    """What can be proved from entries; a reader sees the day on which each was said, so a line may name it."""
    found = []
    for entry in entries:
        evidence = entry_evidence(entry)
        today = Period(first=evidence.today, last=evidence.today)
        found.append(replace(evidence, days=(*evidence.days, today)))
    return found


def _faults(draft: Draft, cited: Sequence[Entry], inputs: Iterable[Entry]) -> tuple[str, ...]:
    if len(draft.text) > LONGEST_ENTRY:
        return (f"it has {len(draft.text)} characters, more than {LONGEST_ENTRY}: split it",)
    # What a tool returned stays apart from what people want: in one line it would pass for theirs.
    of_people = any(one.kind in OF_PEOPLE for one in cited) or USERS.match(draft.text) is not None
    told = [one for one in cited if one.origin is not Speaker.TOOL]
    tools = [one for one in inputs if one.origin is Speaker.TOOL]
    if not of_people or not tools:
        return ()
    if (
        len(told) < len(cited)
        and (any(one.kind in OF_PEOPLE for one in cited) or not told or find_faults(draft.text, _evidence(told)))
    ) or borrowed(draft.text, _evidence(told), _evidence(tools)):
        return ("it mixes what a tool returned with what somebody wants, decided or said: write two lines",)
    return ()


def _entry(draft: Draft, cited: Sequence[Entry], old: Sequence[Entry], *, origin: Speaker) -> Entry:
    authors = {one.author for one in cited if one.origin is origin}
    sources = {sequence for one in (*cited, *old) for sequence in one.sources}
    return Entry(
        id=new_id(),
        text=draft.text,
        kind=_kind(draft, cited),
        priority=_priority(draft, cited),
        status=_status(draft, cited),
        origin=origin,
        said_at=min(one.said_at for one in cited),
        sources=tuple(sorted(sources)),
        refers_to=_refers_to(draft, cited),
        author=authors.pop() if len(authors) == 1 else None,
    )


def _kind(draft: Draft, cited: Sequence[Entry]) -> EntryKind:
    """The model's kind, unless a cited line binds more, or none binds so much."""
    binding = [one.kind for one in cited if one.pinned]
    if binding:
        return draft.kind if draft.kind in binding else binding[0]
    kinds = [one.kind for one in cited]
    return draft.kind if draft.kind in kinds or draft.kind not in OF_PEOPLE else kinds[0]


def _priority(draft: Draft, cited: Sequence[Entry]) -> Priority:
    given = [_PRIORITIES.index(one.priority) for one in cited]
    return _PRIORITIES[min(max(_PRIORITIES.index(draft.priority), min(given)), max(given))]


def _status(draft: Draft, cited: Sequence[Entry]) -> Status:
    """Done where everything cited is, or where a later outcome says so of every open task."""
    if all(one.status is Status.DONE for one in cited):
        return Status.DONE
    tasks = [one for one in cited if one.kind is EntryKind.TASK and one.status is Status.OPEN]
    finished = tasks and all(is_done(task, [one for one in cited if one is not task]) for task in tasks)
    return Status.DONE if draft.status is Status.DONE and finished else Status.OPEN


def _refers_to(draft: Draft, cited: Sequence[Entry]) -> Period | None:
    """The days that the model gives, if a cited line names them; else those that the cited lines agree on."""
    if draft.refers_to is not None and (days := borne_out(draft.refers_to, [entry_evidence(one) for one in cited])):
        return days
    given = {one.refers_to for one in cited}
    return given.pop() if len(given) == 1 else None
