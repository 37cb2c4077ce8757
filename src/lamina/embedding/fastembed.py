"""Embeddings from a model that fastembed knows by name and fetches once from the network.

Not for machines without a network: there, `lamina.embedding.onnx` loads a model from a folder.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Final

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from lamina.embedding.factory import EmbedderRequest
from lamina.embedding.families import Prefixes, chosen_prefixes, family_of
from lamina.embedding.types import Purpose
from lamina.embedding.vectors import embeddable, placed, unit_rows
from lamina.errors import ConfigurationError, EmbeddingFailedError

try:
    from fastembed import TextEmbedding
except ImportError as missing:
    raise ConfigurationError(
        "Embedding with a model by name needs the fastembed package: pip install 'lamina[fastembed]'"
    ) from missing

CACHE_VARIABLE: Final = "FASTEMBED_CACHE_PATH"
"""The environment variable that says where fetched models are kept; fastembed's own."""

_TEXTS_PER_RUN: Final = 32


class FastEmbedEmbedder:
    """Embeds with a model that fastembed has loaded."""

    def __init__(
        self, model: TextEmbedding, *, prefixes: Prefixes | None = None, dimensions: int | None = None
    ) -> None:
        self._model = model
        self._prefixes = prefixes or Prefixes()
        self._dimensions = model.embedding_size if dimensions is None else dimensions
        if self._dimensions > model.embedding_size:
            raise ConfigurationError(
                f"The model {model.model_name} gives vectors of {model.embedding_size} numbers: "
                f"dimensions cannot be {dimensions}."
            )
        self._limiter = anyio.CapacityLimiter(2)

    @property
    def name(self) -> str:
        """`fastembed:MODEL:DIMENSIONS`, and a mark of the prefixes where there are any."""
        return f"fastembed:{self._model.model_name}:{self._dimensions}{self._prefixes.mark}"

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        """One row per text, all zero for a text without visible characters; the model cuts long texts.

        Raises EmbeddingFailedError when the model gives no usable vector.
        """
        positions, prefixed = embeddable(texts, self._prefixes.before(purpose))
        rows = np.zeros((len(prefixed), self._dimensions), dtype=np.float32)
        # fastembed pads to the longest text of a run; short steps also let a cancelled call end early.
        order = sorted(range(len(prefixed)), key=lambda position: len(prefixed[position]))
        for start in range(0, len(order), _TEXTS_PER_RUN):
            run = order[start : start + _TEXTS_PER_RUN]
            batch = [prefixed[position] for position in run]
            rows[run] = await anyio.to_thread.run_sync(self._vectors, batch, purpose, limiter=self._limiter)
        return placed(len(texts), self._dimensions, positions, rows)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _vectors(self, texts: list[str], purpose: Purpose) -> NDArray[np.float32]:
        embed = self._model.query_embed if purpose == "query" else self._model.passage_embed
        try:
            vectors = list(embed(texts))
        except Exception as error:  # boundary: the runtime's exceptions have no common parent
            raise EmbeddingFailedError(f"The model {self._model.model_name} failed: {error}") from error
        if len(vectors) != len(texts):
            raise EmbeddingFailedError(f"The model gave {len(vectors)} vectors for {len(texts)} texts.")
        return unit_rows(np.stack(vectors).astype(np.float64)[:, : self._dimensions])


async def create(request: EmbedderRequest) -> FastEmbedEmbedder:
    """The embedder of `fastembed:NAME`, fetched on first use.

    Raises ConfigurationError when fastembed does not know the model or cannot fetch it.
    """
    name = _known_name(request.argument)
    # Abandoned when cancelled: fastembed tries a download for the better part of a minute.
    model = await anyio.to_thread.run_sync(_load, name, request.environ, abandon_on_cancel=True)
    return FastEmbedEmbedder(
        model,
        prefixes=chosen_prefixes(request.settings, family_of(name)),
        dimensions=request.settings.dimensions,
    )


def _known_name(name: str) -> str:
    known = {str(model["model"]).lower(): str(model["model"]) for model in TextEmbedding.list_supported_models()}
    if name.lower() in known:
        return known[name.lower()]
    close = [known[key] for key in difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.4)]
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    raise ConfigurationError(f"fastembed knows no model {name!r}.{hint}", details={"model": name})


def _load(name: str, environ: Mapping[str, str]) -> TextEmbedding:
    try:
        return TextEmbedding(name, cache_dir=environ.get(CACHE_VARIABLE))
    except Exception as error:  # boundary: its downloader's and runtime's exceptions have no common parent
        raise ConfigurationError(
            f"The model {name} could not be fetched or loaded ({error}). Without a network, "
            "download it elsewhere and name its folder: onnx:FOLDER.",
            details={"model": name},
        ) from error
