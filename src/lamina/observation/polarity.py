"""Whether a line turns round what was said: a denial lost or added, or a question taken for a statement. Pure.

Judged is only what is worded closely: the clause that shares most words with the line. A miss means that the line is
believed, as it would have been without this.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Final

from lamina.index.terms import fold, term_key, words
from lamina.observation.calendar_words import WEEKDAYS
from lamina.observation.evidence import Clause, Evidence, find_clauses
from lamina.observation.note_words import REPORTING
from lamina.observation.phrases import REQUEST
from lamina.observation.salience import name_terms, weigh_terms

_SHARED: Final = 0.5
_ALONE: Final = 0.8

DENIED: Final = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|cannot|without|\w+n['’]t"
    r"|nicht|kein|keine|keinen|keinem|keiner|nie|niemals|niemand|nichts|ohne"
    r"|ne|pas|jamais|aucun|aucune|sans|sin|nunca|jamas|nadie|ningun\w*|nao|sem|non|mai|senza|niet|geen|nooit|zonder"
    r"|не|нет|ни|никогда|без)\b"
    r"|不|没|沒|别|別|勿|无|無|未|ない|ません|なかった|ず|아니|않|못|없|안\s|لا\s|لم\s|لن\s|ليس|غير|بدون|לא|אין|בלי|नहीं|मत\s|बिना|ไม่",
    re.IGNORECASE,
)
"""Words that deny, in texts whose accents are folded away."""
_TURNING: Final = re.compile(
    r"\b(?:stop|avoid|refus|dislik|hat(?:e|es|ed)\b|forbid|forbad|prohibit|instead|rather|no longer|cancel|reject|drop"
    r"|remov|exclu|lack"
    r"|fail|unable|except|against|only|unless|until|hardly|rarely|ban(?:s|ned)?\b|disab|miss|skip|leave|left|quit|allerg|den(?:y|ies|ied)"
    r"|declin|oppos|vermeid|statt|verbot|ausser|eviter|interdi|sauf|evitar|prohib|salvo|vietat|tranne|избег|запрещ|кроме)",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(
    r"\?|？|؟|\b(?:ask|wonder|question|whether|if\b|unsure|consider|curious|want(?:s|ed)? to know|frag|ob\b|demand"
    r"|pregunt|chied|vraagt|спрос|спраш)"
    r"|问|問|询|尋|聞|質問|물|سأل|يسأل|שאל|पूछ|ถาม",
    re.IGNORECASE,
)


@lru_cache(maxsize=1)
def reported_terms() -> frozenset[int]:
    """The terms of words of reporting: they are in notes and not in what the notes are on."""
    return frozenset(map(term_key, (*REPORTING, "用户", "用戶", "助手")))


def turned_round(text: str, evidence: Sequence[Evidence]) -> str | None:
    """What is the wrong way round, in words; None when nothing is known to be."""
    clauses, known = _clauses(evidence)
    turned = _opposite(text, clauses, known)
    if turned is None:
        return None
    # Part of it may be denied and part of it not, as in what was said.
    parts = [clause.text for clause in find_clauses(text)]
    if len(parts) > 1 and not any(_opposite(part, clauses, known) for part in parts[1:]):
        return None
    return f"it says the opposite of `{turned.text.strip()[:120]}`"


def _clauses(evidence: Sequence[Evidence]) -> tuple[list[Clause], frozenset[int]]:
    """What was said, and the terms that say nothing about it: words of reporting and the names of who spoke."""
    names = name_terms(name for source in evidence for name in source.known)
    return [clause for source in evidence for clause in source.clauses], reported_terms() | names


def _opposite(text: str, clauses: Sequence[Clause], known: Set[int]) -> Clause | None:
    clause = _closest(text, clauses, known)
    if clause is None:
        return None
    said, noted = fold(clause.text), fold(text)
    denials = (len(DENIED.findall(said)), len(DENIED.findall(noted)))
    # Two denials can make a statement: "don't merge without tests".
    differ = denials in ((0, 1), (1, 0))
    return clause if differ and not _TURNING.search(f"{said} {noted}") else None


def only_asked(text: str, evidence: Sequence[Evidence]) -> str | None:
    """Why a line that states what somebody wants or decided rests on a question; None when it does not."""
    clause = _closest(text, *_clauses(evidence))
    if clause is None or not clause.question or REQUEST.search(clause.text) or _ASKED.search(fold(text)):
        return None
    return f"`{clause.text.strip()[:120]}` only asks"


def _closest(text: str, clauses: Sequence[Clause], known: Set[int]) -> Clause | None:
    """The clause that says about the same, by its words; the whole sentence where its parts say less."""
    claimed = {term: weight for term, weight in _terms(text).items() if term not in known}
    scored = [(score, place) for place, clause in enumerate(clauses) for score in _shared(claimed, clause)]
    return clauses[max(scored, key=lambda one: (one[0], -one[1]))[1]] if scored else None


def _terms(text: str) -> dict[int, float]:
    """What a text says, days of the week included: they often are what a rule is about."""
    days = {term_key(word): 1.0 for word in words(text) if word in WEEKDAYS}
    return {term: weight for term, weight in (weigh_terms(text) | days).items() if term not in _pronouns()}


@lru_cache(maxsize=1)
def _pronouns() -> frozenset[int]:
    return frozenset(map(term_key, ("anything", "everything", "something", "anybody", "everybody", "anyone")))


def _shared(claimed: Mapping[int, float], clause: Clause) -> Iterator[float]:
    said = _terms(clause.text)
    whole, other = sum(claimed.values()), sum(said.values())
    common = [weight for term, weight in claimed.items() if term in said]
    least = _SHARED if len(common) > 1 else _ALONE
    if whole and other and sum(common) >= least * max(whole, other):
        yield sum(common) / max(whole, other)
