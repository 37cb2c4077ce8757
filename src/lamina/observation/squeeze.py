"""Says the same in fewer of the same words. Words only go, none is changed, and none that turns a meaning goes.

Left out of English are articles, words of mere emphasis, the speaker's own `I` and `my` (a note says who spoke), and,
where every word counts, `it`, `that` and the present of `be`. Negations, tenses, modals, prepositions and numbers stay.
A text in another language comes back as it is.
"""

from lamina.index.common_words import background_frequency
from lamina.observation.phrases import EMPHASIS, NEGATIONS, phrase_words

_ARTICLES = frozenset({"a", "an", "the"})
_SELF = frozenset({"i", "i'm", "i’m", "i've", "i’ve", "im"})
_LIGHT = _ARTICLES | EMPHASIS | {"my", "our"}
_STRONG = _LIGHT | {
    "it",
    "it's",
    "it’s",
    "its",
    "that",
    "that's",
    "that’s",
    "there",
    "is",
    "are",
    "am",
    "this",
    "which",
}
_QUOTES = ('"', "“", "”", "`", "«", "»")
_SIGNS = ".,!?;:…\"'“”‘’()[]"
_STOPS = (",", ";", ".", "!", "?", ":", "…", "-", "–", "—")


def squeeze(text: str, *, strong: bool = False) -> str:
    """The text without what it can do without; never empty."""
    chunks = text.split()
    if not _is_english(chunks):
        return text
    spare = _STRONG if strong else _LIGHT
    bare = [chunk.strip(_SIGNS).lower() for chunk in chunks]
    kept: list[str] = []
    opening, quoted = True, False
    for place, chunk in enumerate(chunks):
        quoted = quoted or chunk[:1] in _QUOTES
        following = bare[place + 1] if place + 1 < len(chunks) else ""
        before = bare[place - 1] if place else ""
        drop = not quoted and (
            (opening and bare[place] in _SELF)
            or (bare[place] in spare and not _matters(chunk, bare[place], before, following, opening=opening))
        )
        if not drop:
            kept.append(chunk)
        elif kept and chunk[-1:] in ",;" and not kept[-1].endswith(_STOPS):
            kept[-1] += chunk[-1]
        quoted = quoted and chunk.rstrip(".,!?;:")[-1:] not in _QUOTES
        opening = chunk.endswith(_STOPS) or (opening and drop)
    return " ".join(kept) or text


def _matters(chunk: str, bare: str, before: str, following: str, *, opening: bool) -> bool:
    """Whether a word that mostly fills says something here."""
    if chunk[:1].isupper() and not opening:
        return True  # vitamin A, The Hague, Super Mario
    if bare in EMPHASIS:
        # "Not just a hobby" is not "not a hobby", and "so that" gives a reason.
        return before in NEGATIONS or before.endswith(("n't", "n’t")) or (bare == "so" and following in ("that", "far"))
    # What stands before a stop is rarely mere form, and "a few" is more than "few".
    return not following or chunk.endswith(_STOPS) or following in ("few", "little")


def _is_english(chunks: list[str]) -> bool:
    """Whether a third of the words are everyday English ones, and one of them is a word of hardly another language."""
    words = [chunk.strip(_SIGNS).lower() for chunk in chunks]
    plain = sum(background_frequency(word) > 0.01 for word in words if word)
    return plain * 10 >= len(words) * 3 and not _TELLING.isdisjoint(words)


_TELLING = phrase_words(
    """the and i i'm i've i'd i'll my of to with that this these it it's you your you're have had been they their from
    not don't for are he she about into when which would could should because there"""
)
