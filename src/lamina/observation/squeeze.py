"""Says the same in fewer of the same words. Words only go, none is changed, and none that turns a meaning goes.

Left out of English are articles, words of mere emphasis, the speaker's own `I` and `my` (a note says who spoke), and,
where every word counts, `it`, `that` and the present of `be`. Negations, tenses, modals, prepositions and numbers stay.
A text in another language comes back as it is.
"""

from lamina.index.common_words import background_frequency
from lamina.observation.phrases import EMPHASIS, phrase_words

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
_SIGNS = ".,!?;:…\"'“”‘’()[]"
_STOPS = (",", ";", ".", "!", "?", ":", "…", "-", "–", "—")


def squeeze(text: str, *, strong: bool = False) -> str:
    """The text without what it can do without; never empty."""
    chunks = text.split()
    if not _is_english(chunks):
        return text
    spare = _STRONG if strong else _LIGHT
    kept: list[str] = []
    opening = True
    quoted = False
    for place, chunk in enumerate(chunks):
        bare = chunk.strip(_SIGNS).lower()
        quoted = quoted or chunk[:1] in '"“`«'
        # The last word before a stop is rarely mere form: "vitamin A", "that's the way it is".
        ends = place + 1 == len(chunks) or chunk.endswith(_STOPS)
        drop = not quoted and ((bare in spare and not (ends and bare not in EMPHASIS)) or (opening and bare in _SELF))
        if drop and chunk.isupper() and len(bare) == 1 and bare != "i" and not opening:
            drop = False
        if drop and kept and chunk[-1:] in ",;" and kept[-1][-1:] not in _STOPS:
            kept[-1] += chunk[-1]
        if not drop:
            kept.append(chunk)
        quoted = quoted and chunk[-1:] not in '"”`»' and not chunk.rstrip(".,!?;:").endswith(('"', "”", "`", "»"))
        opening = chunk.endswith(_STOPS) or (opening and drop)
    return " ".join(kept) or text


def _is_english(chunks: list[str]) -> bool:
    """Whether a third of the words are everyday English ones, and one of them is a word of hardly another language."""
    words = [chunk.strip(_SIGNS).lower() for chunk in chunks]
    plain = sum(background_frequency(word) > 0.01 for word in words if word)
    return plain * 10 >= len(words) * 3 and not _TELLING.isdisjoint(words)


_TELLING = phrase_words(
    """the and i i'm i've i'd i'll my of to with that this these it it's you your you're have had been they their from
    not don't for are he she about into when which would could should because there"""
)
