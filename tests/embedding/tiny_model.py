"""Sentence models of a few hundred bytes, written byte by byte: real files for the real runtime.

An ONNX file is a protocol-buffers message; the few fields a small graph needs are written here directly.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "dark", "mode", "light", "theme", "query", "passage", ":", "a", "b")
DIMENSIONS = 6
TABLE: NDArray[np.float32] = np.random.default_rng(7).normal(size=(len(WORDS), DIMENSIONS)).astype(np.float32)
"""The vector of each word; the token types add nothing."""

_FLOAT, _INT64 = 1, 7


def write_folder(
    folder: Path,
    *,
    pooled: bool = False,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    subfolder: str = "",
    pooling_config: dict[str, object] | None = None,
    config: dict[str, object] | None = None,
) -> Path:
    """A folder with a model that looks up each token's vector, and sums them when `pooled`."""
    target = folder / subfolder
    target.mkdir(parents=True, exist_ok=True)
    (target / "model.onnx").write_bytes(model_bytes(pooled=pooled, inputs=inputs))
    tokenizer().save(str(folder / "tokenizer.json"))
    if pooling_config is not None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling_config))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def tokenizer() -> Tokenizer:
    """Words between spaces, with a token before and one after the text."""
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    # As in many published models: a short limit and a fixed length, both to be overridden.
    made.enable_truncation(max_length=4)
    made.enable_padding(length=4, pad_id=0, pad_token="[PAD]")
    return made


def model_bytes(*, pooled: bool, inputs: Sequence[str]) -> bytes:
    """The ONNX file."""
    nodes = [_node("Gather", ["table", "input_ids"], "words")]
    hidden = "words"
    if "token_type_ids" in inputs:
        nodes += [_node("Gather", ["types", "token_type_ids"], "kinds"), _node("Add", ["words", "kinds"], "sum")]
        hidden = "sum"
    if pooled:
        nodes += [
            _node("Cast", ["attention_mask"], "mask", to=_FLOAT),
            _node("Unsqueeze", ["mask", "axis_2"], "weights"),
            _node("Mul", [hidden, "weights"], "masked"),
            _node("ReduceSum", ["masked", "axis_1"], "sentence_embedding", keepdims=0),
        ]
    else:
        nodes.append(_node("Identity", [hidden], "last_hidden_state"))
    constants = [
        _tensor("table", TABLE),
        _tensor("types", np.zeros((2, DIMENSIONS), dtype=np.float32)),
        _tensor("axis_1", np.array([1], dtype=np.int64)),
        _tensor("axis_2", np.array([2], dtype=np.int64)),
    ]
    output = (
        _value("sentence_embedding", _FLOAT, ["b", DIMENSIONS])
        if pooled
        else _value("last_hidden_state", _FLOAT, ["b", "s", DIMENSIONS])
    )
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, b"tiny")
    graph += b"".join(_field(5, constant) for constant in constants)
    graph += b"".join(_field(11, _value(name, _INT64, ["b", "s"])) for name in inputs) + _field(12, output)
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _field(2, 17))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _node(kind: str, inputs: list[str], output: str, **numbers: int) -> bytes:
    attributes = b"".join(
        _field(5, _field(1, name.encode()) + _field(3, value) + _field(20, 2)) for name, value in numbers.items()
    )
    names = b"".join(_field(1, name.encode()) for name in inputs) + _field(2, output.encode())
    return names + _field(4, kind.encode()) + attributes


def _tensor(name: str, values: NDArray[np.float32] | NDArray[np.int64]) -> bytes:
    kind = _FLOAT if values.dtype == np.float32 else _INT64
    shape = b"".join(_field(1, size) for size in values.shape)
    return shape + _field(2, kind) + _field(8, name.encode()) + _field(9, values.tobytes())


def _value(name: str, kind: int, shape: list[str | int]) -> bytes:
    sizes = (_field(1, size) if isinstance(size, int) else _field(2, size.encode()) for size in shape)
    tensor = _field(1, kind) + _field(2, b"".join(_field(1, size) for size in sizes))
    return _field(1, name.encode()) + _field(2, _field(1, tensor))
