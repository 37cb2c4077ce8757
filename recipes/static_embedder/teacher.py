"""The second teacher: e5-small, read from its 8-bit ONNX file and run with torch on whatever device there is.

`python teacher.py E5_FOLDER` writes `e5.npz` beside `model.onnx`, for a machine that has torch but no onnx.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

HEADS, LAYERS, LONGEST = 12, 12, 128


def weights_from_onnx(path: Path) -> dict[str, NDArray[np.float16]]:
    """The weights by their usual names; each product's weight is found through the bias that is added to it."""
    import onnx  # only this step needs it; the result can be carried to a machine without onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    readers: dict[str, onnx.NodeProto] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, node)

    def plain(name: str) -> NDArray[np.float32]:
        shifted = stored[f"{name}_quantized"].astype(np.float32) - stored[f"{name}_zero_point"].astype(np.float32)
        return np.asarray(shifted * stored[f"{name}_scale"], dtype=np.float32)

    found: dict[str, NDArray[np.float16]] = {}
    for node in graph.node:
        if node.op_type != "MatMulInteger":
            continue
        after = readers[node.output[0]]
        while after.op_type != "Add":
            after = readers[after.output[0]]
        bias = next(name for name in after.input if name in stored)
        weight = plain(node.input[1].removesuffix("_quantized")).T
        found[bias.removeprefix("m.").replace(".bias", ".weight")] = weight.astype(np.float16)
    for part in ("word", "position", "token_type"):
        found[f"embeddings.{part}_embeddings.weight"] = plain(f"m.embeddings.{part}_embeddings.weight").astype(
            np.float16
        )
    for name, value in stored.items():
        if name.startswith("m.") and name.endswith((".bias", ".weight")) and value.dtype == np.float32:
            found[name.removeprefix("m.")] = value.astype(np.float16)
    return found


class Teacher:
    """Gives each text the vector that e5-small gives it (mean of the last layer, length one)."""

    def __init__(self, weights: dict[str, NDArray[np.float16]], tokenizer: Path, device: str) -> None:
        kind = torch.float16 if device == "cuda" else torch.float32
        self._w = {name: torch.tensor(value, dtype=kind, device=device) for name, value in weights.items()}
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.no_padding()
        self._device = device

    def encode(self, texts: Sequence[str], batch: int = 2048) -> Tensor:
        """One float32 row per text, on the CPU."""
        ids: list[list[int]] = []
        for start in range(0, len(texts), 65_536):
            encodings = self._tokenizer.encode_batch(list(texts[start : start + 65_536]))
            ids.extend(encoding.ids for encoding in encodings)
        order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
        out = torch.empty(len(ids), 384)
        with torch.inference_mode():
            for start in range(0, len(order), batch):
                chosen = order[start : start + batch]
                width = len(ids[chosen[-1]])
                padded = torch.tensor([ids[n] + [0] * (width - len(ids[n])) for n in chosen])
                lengths = torch.tensor([len(ids[n]) for n in chosen])
                out[torch.tensor(chosen)] = self._forward(padded, lengths).float().cpu()
        return out

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return functional.layer_norm(x, (384,), self._w[f"{name}.weight"], self._w[f"{name}.bias"], 1e-12)

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self._w[f"{name}.weight"], self._w[f"{name}.bias"])

    def _forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        ids, lengths = ids.to(self._device), lengths.to(self._device)
        rows, width = ids.shape
        mask = torch.arange(width, device=self._device)[None, :] < lengths[:, None]
        names = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
        x = self._w[names[0]][ids] + self._w[names[1]][:width] + self._w["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        for number in range(LAYERS):
            layer = f"encoder.layer.{number}"
            query, key, value = (
                self._linear(x, f"{layer}.attention.self.{part}").view(rows, width, HEADS, -1).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
            seen = seen.transpose(1, 2).reshape(rows, width, 384)
            x = self._norm(
                x + self._linear(seen, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm"
            )
            inner = functional.gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        summed = (x.float() * mask[:, :, None]).sum(1)
        return functional.normalize(summed, dim=1)


def main() -> None:
    folder = Path(sys.argv[1])
    weights = weights_from_onnx(folder / "model.onnx")
    with (folder / "e5.npz").open("wb") as out:
        np.savez(out, allow_pickle=False, **weights)


if __name__ == "__main__":
    main()
