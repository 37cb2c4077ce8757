"""Conversational text made from a seed: no download, the same on every machine.

Words follow Zipf's law, with real function words in the first ranks, because questions full of common words are what
makes full-text queries slow. Turns have 8 to 30 words and come in conversations of 25; every second conversation
carries its source. A question takes a few rarer words from one turn and asks for them in everyday English.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from lamina.memory.types import Identifiers, NewMemory, Source


def _list(text: str) -> list[str]:
    return list(dict.fromkeys(text.split()))


FUNCTION_WORDS = _list(
    "i the to and a you it that of my in is for was so me we have on but with this what be just do are not at like "
    "about he she they her his from had all been out up when really there can if as your know think get going one or "
    "some would how time now did an more were good will go our been see by want much then because who them no could "
    "after make here very too got us where back him day over into has only than also day still other things never "
    "last first any people even way work always something lot new these before said down which should their why off"
)
ROOTS = _list(
    "garden river piano guitar kitchen mountain window teacher sister brother market winter summer coffee dinner bread "
    "bicycle camera painting museum library concert travel school office doctor hospital puppy kitten horse forest "
    "beach island train station airport ticket hotel village castle bridge tower engine battery laptop keyboard screen "
    "novel poem story letter journal diary photo album ring dress jacket boots helmet tent lantern candle mirror clock "
    "pottery marathon yoga chess puzzle football tennis swimming climbing dancing singing cooking baking sewing "
    "knitting fishing sailing hiking running cycling skiing surfing camping adoption wedding birthday festival parade "
    "holiday vacation meeting interview project deadline budget contract lawyer nurse engineer artist writer painter "
    "farmer baker driver pilot sailor soldier student professor neighbour cousin uncle aunt grandmother grandfather "
    "apple orange lemon cherry honey cheese butter pepper garlic onion tomato potato carrot salad soup noodle rice "
    "chicken salmon chocolate vanilla cinnamon ginger turtle rabbit parrot falcon dolphin whale tiger lion elephant "
    "thunder rainbow sunset sunrise moonlight starlight meadow valley canyon desert harbour lighthouse workshop studio "
    "theatre cinema gallery temple church cathedral palace fountain statue balcony cellar attic garage basement"
)
AUTHORS = _list(
    "Anna Ben Clara David Elena Felix Grace Henry Iris Jonas Kira Leon Maya Noah Olga Peter Rosa Simon Tara Victor"
)
_ASKED = (
    "What did {name} say about the {a} and the {b}?",
    "When was it that {name} went to see the {a} with the {b}?",
    "How do you think {name} got the {a} and what about {b} {c}?",
    "Where did we go for the {a} after the {b} and the {c}?",
    "Why was {name} so happy about the {a} last time?",
    "Who did they want to have the {a} with, and is there a {b} in it?",
)
_TURNS = 25
_START = datetime(2025, 1, 6, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing somebody said."""

    content: str
    source: Source | None

    def memory(self, user_id: str) -> NewMemory:
        """The turn as a user's memory."""
        return NewMemory(content=self.content, identifiers=Identifiers(user_id=user_id), source=self.source)


class Language:
    """A vocabulary and the chance of each of its words."""

    def __init__(self, content_words: int = 12_000) -> None:
        random = np.random.default_rng(7)
        pairs = random.permutation(len(ROOTS) ** 2)[: max(content_words - len(ROOTS), 0)]
        compounds = [ROOTS[pair // len(ROOTS)] + ROOTS[pair % len(ROOTS)] for pair in pairs.tolist()]
        self.words = np.array([*FUNCTION_WORDS, *ROOTS, *compounds])
        chances = 1 / (np.arange(len(self.words)) + 2.7)
        self._upto: NDArray[np.float64] = np.cumsum(chances / chances.sum())

    def texts(self, count: int, *, shortest: int, longest: int, seed: int) -> Iterator[list[str]]:
        """Texts as lists of words."""
        random = np.random.default_rng(seed)
        for start in range(0, count, 10_000):
            lengths = random.integers(shortest, longest + 1, min(10_000, count - start))
            drawn = self.words[np.searchsorted(self._upto, random.random(int(lengths.sum())))].tolist()
            end = 0
            for length in lengths.tolist():
                yield drawn[end : end + length]
                end += length

    def turns(self, count: int, *, seed: int) -> list[Turn]:
        """Turns of as many conversations as it takes."""
        texts = self.texts(count, shortest=8, longest=30, seed=seed)
        return [_turn(" ".join(words), number, seed) for number, words in enumerate(texts)]

    def notes(self, count: int, *, seed: int) -> list[str]:
        """Short texts, to fill a store with other people's memories."""
        return [" ".join(words) for words in self.texts(count, shortest=4, longest=10, seed=seed)]


def _turn(text: str, number: int, seed: int) -> Turn:
    talk, sequence = divmod(number, _TURNS)
    author = AUTHORS[(talk + sequence % 2 * 7) % len(AUTHORS)]
    source = None
    if talk % 2 == 0:
        source = Source(
            kind="conversation",
            conversation=f"talk-{seed}-{talk}",
            sequence=sequence,
            author=author,
            said_at=_START + timedelta(hours=talk, minutes=sequence),
        )
    return Turn(content=f"{author}: {text}.", source=source)


def questions(turns: Sequence[Turn], count: int, *, seed: int) -> list[str]:
    """Questions, each different, each about one of the turns."""
    common = {*FUNCTION_WORDS, *ROOTS[:20]}
    random = np.random.default_rng(seed)
    asked: dict[str, None] = {}
    while len(asked) < count:
        turn = turns[int(random.integers(len(turns)))].content
        name, _, text = turn.rstrip(".").partition(": ")
        rare = list(dict.fromkeys(word for word in text.split() if word not in common))
        if len(rare) >= 3:
            a, b, c = (rare[place] for place in random.permutation(len(rare))[:3].tolist())
            pattern = _ASKED[int(random.integers(len(_ASKED)))]
            asked[pattern.format(name=name, a=a, b=b, c=c)] = None
    return list(asked)
