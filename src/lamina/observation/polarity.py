"""Whether a line turns round what was said: a denial lost or added, or a question taken for a statement. Pure.

Judged is only what is worded closely: the clause that shares most words with the line. A miss means that the line is
believed, as it would have been without this.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lamina.index.terms import fold
from lamina.observation.evidence import Clause, Evidence
from lamina.observation.phrases import REQUEST
from lamina.observation.salience import weigh_terms

_MOSTLY: Final = 0.6
_PARTLY: Final = 0.5

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


def turned_round(text: str, evidence: Sequence[Evidence]) -> str | None:
    """What is the wrong way round, in words; None when nothing is known to be."""
    clause = _closest(text, [clause for source in evidence for clause in source.clauses])
    if clause is None:
        return None
    said, noted = fold(clause.text), fold(text)
    if bool(DENIED.search(said)) != bool(DENIED.search(noted)) and not _TURNING.search(f"{said} {noted}"):
        return f"it says the opposite of `{clause.text.strip()[:120]}`"
    return None


def only_asked(text: str, evidence: Sequence[Evidence]) -> str | None:
    """Why a line that states what somebody wants or decided rests on a question; None when it does not."""
    clause = _closest(text, [clause for source in evidence for clause in source.clauses])
    if clause is None or not clause.question or REQUEST.search(clause.text) or _ASKED.search(fold(text)):
        return None
    return f"`{clause.text.strip()[:120]}` only asks"


def _closest(text: str, clauses: Sequence[Clause]) -> Clause | None:
    """The clause that says about the same, by its words; the whole sentence where its parts say less."""
    claimed = weigh_terms(text)
    scored = [(score, place) for place, clause in enumerate(clauses) for score in _shared(claimed, clause)]
    return clauses[max(scored, key=lambda one: (one[0], -one[1]))[1]] if scored else None


def _shared(claimed: Mapping[int, float], clause: Clause) -> Iterator[float]:
    said = weigh_terms(clause.text)
    whole, other = sum(claimed.values()), sum(said.values())
    common = sum(weight for term, weight in claimed.items() if term in said)
    if whole and other and common >= _MOSTLY * whole and common >= _PARTLY * other:
        yield common / max(whole, other)
