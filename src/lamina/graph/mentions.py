"""Finds names in a sentence by their form alone: addresses, paths, code names, quoted terms, proper names."""

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from lamina.graph.names import LONGEST_NAME, fold
from lamina.graph.words import KNOWN_TOOLS, PARTICLES, STARTERS, STOP_WORDS

_EXTENSION = (
    "py|pyi|ipynb|js|mjs|ts|tsx|jsx|json|jsonl|toml|yaml|yml|md|rst|txt|csv|tsv|sql|sh|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|"
    "php|html|css|scss|xml|ini|cfg|conf|lock|log|pdf|docx|xlsx|pptx|png|jpg|jpeg|gif|svg|zip|gz|tar|db|sqlite|proto|tf|ps1"
)
_TOKEN = re.compile(
    rf"""
      (?P<plain>[A-Za-zÀ-ɏͰ-ϿЀ-ӿ]{{1,80}}(?=[\s,;:!?)]|$|\.(?:\s|$))(?!://))
    | (?P<url>\b(?:https?|ftp|file|ssh|git|s3|postgres(?:ql)?|redis|mongodb)://[^\s<>"'`“”«»]{{1,500}})
    | (?P<email>(?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,5}})
    | `(?P<code>[^`\n]{{1,{LONGEST_NAME}}})`
    | (?:"(?P<q1>[^"\n]{{2,80}})"|“(?P<q2>[^”\n]{{2,80}})”|„(?P<q3>[^“”\n]{{2,80}})[“”]|«\s?(?P<q4>[^»\n]{{2,80}}?)\s?»
      |[「『《](?P<q5>[^」』》\n]{{1,60}})[」』》]|(?<!\w)['‘](?P<q6>[^'’\n]{{2,60}})['’](?!\w))
    | (?P<path>(?<![\w/.])(?:
          (?:~|\.{{1,2}})?(?:/[\w.@%+-]{{1,100}}){{1,30}}/?
        | [A-Za-z]:(?:\\[\w.-]{{1,100}}){{1,30}}
        | [\w.-]{{1,100}}(?:/[\w.-]{{1,100}}){{1,30}}\.(?:{_EXTENSION})\b
        | [\w-]{{1,60}}(?:\.[\w-]{{1,60}}){{0,3}}\.(?:{_EXTENSION})\b(?![\w.(])
        | \.[A-Za-z][\w-]{{1,30}}
      ))
    | (?P<id>(?<![\w.-])(?:
          [0-9a-fA-F]{{8}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{12}}
        | [A-Z][A-Z0-9]{{1,9}}-\d{{1,7}}
        | \d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d{{1,5}})?
        | [@\#][A-Za-z_]\w{{1,38}} | \#\d{{1,7}}
        | (?=[0-9a-f]{{0,39}}\d)(?=[0-9a-f]{{0,39}}[a-f])[0-9a-f]{{7,40}}
        | [A-Za-z_]\w{{0,60}}(?:(?:\.|::)[A-Za-z_]\w{{0,60}}){{1,8}}(?:\(\))?
        | [A-Za-z_]\w{{0,60}}\(\)
        | [A-Za-z]\w{{0,40}}(?:-\w{{1,40}}){{2,6}}
      )(?![\w]))
    | (?P<honoured>[一-龥]{{1,4}}(?=さん|様|氏|先生)|[가-힣]{{2,4}}(?=씨|님))
    | (?P<kana>[ァ-ヴー]{{3,30}})
    | (?P<word>[^\W\d_ぁ-ヿ一-龥가-힣](?:[^\W一-龥ぁ-ヿ가-힣]|['’&-](?=[^\W\d_])){{0,80}}[+\#]{{0,2}})
    | (?P<sign>[^\w\s])
    """,
    re.VERBOSE,
)
_QUOTED = ("q1", "q2", "q3", "q4", "q5", "q6")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "a.m", "p.m", "a.k.a", "u.s", "z.b", "d.h", "u.a", "p.ex", "vs", "etc"})
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_LETTERS_AND_DIGITS = re.compile(r"[A-Za-z]+\d+[A-Za-z]*")
_SENTENCE_LIKE = re.compile(r"(?:\S+\s+){6}\S")
_ORDINARY = re.compile(r"(?:ing|ly|ed|tion|ment|ness|able|ful|ous|onal|.{3}s)$")
_LONGEST_RUN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A name in a sentence, and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    text: str
    start: int
    end: int
    first: bool


