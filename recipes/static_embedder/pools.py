"""Turns the corpus into what is embedded for training: documents, and questions somebody might ask about them."""

import gzip
import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

TALK = ("persona", "topical", "masc", "taskmaster")
ASKING = ("clinc", "banking", "nq")
QUESTIONS = (
    "When did {name} {span}?",
    "What did {name} say about {span}?",
    "What does {name} think of {span}?",
    "What is {name}'s {span}?",
    "Where did {name} {span}?",
    "Why did {name} {span}?",
    "How does {name} feel about {span}?",
    "Who told {name} about {span}?",
    "Which {span} does {name} like?",
    "How long has {name} {span}?",
    "How many {span} does {name} have?",
    "What kind of {span} did {name} mention?",
    "Did {name} ever {span}?",
    "Would {name} enjoy {span}?",
    "Do I like {span}?",
    "What did I say about {span}?",
    "Tell me about {span}",
    "what do you know about {span}",
    "{span}",
    "{name} {span}",
)
EMPTY = frozenset(
    re.findall(
        r"\w+",
        """a an the and or but of in on at to for with from by as is are was were be been am do does did have has had
        i you he she it we they me him her us them my your his its our their this that these those so too very just
        not no yes if then than there here what when where who why how which can could will would should oh well
        like""",
    )
)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*|\d+")


@dataclass(slots=True)
class Pools:
    """Documents and questions, each with the number of the group it belongs to."""

    documents: list[str] = field(default_factory=list)
    document_groups: list[int] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    question_groups: list[int] = field(default_factory=list)


def span_of(text: str, pick: random.Random) -> str | None:
    """One to four neighbouring words that begin and end with a word that says something."""
    words = WORD.findall(text)
    starts = [n for n, word in enumerate(words) if word.lower() not in EMPTY]
    if not starts:
        return None
    start = pick.choice(starts)
    end = max(n for n in starts if n < start + pick.choice((1, 2, 3, 4)))
    return " ".join(words[start : end + 1])


def build(corpus: Path, names: list[str], vocabulary: list[str]) -> Pools:
    """The pools, the same for the same input: turns also with a speaker's name, spans of turns as questions."""
    pick = random.Random(11)
    pools = Pools()
    groups: dict[str, int] = {}
    cast: dict[int, list[str]] = {}
    previous = ("", -1)
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            text, kind = row["text"], row["group"].partition("-")[0]
            group = groups.setdefault(row["group"], len(groups))
            if kind == "service" and pick.random() < 0.6:
                continue
            _document(pools, text, group)
            if kind in TALK:
                speakers = cast.setdefault(group, pick.sample(names, 2))
                name = pick.choice(speakers)
                _document(pools, f"{name}: {text}", group)
                if previous[1] == group and len(text) < 300:
                    _document(pools, f"{name}: {previous[0]} {text}", group)
                for _ in range(2):
                    span = span_of(text, pick)
                    if span is not None:
                        _question(pools, pick.choice(QUESTIONS).format(name=name, span=span), group)
                if text.endswith("?"):
                    _question(pools, text, group)
            elif kind in ASKING or (kind == "debian" and len(text) < 70) or pick.random() < 0.12:
                _question(pools, text, group)
            previous = (text, group)
    extra = len(groups)
    for token in vocabulary:
        if token.isalpha() and len(token) > 2:
            _document(pools, token, extra)
    return pools


def _document(pools: Pools, text: str, group: int) -> None:
    pools.documents.append(text)
    pools.document_groups.append(group)


def _question(pools: Pools, text: str, group: int) -> None:
    pools.questions.append(text)
    pools.question_groups.append(group)
