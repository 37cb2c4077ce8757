"""Decides what becomes of a draft: an entry that its messages bear out, or reasons why not. Pure but for the id.

Whose words an entry rests on is decided here, from the messages it cites, never by the model. What a tool returned is
the tool's: it is never noted as something the user wants, decided or said.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lamina.index.terms import fold
from lamina.kernel.ids import new_id
from lamina.observation.drafts import Draft
from lamina.observation.evidence import Evidence, all_days
from lamina.observation.faithful import borrowed, find_faults
from lamina.observation.note_words import USERS
from lamina.observation.polarity import only_asked
from lamina.observation.transcript import Shown
from lamina.observation.types import Entry, EntryKind, Period, Priority, Speaker, Status
from lamina.observation.when import refers_to

LONGEST_ENTRY: Final = 600
"""Characters of an entry; what is longer is no note but a copy."""
LONGEST_OF_TOOL: Final = 300
"""Characters of an entry on what a tool returned."""
OF_PEOPLE: Final = frozenset({EntryKind.PREFERENCE, EntryKind.CONSTRAINT, EntryKind.DECISION, EntryKind.TASK})
"""Kinds that only people, or an assistant on their behalf, can be the origin of."""
_TRUST: Final = (Speaker.USER, Speaker.ASSISTANT, Speaker.TOOL)
_CLAIMED: Final = re.compile(
    r"\buser(?:['’]s)?\s+(?:\w+ly\s+)?(?:want|prefer|ask|sa(?:id|ys)|like|love|hate|decid|need|agree|approv|request|told"
    r"|instruct|authori|allow|plan|intend|expect|consent|confirm|must|should|has\b|is\b|owns?\b|lives?\b|work)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """An entry, or why there is none."""

    entry: Entry | None = None
    faults: tuple[str, ...] = ()


def least_trusted(speakers: Sequence[Speaker]) -> Speaker:
    """The one of these whose words weigh least."""
    return max(speakers, key=_TRUST.index)


def judge_draft(draft: Draft, shown: Mapping[int, Shown], recent: Mapping[str, Entry]) -> Judgement:
    """Hold a draft against the messages it cites, by sequence, and the earlier entries it replaces, by short id."""
    if faults := _citation_faults(draft, shown, recent):
        return Judgement(faults=faults)
    cited = [shown[sequence] for sequence in sorted(set(draft.sources))]
    old = [recent[one] for one in draft.replaces]
    evidence = [piece for one in cited for piece in one.evidence]
    faults = find_faults(draft.text, evidence)
    if faults and old:
        faults = find_faults(draft.text, [*evidence, *(entry_evidence(one) for one in old)])
    elif not faults:
        old = []
    if faults:
        return Judgement(faults=faults)
    of_user = _is_of_user(draft, cited)
    if of_user or draft.kind in OF_PEOPLE:
        cited = [] if _is_of_tools(draft, shown) else _without_tools(draft, cited, old)
        if not cited:
            return Judgement(faults=("what a tool returned is noted as what somebody wants, decided or said",))
    if of_user and not any(one.speaker is Speaker.USER for one in cited):
        return Judgement(faults=("it says something about the user but cites no message of the user",))
    entry = _entry(draft, cited, old)
    faults = _form_faults(entry, cited)
    return Judgement(faults=faults) if faults else Judgement(entry=entry)


def entry_evidence(entry: Entry) -> Evidence:
    """What can be proved from an entry."""
    known = (entry.author,) if entry.author else ()
    days = (entry.refers_to,) if entry.refers_to else ()
    return Evidence(text=entry.text, said_at=entry.said_at, known=known, days=days)


def borne_out(period: Period | None, evidence: Sequence[Evidence]) -> Period | None:
    """The days that were really named within a period; None when there are none."""
    if period is None:
        return None
    within = [one for one in all_days(evidence) if period.first <= one.first and one.last <= period.last]
    if not within:
        return None
    return Period(first=min(one.first for one in within), last=max(one.last for one in within))


def _citation_faults(draft: Draft, shown: Mapping[int, Shown], recent: Mapping[str, Entry]) -> tuple[str, ...]:
    if not draft.sources:
        return ("it cites no message",)
    unknown = [*(str(one) for one in draft.sources if one not in shown), *(set(draft.replaces) - set(recent))]
    return (f"it cites {', '.join(sorted(unknown)[:5])}, which is not there",) if unknown else ()


def _is_of_user(draft: Draft, cited: Sequence[Shown]) -> bool:
    """Whether the draft says something about the user."""
    if USERS.match(draft.text) or (any(one.returned for one in cited) and _CLAIMED.search(draft.text)):
        return True
    authors = {fold(one.message.author) for one in cited if one.message.author and one.speaker is Speaker.USER}
    return any(author and fold(draft.text).startswith(author) for author in authors)


def _is_of_tools(draft: Draft, shown: Mapping[int, Shown]) -> bool:
    """Whether some word of the draft was said by a tool alone, cited or not."""
    spoken = [piece for one in shown.values() for piece in one.spoken]
    returned = [piece for one in shown.values() for piece in one.of_tools]
    return bool(returned) and bool(borrowed(draft.text, spoken, returned))


def _without_tools(draft: Draft, cited: Sequence[Shown], old: Sequence[Entry]) -> list[Shown]:
    """The cited messages without what tools returned, if they bear the draft out without it; else none."""
    if not any(one.returned for one in cited):
        return list(cited)
    spoken = [one for one in cited if one.spoken and one.speaker is not Speaker.TOOL]
    evidence = [*(piece for one in spoken for piece in one.spoken), *(entry_evidence(one) for one in old)]
    if any(one.origin is Speaker.TOOL for one in old) or find_faults(draft.text, evidence):
        return []
    return [Shown(message=one.message, said=one.said, returned="") for one in spoken]


def _entry(draft: Draft, cited: Sequence[Shown], old: Sequence[Entry]) -> Entry:
    evidence = [piece for one in cited for piece in one.evidence]
    origin = least_trusted([*(_origin(draft, one) for one in cited), *(one.origin for one in old)])
    speaking = [one for one in cited if one.speaker is origin]
    authors = {one.message.author for one in speaking}
    first = cited[0].message
    days = borne_out(draft.refers_to, evidence) or borne_out(refers_to(draft.text, first.at), evidence)
    low = origin is Speaker.TOOL and draft.priority is Priority.HIGH
    return Entry(
        id=new_id(),
        text=draft.text,
        kind=draft.kind,
        priority=Priority.MEDIUM if low else draft.priority,
        # An observer says what is done; what is superseded is told by what comes later.
        status=Status.DONE if draft.status is Status.DONE else Status.OPEN,
        origin=origin,
        said_at=first.at,
        sources=tuple(one.message.sequence for one in cited),
        refers_to=days,
        author=authors.pop() if len(authors) == 1 else None,
    )


def _origin(draft: Draft, shown: Shown) -> Speaker:
    """Whose words a message contributes: a tool's, where it carries results, unless it says so without them."""
    if not shown.returned:
        return shown.speaker
    return shown.speaker if shown.spoken and not find_faults(draft.text, shown.spoken) else Speaker.TOOL


def _form_faults(entry: Entry, cited: Sequence[Shown]) -> tuple[str, ...]:
    most = LONGEST_OF_TOOL if entry.origin is Speaker.TOOL else LONGEST_ENTRY
    if len(entry.text) > most:
        return (f"it has {len(entry.text)} characters, more than {most}: say what matters",)
    if entry.kind in OF_PEOPLE - {EntryKind.TASK} and len(cited) == 1:
        evidence = [piece for one in cited for piece in one.evidence]
        if asked := only_asked(entry.text, evidence):
            return (f"{asked}, so it is a question, not a {entry.kind.value}",)
    return ()