def find_mentions(sentence: str, known: Set[str] = frozenset()) -> list[Spot]:
    """The names in a sentence, from left to right. `known` are folded names that count even as a first word."""
    spots: list[Spot] = []
    run: list[_Word] = []
    first = True
    for match in _TOKEN.finditer(sentence):
        kind = match.lastgroup
        text = match.group(kind) if kind else match.group()
        if kind == "plain" and not run and text.islower() and text not in KNOWN_TOOLS:
            first = False  # ordinary prose, which is most of every text
            continue
        if kind in ("plain", "word"):
            word = _Word(text=text, start=match.start(), end=match.end(), first=first)
            if run and not _joins(sentence, run, word):
                spots += _close(run, known)
                run = []
            if run or _is_capital(text) or _is_marked(text) or text.lower() in KNOWN_TOOLS:
                run.append(word)
            first = False
            continue
        spots += _close(run, known)
        run = []
        if kind != "sign":
            first = False
            spots += _special(kind or "", text, match)
        elif text in "-*•–—":
            first = True
    return spots + _close(run, known)


def _special(kind: str, text: str, match: "re.Match[str]") -> Iterator[Spot]:
    if kind == "url":
        text = text.rstrip(".,;:!?)]}")
    if kind in ("path", "id"):
        text = text.rstrip(".")
    bare = fold(text)
    if len(bare) < 2 or bare in STOP_WORDS or bare in _ABBREVIATIONS:
        return
    # A quoted sentence is speech, not a term.
    if kind in _QUOTED and _SENTENCE_LIKE.search(text):
        return
    if len(text) <= LONGEST_NAME:
        start = match.start(kind)
        yield Spot(text=text, start=start, end=start + len(text))


def _joins(sentence: str, run: list[_Word], word: _Word) -> bool:
    """Whether a word goes on with a run of capitalised words."""
    previous = run[-1]
    if sentence[previous.end : word.start] != " " or len(run) >= _LONGEST_RUN:
        return False
    if previous.text.endswith(("'s", "’s")) or previous.text.lower() in KNOWN_TOOLS - {previous.text}:
        return False
    if previous.text.islower() and previous.text not in PARTICLES:
        return False
    return _is_capital(word.text) or word.text in PARTICLES


def _close(run: list[_Word], known: Set[str]) -> list[Spot]:
    """The name in a run of capitalised words, without what only looks like a part of it."""
    words = list(run)
    while words and (words[-1].text in PARTICLES or _is_filler(words[-1].text)):
        words.pop()
    while words and (
        _is_filler(words[0].text)
        or words[0].text in PARTICLES
        or (words[0].first and len(words) > 1 and words[0].text.lower() in STARTERS)
    ):
        words.pop(0)
    if not words:
        return []
    text = " ".join(word.text for word in words)
    if len(words) == 1 and not _is_name(words[0], known):
        return []
    end = words[-1].end
    if text.endswith(("'s", "’s")):
        text, end = text[:-2], end - 2
    if len(fold(text)) < 2 and not text.endswith(("+", "#")):
        return []
    return [Spot(text=text, start=words[0].start, end=end)]


def _is_filler(text: str) -> bool:
    lowered = re.split("['’]", text.lower(), maxsplit=1)[0] if text[-1:] != "'" else text.lower()
    return lowered in STOP_WORDS and not (
        len(text) > 1 and text.isupper() and len(text) <= 3 and lowered in ("us", "it")
    )


def _is_name(word: _Word, known: Set[str]) -> bool:
    text = word.text
    if _is_marked(text) or text.lower() in KNOWN_TOOLS or fold(text) in known:
        return True
    if len(text) < 2 or not _is_capital(text):
        return False
    return not word.first or (text.lower() not in STARTERS and not _ORDINARY.search(text))


def _is_capital(text: str) -> bool:
    return text[0].isupper() or text[0].istitle()


def _is_marked(text: str) -> bool:
    """Whether a word cannot be ordinary prose: userName, snake_case, k8s, C++, API."""
    if "_" in text.strip("_"):
        return True
    if text.endswith(("+", "#")):
        return True
    if _INNER_CAPITAL.search(text) or _LETTERS_AND_DIGITS.fullmatch(text):
        return True
    return len(text) >= 2 and text.isupper() and text.lower() not in STOP_WORDS and text.lower() not in STARTERS
