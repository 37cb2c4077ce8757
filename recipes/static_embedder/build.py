"""Step 3: fits the table to the second teacher and writes the model's files.

`python build.py START.npz CORPUS.jsonl.gz NAMES.txt E5_FOLDER OUT_FOLDER`; E5_FOLDER holds `tokenizer.json` and either
`model.onnx` or `e5.npz` (the same weights, for a machine without onnx). Four minutes on a data-centre GPU.
"""

import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from export import tokenizer_json, write_model
from fit import Material, Plan, fit, nearest, token_ids
from numpy.typing import NDArray
from pools import Pools, build
from teacher import Teacher, weights_from_onnx
from tokenizers import Tokenizer

NAME = "static:lamina-chat-256"
SEEDS = (5, 6, 7)
FITTED_SHARE = 0.7  # the rest stays with the first table: what the corpus does not show, MiniLM still knows
NEIGHBOURS = 24
ANCHOR_DOCUMENTS = 250_000


def unit(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """The table scaled so that its rows have length one on average."""
    return np.asarray(table / np.linalg.norm(table, axis=1).mean(), dtype=np.float32)


def material(pools: Pools, teacher: Teacher, tokenizer: Tokenizer, device: str) -> Material:
    """Token ids, teacher vectors and neighbours of everything in the pools."""
    kind = torch.float16 if device == "cuda" else torch.float32
    documents = teacher.encode([f"passage: {text}" for text in pools.documents]).to(device, kind)
    questions = teacher.encode([f"query: {text}" for text in pools.questions]).to(device, kind)
    shuffled = torch.randperm(len(documents), generator=torch.Generator().manual_seed(3))
    anchors = shuffled[:ANCHOR_DOCUMENTS].to(device)
    members: dict[int, list[int]] = {}
    for number, group in enumerate(pools.document_groups):
        members.setdefault(group, []).append(number)
    pick = random.Random(1)
    mates = [pick.choice(members[group]) for group in pools.question_groups]
    return Material(
        documents=token_ids(tokenizer, pools.documents, device),
        document_vectors=documents,
        questions=token_ids(tokenizer, pools.questions, device),
        question_vectors=questions,
        near_questions=nearest(questions, documents, NEIGHBOURS),
        near_documents=nearest(documents[anchors], documents, NEIGHBOURS + 1)[:, 1:],
        anchor_documents=anchors,
        mates=torch.tensor(mates, device=device),
    )


def main() -> None:
    start, corpus, names, e5, out = map(Path, sys.argv[1:])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    first = np.load(start)
    tokens: list[str] = first["tokens"].tolist()
    spec = tokenizer_json(str(first["tokenizer"]), tokens)
    tokenizer = Tokenizer.from_str(spec)
    weights = dict(np.load(e5 / "e5.npz")) if (e5 / "e5.npz").exists() else weights_from_onnx(e5 / "model.onnx")
    teacher = Teacher(weights, e5 / "tokenizer.json", device)
    pools = build(corpus, names.read_text(encoding="utf-8").split(), tokens)
    print(len(pools.documents), "documents,", len(pools.questions), "questions", flush=True)
    ready = material(pools, teacher, tokenizer, device)
    table = first["table"].astype(np.float32)
    unknown = tokens.index("[UNK]")
    table[unknown] = 0.0
    begin = torch.tensor(unit(table), device=device)
    fitted = [unit(fit(ready, begin, unknown, replace(Plan(), seed=seed))) for seed in SEEDS]
    mean = unit(np.mean(fitted, axis=0))
    final = FITTED_SHARE * mean + (1 - FITTED_SHARE) * unit(table)
    write_model(out, name=NAME, tokens=tokens, table=final, tokenizer_spec=spec)


if __name__ == "__main__":
    main()
