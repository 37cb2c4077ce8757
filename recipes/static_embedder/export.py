"""Writes a float token table as the files that `lamina.embedding.static` reads."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

UNKNOWN = "[UNK]"


def quantise(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as int8 and the factor that brings each back; a zero row stays zero."""
    peak = np.abs(table).max(axis=1)
    factor = np.where(peak > 0, peak / 127.0, 1.0).astype(np.float32)
    return np.rint(table / factor[:, None]).astype(np.int8), factor


def tokenizer_json(teacher_tokenizer: str, tokens: list[str]) -> str:
    """The teacher's tokenizer with only these tokens, numbered as they come, and no special tokens added."""
    spec = json.loads(teacher_tokenizer)
    spec["model"]["vocab"] = {token: number for number, token in enumerate(tokens)}
    spec["model"]["unk_token"] = UNKNOWN
    spec["model"]["max_input_chars_per_word"] = 100
    spec["added_tokens"] = []
    spec["post_processor"] = spec["decoder"] = spec["truncation"] = spec["padding"] = None
    return json.dumps(spec, ensure_ascii=False, separators=(",", ":"))


def write_model(folder: Path, *, name: str, tokens: list[str], table: NDArray[np.float32], tokenizer_spec: str) -> None:
    """Writes `model.json`, `tokenizer.json`, `vectors.npy` and `scales.npy`; `[UNK]` becomes a zero row."""
    table = table.astype(np.float32).copy()
    table[tokens.index(UNKNOWN)] = 0.0
    vectors, factor = quantise(table)
    factor /= np.median(factor) * 127.0  # only directions matter in the end: keeps float16 in its good range
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.json").write_text(json.dumps({"name": name}) + "\n", encoding="utf-8")
    (folder / "tokenizer.json").write_text(tokenizer_spec, encoding="utf-8")
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "scales.npy", factor.astype(np.float16))
