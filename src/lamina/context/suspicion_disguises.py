"""Other readings of a text that `suspicion` judges as well: what somebody wrote so that only a model would read it."""

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator

from lamina.context.rendering import safe_text

_FEWEST_LETTERS = 5
_SPELT_OUT = re.compile(r"(?<!\w)\w(?:[ .*_-]\w){4,}(?!\w)")
_SHORTEST_CODE = 20
_ENCODED = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{20,}(?:\r?\n[A-Za-z0-9+/_-]+){0,64}={0,2}(?![\w+/])")
_EMPHASIS = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_MARK = re.compile("[*`~_]")
_LOOKALIKES = str.maketrans("аеорсхуіјѕԁһոԛԝαεικνορτυχϲϳ", "aeopcxyijsdhnqwaeikvoptuxcj")
_TELLING = """
    ignore disregard forget override bypass obey previous prior instruction instructions rules prompt prompts system
    reveal guidelines pretend jailbreak developer
""".split()  # noqa: SIM905
"""Words of which an attack has at least one; a reading without any is not worth judging."""
_LEET = str.maketrans("013457@$!", "oieastasi")
_LEET_WORD = re.compile(r"(?<!\w)(?=\S{0,40}[a-z])(?=\S{0,40}[013457@$!])[a-z013457@$!]{4,40}(?!\w)", re.IGNORECASE)
# The digit that stands for i is also written for l.
_LEET_TELLING = frozenset((*_TELLING, "ruies", "guideiines"))
_LEET_ELLS = ((re.compile(r"\baii\b"), "all"), (re.compile(r"\bruies\b"), "rules"), (re.compile("ideiine"), "ideline"))
_TURNED = re.compile("|".join(re.escape(codecs.encode(word, "rot13")) for word in _TELLING if len(word) > 4))
_BACKWARDS_WORDS = frozenset(word[::-1] for word in _TELLING if len(word) > 4)
_BACKWARDS = re.compile(r"\b(?:" + "|".join(sorted(_BACKWARDS_WORDS)) + r")\b")


def undisguised(text: str) -> Iterator[str]:
    """The other readings: invisible characters and emphasis gone, letters together, look-alikes, codes read."""
    plain = text
    if not text.isascii():
        plain = safe_text(unicodedata.normalize("NFKC", text))
        yield plain
        if (latin := plain.casefold().translate(_LOOKALIKES)) != plain.casefold():
            yield latin
    if _MARK.search(plain) and (bare := _EMPHASIS.sub("", plain)) != plain:
        yield bare
    small = plain.lower()
    chunks = small.split()
    lengths = list(map(len, chunks))
    odd = [chunk for chunk in chunks if not chunk.isalpha()]
    if _most_letters(lengths, odd) >= _FEWEST_LETTERS and _SPELT_OUT.search(plain):
        yield _SPELT_OUT.sub(lambda run: re.sub(r"[ .*_-]", "", run[0]), re.sub(r"  +", "\n", plain))
    if any(map(_is_leet, odd)):
        yield _without_leet(small)
    if _TURNED.search(small):
        yield codecs.decode(small, "rot13")
    if not _BACKWARDS_WORDS.isdisjoint(chunks) or any(map(_BACKWARDS.search, odd)):
        yield small[::-1]
    if max(lengths, default=0) >= _SHORTEST_CODE:
        yield from _decoded(plain)


def _most_letters(lengths: list[int], odd: list[str]) -> int:
    """How many letters can stand alone: words of one, and those between signs."""
    signs = "".join(odd)
    return lengths.count(1) + len(odd) + signs.count(".") + signs.count("*") + signs.count("_") + signs.count("-")


def _is_leet(chunk: str) -> bool:
    """Whether a piece has a word that is telling once its digits are read as letters."""
    return any(word.translate(_LEET) in _LEET_TELLING for word in _LEET_WORD.findall(chunk))


def _without_leet(text: str) -> str:
    read = text.translate(_LEET)
    for mistaken, meant in _LEET_ELLS:
        read = mistaken.sub(meant, read)
    return read


def _decoded(text: str, layers: int = 2) -> Iterator[str]:
    """What stands in base64, also in base64 of base64."""
    for run in _ENCODED.findall(text):
        # As one message over several lines, and line by line: what follows may be ordinary words.
        for part in dict.fromkeys(("".join(run.split()), *run.split())):
            spoken = _base64(part)
            if spoken is not None:
                yield spoken
                if layers > 1:
                    yield from _decoded(spoken, layers - 1)


def _base64(run: str) -> str | None:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4)).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
