"""From text to hashed terms: the words of every script, folded, stemmed and counted.

The result is stored with each row (`pack`) so that an index is loaded without touching the text again.
This module knows nothing about weights: which words matter is the business of `query` and `ranking`.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

VERSION = 1
"""Version of the analysis and of the blob: rows with another version must be analysed again."""

_LONGEST_STEMMED = 64
_RECORD = np.dtype([("term", "<u4"), ("count", "u1")])

# Marks belong to the word they stand on, although `\w` leaves them out: Latin accents, Hebrew and Arabic points,
# and the vowel signs of the Indic and South-East Asian blocks (their two punctuation dandas excepted).
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u200c\u200d"
_INDIC = "\u0900-\u0963\u0966-\u0dff"
# Scripts written without spaces become overlapping pairs of characters.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(
    rf"(?P<run>[{_UNSPACED}]+)"
    rf"|(?P<word>(?:(?<![^\W_])\.(?=[^\W\d_]))?(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}{_INDIC}])+"
    rf"(?:['’](?:(?![{_UNSPACED}])[^\W_])+)*(?:\+\+|\#(?![^\W_]))?)"
)
_ASCII_WORD = re.compile(r"(?:(?<![A-Za-z0-9])\.(?=[A-Za-z]))?[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*(?:\+\+|#(?![A-Za-z0-9]))?")
_STRIPPED = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u200c\u200d]+")
_POSSESSIVE = re.compile("['’](?:s|S)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Distinct hashed terms of one text in ascending order, how often each occurs, and the length in words."""

    hashes: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    length: int


def fold(text: str) -> str:
    """Fold case, width, accents and vowel points away, so that spelling variants of a word are one word."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFC", _STRIPPED.sub("", folded))


def words(text: str) -> list[str]:
    """Split folded words out of a text of any script, in order, unstemmed; never fails on any input."""
    folded = fold(text)
    if folded.isascii():
        return [_bare(word) for word in _ASCII_WORD.findall(folded)]
    found: list[str] = []
    for match in _WORD.finditer(folded):
        run = match["run"]
        if run is None:
            found.append(_bare(match["word"]))
        elif len(run) == 1:
            found.append(run)
        else:
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
    return found


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word) if word[-2:-1] in "'’" else word


def analyse(text: str) -> Terms:
    """Analyse a text into counted, stemmed, hashed terms; an empty or wordless text has none."""
    found = words(text)
    counted: dict[int, int] = {}
    for word in found:
        key = term_key(word)
        counted[key] = counted.get(key, 0) + 1
    hashes = np.fromiter(counted.keys(), np.uint32, len(counted))
    counts = np.minimum(np.fromiter(counted.values(), np.int64, len(counted)), 255).astype(np.uint8)
    order = np.argsort(hashes)
    return Terms(hashes=hashes[order], counts=counts[order], length=len(found))


def pack(terms: Terms) -> bytes:
    """Write terms as a little-endian blob of five-byte records: a head (length, version), then the terms."""
    records = np.empty(len(terms.hashes) + 1, _RECORD)
    records[0] = (min(terms.length, 0xFFFFFFFF), VERSION)
    records["term"][1:] = terms.hashes
    records["count"][1:] = terms.counts
    return records.tobytes()


def unpack(blob: bytes) -> Terms:
    """Read a blob of `pack`; raises ValueError for anything else."""
    batch = unpack_many([blob])
    return Terms(hashes=batch.hashes, counts=batch.counts, length=int(batch.lengths[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class TermBatch:
    """The terms of many rows at once: `rows[i]` says which row the i-th term belongs to."""

    rows: NDArray[np.int32]
    hashes: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    lengths: NDArray[np.int64]


def unpack_many(blobs: Sequence[bytes]) -> TermBatch:
    """Read many blobs in one go; raises ValueError when `pack` of this version did not write one of them."""
    sizes = np.fromiter(map(len, blobs), np.int64, len(blobs))
    if len(sizes) and (np.any(sizes % _RECORD.itemsize) or not sizes.min()):
        raise ValueError("not a blob of packed terms")
    records = np.frombuffer(b"".join(blobs), _RECORD)
    per_row = sizes // _RECORD.itemsize
    heads = np.cumsum(per_row) - per_row
    if np.any(records["count"][heads] != VERSION):
        raise ValueError("packed terms of another version: analyse the text again")
    body = np.ones(len(records), np.bool_)
    body[heads] = False
    return TermBatch(
        rows=np.repeat(np.arange(len(blobs), dtype=np.int32), per_row - 1),
        hashes=records["term"][body],
        counts=records["count"][body],
        lengths=records["term"][heads].astype(np.int64),
    )


def name_key(name: str) -> int:
    """Hash the name of a conversation or author to 63 bits, never 0; case, accents and spacing do not count."""
    return folded_name_key(" ".join(fold(name).split()))


def folded_name_key(name: str) -> int:
    """Hash a name that is folded already, its words parted by single spaces."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1 or 1


@lru_cache(maxsize=1 << 16)
def term_key(word: str) -> int:
    """Hash one folded word to the 32-bit key of its stem."""
    digest = blake2b(stem(word).encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little")


@lru_cache(maxsize=1)
def _irregular() -> dict[str, str]:
    """Map irregular forms and British spellings to one word: questions say "buy" where memories say "bought"."""
    lines = (files("lamina.index") / "irregular_words.txt").read_text(encoding="utf-8").splitlines()
    return {form: base for base, *forms in map(str.split, lines) for form in forms}


def stem(word: str) -> str:
    """Reduce a folded word to its stem; words with digits or other scripts stay as they are."""
    if not 3 <= len(word) < _LONGEST_STEMMED or not word.isascii() or not word.isalpha():
        return word.replace("'", "").replace("’", "")
    irregular = _irregular()
    # A stemmer object keeps the word it works on, so threads must not share one.
    stemmer = snowballstemmer.stemmer("english")
    if word in irregular:
        return str(stemmer.stemWord(irregular[word]))
    stemmed = str(stemmer.stemWord(word))
    return str(stemmer.stemWord(irregular[stemmed])) if stemmed in irregular else stemmed
