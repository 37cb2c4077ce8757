"""Embeddings from a sentence model in a local folder, run by onnxruntime; no torch, no network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamina.embedding.factory import EmbedderRequest
from lamina.embedding.pooling import choose_output, pool, resolve_pooling
from lamina.embedding.sentence_folder import SentenceFolder, read_folder
from lamina.embedding.settings import EmbeddingSettings
from lamina.embedding.types import Purpose
from lamina.embedding.vectors import embeddable, placed, unit_rows
from lamina.errors import ConfigurationError, EmbeddingFailedError

try:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime_state
except ImportError as missing:
    raise ConfigurationError(
        "Embedding with a local model needs the onnxruntime package: pip install 'lamina[onnx]'"
    ) from missing

PADDED_TOKENS: Final = 8_192
"""Tokens in one run of the model, padding included, at most: it bounds the memory of a run."""

# The runtime's exceptions have no parent of their own.
_RUNTIME_ERRORS: Final[tuple[type[Exception], ...]] = (
    runtime_state.EPFail,
    runtime_state.Fail,
    runtime_state.InvalidArgument,
    runtime_state.InvalidGraph,
    runtime_state.InvalidProtobuf,
    runtime_state.NoModel,
    runtime_state.NoSuchFile,
    runtime_state.NotImplemented,
    runtime_state.RuntimeException,
)
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})
_PAD_TOKENS: Final = ("[PAD]", "<pad>", "<|endoftext|>")


class OnnxEmbedder:
    """Embeds with the model of one folder.

    Making one reads the files and runs the model once, so it does not belong on the event loop. Raises
    ConfigurationError when the files cannot be used, or not together.
    """

    def __init__(self, folder: SentenceFolder, *, batch_size: int = 128) -> None:
        self._folder = folder
        self._batch_size = batch_size
        self._tokenizer, self._pad_id = _load_tokenizer(folder)
        self._session = _load_session(folder)
        self._inputs: dict[str, str] = {value.name: value.type for value in self._session.get_inputs()}
        unknown = sorted(set(self._inputs) - _INPUTS)
        if unknown:
            raise ConfigurationError(
                f"The model {folder.model_file} needs inputs that are not known: {', '.join(unknown)}."
            )
        outputs = [(value.name, len(value.shape or ())) for value in self._session.get_outputs()]
        self._output = choose_output(outputs, folder.pooling)
        self._dimensions = self._try_out()
        self._name = folder.identity()
        # A second run may begin while the first is in a part that uses one core only.
        self._limiter = anyio.CapacityLimiter(2)

    @property
    def name(self) -> str:
        """`onnx:FOLDER:HASH`, the hash over the files and over what the settings make of them."""
        return self._name

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        """One row per text, all zero for a text without visible characters; a text is cut at `max_tokens`.

        Raises EmbeddingFailedError when the model fails.
        """
        positions, prefixed = embeddable(texts, self._folder.prefixes.before(purpose))
        rows = np.zeros((len(prefixed), self._dimensions), dtype=np.float32)
        if not prefixed:
            return placed(len(texts), self._dimensions, positions, rows)
        tokens = await anyio.to_thread.run_sync(self._tokens, prefixed, limiter=self._limiter)
        # Texts of similar length share a run, so that little of it is padding.
        order = sorted(range(len(tokens)), key=lambda position: -len(tokens[position]))
        for run in self._runs([len(tokens[position]) for position in order]):
            batch = [tokens[position] for position in order[run]]
            rows[order[run]] = await anyio.to_thread.run_sync(self._vectors, batch, limiter=self._limiter)
        return placed(len(texts), self._dimensions, positions, rows)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _runs(self, lengths: list[int]) -> list[slice]:
        """Batches of texts sorted from long to short, each small enough with its padding."""
        runs: list[slice] = []
        start = 0
        while start < len(lengths):
            end = start + max(1, min(self._batch_size, PADDED_TOKENS // lengths[start]))
            runs.append(slice(start, end))
            start = end
        return runs

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids or [self._pad_id] for encoding in self._tokenizer.encode_batch_fast(texts)]

    def _vectors(self, batch: list[list[int]]) -> NDArray[np.float32]:
        try:
            output, mask = self._run(batch)
        except _RUNTIME_ERRORS as error:
            raise EmbeddingFailedError(f"The model {self._folder.title} failed: {error}") from error
        return unit_rows(pool(output, mask, self._pooling)[:, : self._dimensions])

    def _run(self, batch: list[list[int]]) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
        ids = np.full((len(batch), max(map(len, batch))), self._pad_id, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        values = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.maximum(np.cumsum(mask, axis=1) - 1, 0),
        }
        feed = {
            name: values[name].astype(np.int32) if kind == "tensor(int32)" else values[name]
            for name, kind in self._inputs.items()
        }
        return np.asarray(self._session.run([self._output], feed)[0]), mask

    def _try_out(self) -> int:
        """The length of the vectors; settles the pooling on the way, because it depends on the output."""
        try:
            output, mask = self._run(self._tokens(["probe"]))
        except _RUNTIME_ERRORS as error:
            raise ConfigurationError(f"The model {self._folder.model_file} cannot be run: {error}") from error
        self._pooling = resolve_pooling(
            self._folder.pooling, token_pooling=self._folder.token_pooling, rank=output.ndim
        )
        length = int(pool(output, mask, self._pooling).shape[1])
        wanted = self._folder.dimensions
        if wanted is not None and wanted > length:
            raise ConfigurationError(
                f"The model {self._folder.title} gives vectors of {length} numbers: dimensions cannot be {wanted}."
            )
        return wanted or length


async def create(request: EmbedderRequest) -> OnnxEmbedder:
    """The embedder of `onnx:FOLDER`; raises ConfigurationError when the folder holds no usable model."""
    if not request.argument:
        raise ConfigurationError("Name the folder of a model, such as onnx:models/e5-small.")
    return await anyio.to_thread.run_sync(_open, Path(request.argument), request.settings)


def _open(path: Path, settings: EmbeddingSettings) -> OnnxEmbedder:
    return OnnxEmbedder(read_folder(path.expanduser(), settings), batch_size=settings.batch_size)


def _load_tokenizer(folder: SentenceFolder) -> tuple[Tokenizer, int]:
    """The tokenizer, cutting at `max_tokens` and not padding, and the id to pad with."""
    try:
        tokenizer = Tokenizer.from_file(str(folder.tokenizer_file))
    except Exception as error:  # boundary: the tokenizers library raises plain Exception
        raise ConfigurationError(f"The tokenizer {folder.tokenizer_file} cannot be loaded: {error}") from error
    padding = tokenizer.padding
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=folder.max_tokens)
    if padding is not None:
        return tokenizer, int(padding["pad_id"])
    ids = (tokenizer.token_to_id(token) for token in _PAD_TOKENS)
    return tokenizer, next((token for token in ids if token is not None), 0)


def _load_session(folder: SentenceFolder) -> Any:  # the runtime ships no types
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only: exporters leave harmless warnings in graphs
    try:
        return onnxruntime.InferenceSession(
            str(folder.model_file), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except _RUNTIME_ERRORS as error:
        raise ConfigurationError(f"The model {folder.model_file} cannot be loaded: {error}") from error
