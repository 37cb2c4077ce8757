"""Text that reads like instructions to the model: patterns in several languages, no model needed. Pure.

A pattern is a judgement about wording, not about intent, and it misses whatever is worded otherwise. So its findings
mark a text, or hold it back where that is asked for; they are never what keeps retrieved text from being obeyed: that
is the fence (see `rendering`).

Whose text is judged depends on trust. Texts of tools and imports are judged by every pattern, what the agent
concluded by the strong ones only, and what the user or the application says not at all.
"""

import re
from functools import lru_cache

from lamina.context.suspicion_disguises import undisguised
from lamina.context.suspicion_patterns import patterns, stems
from lamina.context.types import Origin
from lamina.index.terms import fold

STRONG = frozenset({"override", "role", "prompt", "secrecy", "template", "hidden"})
"""Findings that no honest note has a reason for."""

_JUDGED = {Origin.AGENT: STRONG, Origin.TOOL: None, Origin.IMPORT: None}
_REMEMBERED = 4096
_MOST_CHARACTERS = 50_000
_FEWEST_HIDDEN = 8
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_TEMPLATE = re.compile(r"<[|｜]\w+[|｜]>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>|</?system>", re.IGNORECASE)


def findings(text: str, origin: Origin) -> tuple[str, ...]:
    """Why a text of this origin reads like instructions, by name, in order; empty when it does not."""
    if origin not in _JUDGED:
        return ()
    found = suspicions(text)
    kept = _JUDGED[origin]
    return found if kept is None or not found else tuple(name for name in found if name in kept)


@lru_cache(maxsize=_REMEMBERED)
def suspicions(text: str) -> tuple[str, ...]:
    """Every reason to take a text for instructions, whoever it comes from, sorted."""
    head = text[:_MOST_CHARACTERS]
    found = set(_worded(fold(head)))
    if ("<" in head or "[" in head) and _TEMPLATE.search(head):
        found.add("template")
    if not head.isascii():
        found |= _unseen(head)
    for disguise in undisguised(head):
        found |= set(_worded(fold(disguise)))
    return tuple(sorted(found))


def _worded(folded: str) -> list[str]:
    # Nearly no text has any of the stems, and looking for those is far cheaper than the patterns.
    latin, others = stems()
    if latin.search(folded) is None and (folded.isascii() or not any(stem in folded for stem in others)):
        return []
    flat = " ".join(folded.split())
    return [name for name, pattern in patterns().items() if pattern.search(flat)]


def _unseen(text: str) -> set[str]:
    """What hides in characters that nobody sees."""
    hidden = "".join(_TAGS.findall(text))
    found = {"hidden"} if len(hidden) >= _FEWEST_HIDDEN or len(_TURNS.findall(text)) >= _FEWEST_HIDDEN else set()
    if hidden:
        spoken = "".join(chr(ord(character) - 0xE0000) for character in hidden)
        found |= set(_worded(fold(spoken)))
    return found
