"""What is known of models by their names."""

import pytest

from lamina.embedding.families import Prefixes, chosen_prefixes, family_of, known_dimensions
from lamina.embedding.settings import EmbeddingSettings


@pytest.mark.parametrize(
    ("name", "query", "document", "pooling"),
    [
        ("e5-small-int8", "query: ", "passage: ", "mean"),
        ("intfloat/multilingual-e5-base", "query: ", "passage: ", "mean"),
        ("multilingual_e5_large_instruct", "Instruct: ", "", "mean"),
        ("e5-mistral-7b-instruct", "Instruct: ", "", "last"),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence", "", "cls"),
        ("bge-m3", "", "", "cls"),
        ("nomic-embed-text:latest", "search_query: ", "search_document: ", "mean"),
        ("mxbai-embed-large", "Represent this sentence", "", "cls"),
        ("snowflake-arctic-embed-m", "Represent this sentence", "", "cls"),
        ("snowflake-arctic-embed-l-v2.0", "query: ", "", "cls"),
        ("snowflake-arctic-embed2", "query: ", "", "cls"),
        ("embeddinggemma", "task: search result", "title: none", "mean"),
        ("Qwen3-Embedding-0.6B", "Instruct: ", "", "last"),
        ("gte-small", "", "", "mean"),
        ("gte-base-en-v1.5", "", "", "cls"),
        ("all-MiniLM-L6-v2", "", "", "mean"),
        ("text-embedding-3-small", "", "", "mean"),
        ("face5", "", "", "mean"),
    ],
)
def test_a_model_is_used_as_its_family_wants(name: str, query: str, document: str, pooling: str) -> None:
    family = family_of(name)
    for prefix, start in ((family.prefixes.query, query), (family.prefixes.document, document)):
        assert prefix.startswith(start)
        assert bool(prefix) == bool(start)
    assert family.pooling == pooling


def test_the_first_name_that_is_known_counts() -> None:
    assert family_of("my-model", "intfloat/e5-base").prefixes.query == "query: "


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [
        ("text-embedding-3-large", 3072),
        ("nomic-embed-text:latest", 768),
        ("BAAI/bge-m3", 1024),
        ("all-MiniLM-L6-v2", 384),
        ("snowflake-arctic-embed:22m", None),
        ("house-model", None),
    ],
)
def test_well_known_models_have_a_known_length(model: str, dimensions: int | None) -> None:
    assert known_dimensions(model) == dimensions


def test_settings_override_a_familys_prefixes_one_by_one() -> None:
    family = family_of("e5-small")
    assert chosen_prefixes(EmbeddingSettings(), family) == family.prefixes
    assert chosen_prefixes(EmbeddingSettings(query_prefix=""), family) == Prefixes(document="passage: ")
    assert chosen_prefixes(EmbeddingSettings(document_prefix="x"), family).document == "x"


def test_prefixes_leave_a_mark_only_where_there_are_any() -> None:
    assert Prefixes().mark == ""
    assert len({Prefixes(query="a").mark, Prefixes(document="a").mark, Prefixes(query="a", document="a").mark}) == 3
