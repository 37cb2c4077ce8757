"""Judges what a model says about a text: only names that stand in the text, and relations that there are, are kept.

Pure. Forms are read tolerantly (lines with bars, tables, lists, JSON), contents are not: a name, a relation or a date
that cannot be proved from the text is dropped and counted.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamina.graph.extract import MOST_NAMES, MOST_TRIPLES, day_start
from lamina.graph.model_prompt import MEANINGS
from lamina.graph.names import LONGEST_NAME, fold, fold_text, tidy
from lamina.graph.shapes import USER
from lamina.graph.statements import speaks_of_self
from lamina.graph.types import FoundTriple, Predicate
from lamina.graph.words import STOP_WORDS, VERBS
from lamina.kernel.text import unstorable

_MOST_ROWS: Final = 400
_LONGEST_LINE: Final = 1_000
_NOTHING: Final = re.compile(r"\W*(?:none|nothing|n/?a|no relations?(?: found)?)\W*", re.IGNORECASE)
_LEADING: Final = re.compile(r"^\s*(?:[-*•]\s+|\d{1,3}[.)]\s+)?")
_SEPARATOR: Final = re.compile(r"\s*(?:\||\t|→|\s-+>\s)\s*")
_RULE: Final = re.compile(r"[\s|:=-]*")
_DATE: Final = re.compile(r"(?:19|20)\d\d(?:-\d\d){0,2}")
_ENTITY: Final = frozenset({"entity", "entities", "name"})
# Scripts that write words without blanks between them; elsewhere a name ends where its word ends.
_LETTER: Final = r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_EDGE: Final = re.compile(_LETTER)
_CODE: Final = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)
_FIELDS: Final = (("subject", "predicate", "object"), ("subject", "relation", "object"), ("head", "relation", "tail"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """A text as answers about it are judged."""

    plain: str
    of_user: bool

    def has(self, folded: str) -> bool:
        """Whether a folded name stands in the text, as whole words."""
        before = f"(?<!{_LETTER})" if _EDGE.match(folded[0]) else ""
        after = f"(?!{_LETTER})" if _EDGE.match(folded[-1]) else ""
        return re.search(before + re.escape(folded) + after, self.plain) is not None


@dataclass(slots=True)
class Judged:
    """What of an answer the text bears out."""

    names: dict[str, str] = field(default_factory=dict)
    """Labels by folded name."""
    triples: dict[tuple[str, Predicate, str], FoundTriple] = field(default_factory=dict)
    dropped: int = 0
    """Lines that the text does not bear out, or that name a relation there is not."""
    understood: bool = False
    """Whether it was an answer at all: lines of the form asked for, or the word for nothing."""


def judge(answer: str, text: str, into: Judged, *, of_user: bool = False) -> Judged:
    """Add what an answer says about a text to `into`, as far as the text bears it out. Takes any answer whatsoever.

    `of_user` says that the text speaks of the user without naming one, as "Prefers tea" does.
    """
    into.understood = _NOTHING.fullmatch(answer) is not None
    page = _Page(plain=fold_text(text), of_user=of_user or speaks_of_self(text))
    for row in _rows(answer):
        if _is_heading(row):
            continue
        into.understood = True
        if not _take(row, page, into):
            into.dropped += 1
    return into


def _take(row: tuple[str, ...], page: _Page, judged: Judged) -> bool:
    """Keep what one row says; False when it was not borne out."""
    if len(row) == 2 and fold(row[0]) in _ENTITY:
        return _name(row[1], page, judged) is not None
    relation = _relation(row[1]) if len(row) >= 3 else None
    if relation is None or len(judged.triples) >= MOST_TRIPLES:
        return False
    predicate, turned = relation
    subject, object = (_name(end, page, judged) for end in ((row[2], row[0]) if turned else (row[0], row[2])))
    if subject is None or object is None or fold(subject) == fold(object):
        return False
    since, until = _moment(row[3:4], page), _moment(row[4:5], page)
    if since is not None and until is not None and until <= since:
        since = until = None
    found = FoundTriple(subject=subject, predicate=predicate, object=object, valid_from=since, valid_until=until)
    judged.triples.setdefault((fold(subject), predicate, fold(object)), found)
    return True


def _name(said: str, page: _Page, judged: Judged) -> str | None:
    """The name as it is kept, None for one that does not stand in the text."""
    folded = fold(said)
    if folded in ("i", "me", USER) and page.of_user:
        return judged.names.setdefault(USER, USER)
    if not folded or len(folded) > LONGEST_NAME or folded in STOP_WORDS or unstorable(said) is not None:
        return None
    if folded not in judged.names and (len(judged.names) >= MOST_NAMES or not page.has(folded)):
        return None
    return judged.names.setdefault(folded, tidy(said))


def _relation(said: str) -> tuple[Predicate, bool] | None:
    """The relation of this name, or of a verb the rules know; True when subject and object change places."""
    words = " ".join(fold(said).replace("_", " ").replace("-", " ").split())
    try:
        predicate = Predicate(words.replace(" ", "_"))
    except ValueError:
        return VERBS.get(words)
    return (predicate, False) if predicate in MEANINGS else None


def _moment(said: tuple[str, ...], page: _Page) -> datetime | None:
    """A date that was given, as far as its year stands in the text."""
    match = _DATE.fullmatch(said[0].strip()) if said else None
    return day_start(match[0]) if match is not None and page.has(match[0][:4]) else None


def _rows(answer: str) -> Iterator[tuple[str, ...]]:
    """The rows of an answer, whatever form it has."""
    body = _CODE.sub("", answer).strip()
    if body.startswith(("[", "{")):
        try:
            rows = list(_json_rows(json.loads(body)))
        except (ValueError, RecursionError):
            rows = []
        if rows:
            yield from rows[:_MOST_ROWS]
            return
    for line in body.splitlines()[:_MOST_ROWS]:
        cells = _SEPARATOR.split(_LEADING.sub("", line[:_LONGEST_LINE]).strip().strip("|").strip())
        if len(cells) >= 2 and cells[0] and cells[1]:
            yield tuple(cells)


def _json_rows(value: object) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for names in _FIELDS:
            if all(isinstance(value.get(name), str) for name in names):
                dates = (value.get(name) for name in ("since", "until"))
                yield (*(value[name] for name in names), *(date if isinstance(date, str) else "" for date in dates))
                return
        inner: list[object] = list(value.values())
    else:
        inner = value if isinstance(value, list) else []
    if 2 <= len(inner) <= 5 and isinstance(value, list) and all(isinstance(one, str) for one in inner):
        yield tuple(str(one) for one in inner)
        return
    for one in inner:
        yield from _json_rows(one)


def _is_heading(row: tuple[str, ...]) -> bool:
    """Whether a row is the head of a table, or the line under it."""
    return fold(row[0]) == "subject" or all(_RULE.fullmatch(cell) for cell in row)
