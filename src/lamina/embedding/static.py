"""The default embedder: a table of token vectors that ships with the package and needs no network.

Not for understanding word order: a text's vector is the weighted sum of its tokens' vectors.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from lamina.embedding.types import Purpose
from lamina.index.calibration import Calibration

MAX_CHARACTERS: Final = 32_768
"""Text beyond this many characters is not read: a vector of so much text says nothing about its tail."""

_INLINE_TEXTS: Final = 8
_INLINE_CHARACTERS: Final = 4_000
_TEXTS_PER_STEP: Final = 512
_MOST_WORDS: Final = 1 << 16

_PLAIN = re.compile(r"[\t\n\r -~]*")
_PLAIN_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")


class StaticEmbedder:
    """Embeds text with the token table in `lamina/embedding/data`, or in another folder of the same layout.

    The layout is `model.json` (name), `tokenizer.json`, `vectors.npy` (int8, one row per token),
    `scales.npy` (what each token's row is multiplied by) and, where it was fitted already, `calibration.json`.
    Raises FileNotFoundError when a file is missing and ValueError when the files do not belong together.
    """

    def __init__(self, folder: Traversable | None = None) -> None:
        source = files("lamina.embedding") / "data" if folder is None else folder
        self._name = str(json.loads((source / "model.json").read_text(encoding="utf-8"))["name"])
        self._tokenizer = Tokenizer.from_buffer((source / "tokenizer.json").read_bytes())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        with (source / "vectors.npy").open("rb") as file:
            self._vectors: NDArray[np.int8] = np.load(file, allow_pickle=False)
        with (source / "scales.npy").open("rb") as file:
            self._scales: NDArray[np.float32] = np.load(file, allow_pickle=False).astype(np.float32)
        fitted = source / "calibration.json"
        self.calibration = Calibration.from_json(fitted.read_text(encoding="utf-8")) if fitted.is_file() else None
        """What its similarities mean, where that is known without trying."""
        # BERT's tokenizer cuts plain text into words and takes each by itself, so words can be remembered.
        normalizer, splitter = self._tokenizer.normalizer, self._tokenizer.pre_tokenizer
        self._word_by_word = (
            isinstance(normalizer, BertNormalizer)
            and normalizer.lowercase
            and isinstance(splitter, BertPreTokenizer)
            and not self._tokenizer.get_added_tokens_decoder()
        )
        self._words: dict[str, list[int]] = {}
        tokens = self._tokenizer.get_vocab_size()
        if self._vectors.shape[0] != tokens or self._scales.shape != (tokens,):
            raise ValueError(f"The files in {source} do not belong to one model.")
        if self.calibration is not None and self.calibration.embedder != self._name:
            raise ValueError(f"The calibration in {source} is that of {self.calibration.embedder}.")

    @property
    def name(self) -> str:
        """The identity of the token table."""
        return self._name

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return int(self._vectors.shape[1])

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        """One row per text, of length one; all zero where no token is known (empty text, only symbols).

        The purpose makes no difference. A few short texts are embedded at once, more work goes to a worker thread.
        """
        if len(texts) <= _INLINE_TEXTS and sum(map(len, texts)) <= _INLINE_CHARACTERS:
            return self.encode(texts)
        return await anyio.to_thread.run_sync(self.encode, texts)

    async def aclose(self) -> None:
        """Nothing to release."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """What `embed` returns, blocking."""
        out = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_PER_STEP):
            step = self._token_ids(texts[start : start + _TEXTS_PER_STEP])
            self._pool(step, out[start : start + len(step)])
        return out

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        clean = [_readable(text) for text in texts]
        if len(clean) <= _INLINE_TEXTS:  # one by one: the tokenizer's thread pool costs more than it saves
            return [self._ids(text) for text in clean]
        batch = self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)
        return [encoding.ids for encoding in batch]

    def _ids(self, text: str) -> list[int]:
        if not self._word_by_word or _PLAIN.fullmatch(text) is None:
            return self._tokenizer.encode(text, add_special_tokens=False).ids
        words = _PLAIN_WORD.findall(text.lower())
        try:
            return [number for word in words for number in self._words[word]]
        except KeyError:
            return self._learnt(text, words)

    def _learnt(self, text: str, words: list[str]) -> list[int]:
        """The tokens of a text some of whose words are new; from now on they are known."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        by_word: dict[int | None, list[int]] = {}
        for place, number in zip(encoding.word_ids, encoding.ids, strict=True):
            by_word.setdefault(place, []).append(number)
        if len(self._words) + len(words) > _MOST_WORDS:
            self._words.clear()
        self._words.update(zip(words, by_word.values(), strict=True))
        return encoding.ids

    def _pool(self, rows: list[list[int]], out: NDArray[np.float32]) -> None:
        # Row by row: a small product each is faster than one large gather with sums over its parts.
        for row, ids in zip(out, rows, strict=True):
            if ids:
                tokens = np.array(ids, np.intp)
                np.dot(self._scales[tokens], self._vectors[tokens].astype(np.float32), out=row)
        norms = np.sqrt(np.einsum("ij,ij->i", out, out))[:, np.newaxis]
        np.divide(out, norms, out=out, where=norms > 0)


@lru_cache(maxsize=1)
def shipped_embedder() -> StaticEmbedder:
    """The shipped model, loaded once in a process; it is never changed and needs no closing."""
    return StaticEmbedder()


def _readable(text: str) -> str:
    """The part of a text that is read, without lone surrogates, which no tokenizer accepts."""
    head = text[:MAX_CHARACTERS]
    return head if head.isascii() else head.encode("utf-8", "ignore").decode("utf-8")
