"""The recipe of the default embedder fits together; fitting itself needs torch and is not run here."""

import ast
import gzip
import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from lamina.embedding.static import StaticEmbedder

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "static_embedder"
STEPS = sorted(RECIPE.glob("*.py"))


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The steps that need nothing but the standard library and numpy."""
    monkeypatch.syspath_prepend(str(RECIPE))
    return {name: importlib.import_module(name) for name in ("corpus", "pools", "export")}


def test_every_step_takes_from_the_others_only_what_they_have() -> None:
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in STEPS}
    defined = {
        stem: {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        for stem, tree in trees.items()
    }
    taken = [
        (stem, node.module, alias.name)
        for stem, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in trees
        for alias in node.names
    ]
    assert taken
    assert [item for item in taken if item[2] not in defined[item[1] or ""]] == []


def test_the_readme_names_every_step() -> None:
    text = (RECIPE / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in STEPS if f"| {path.name} |" not in text] == []


def test_a_corpus_becomes_documents_and_questions(recipe: dict[str, ModuleType], tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl.gz"
    rows = [
        ("I play the cello every evening", "persona-1"),
        ("Do you like soup?", "persona-1"),
        ("a string", "wordnet-1"),
    ]
    with gzip.open(corpus, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps({"text": text, "group": group}) + "\n" for text, group in rows)
    pools = recipe["pools"].build(corpus, ["Ana", "Ben"], ["cello", "##x", "so"])
    assert {"I play the cello every evening", "a string", "cello"} <= set(pools.documents)
    assert {"Ana: Do you like soup?", "Ben: Do you like soup?"} & set(pools.documents)
    assert "Do you like soup?" in pools.questions
    assert len(pools.documents) == len(pools.document_groups)
    assert len(pools.questions) == len(pools.question_groups)
    assert set(pools.question_groups) <= set(pools.document_groups)


def test_an_exported_table_is_read_back_as_it_was(recipe: dict[str, ModuleType], tmp_path: Path) -> None:
    shipped = Path(__file__).resolve().parents[2] / "src/lamina/embedding/data/tokenizer.json"
    tokens = ["[UNK]", "dark", "mode", "tea"]
    table = np.array([[9, 9, 9], [1, 0, 0.5], [0, 1, 0], [0, 0, 0]], np.float32)
    spec = recipe["export"].tokenizer_json(shipped.read_text(encoding="utf-8"), tokens)
    recipe["export"].write_model(tmp_path, name="static:test", tokens=tokens, table=table, tokenizer_spec=spec)
    embedder = StaticEmbedder(tmp_path)
    vectors = embedder.encode(["dark", "dark mode", "tea", "zeppelin"])
    assert embedder.name == "static:test"
    assert vectors[0] == pytest.approx(table[1] / np.linalg.norm(table[1]), abs=0.01)
    assert vectors[1] == pytest.approx((table[1] + table[2]) / np.linalg.norm(table[1] + table[2]), abs=0.01)
    assert not vectors[2:].any()
