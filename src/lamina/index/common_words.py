"""Words that say little: stop words, and how often ordinary words occur in everyday text."""

from functools import lru_cache
from importlib.resources import files

_STOP_FREQUENCY = 0.2
_EVERYDAY_FREQUENCY = 0.06
_OTHER_FREQUENCY = 0.001


@lru_cache(maxsize=1)
def _lists() -> tuple[frozenset[str], frozenset[str]]:
    text = (files("lamina.index") / "common_words.txt").read_text(encoding="utf-8")
    _, stop, everyday = text.split("# ")
    # The first line of each part says what it lists.
    return frozenset(stop.partition("\n")[2].split()), frozenset(everyday.partition("\n")[2].split())


def is_stop_word(word: str) -> bool:
    """Say whether a folded word only holds a sentence together."""
    return word in _lists()[0]


def background_frequency(word: str) -> float:
    """Estimate the share of everyday short texts that contain a folded word."""
    stop, everyday = _lists()
    if word in stop:
        return _STOP_FREQUENCY
    return _EVERYDAY_FREQUENCY if word in everyday else _OTHER_FREQUENCY
