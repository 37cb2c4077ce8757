"""From token vectors to one vector."""

import numpy as np
import pytest

from lamina.embedding.families import TokenPooling
from lamina.embedding.pooling import ResolvedPooling, choose_output, pool, resolve_pooling
from lamina.embedding.settings import Pooling
from lamina.errors import ConfigurationError

OUTPUT = np.arange(12, dtype=np.float16).reshape(2, 3, 2)
MASK = np.array([[1, 1, 0], [1, 1, 1]])


@pytest.mark.parametrize(
    ("pooling", "rows"),
    [
        ("mean", [[1.0, 2.0], [8.0, 9.0]]),
        ("cls", [[0.0, 1.0], [6.0, 7.0]]),
        ("last", [[2.0, 3.0], [10.0, 11.0]]),
    ],
)
def test_padding_counts_for_nothing(pooling: ResolvedPooling, rows: list[list[float]]) -> None:
    pooled = pool(OUTPUT, MASK, pooling)
    assert pooled.dtype == np.float32
    np.testing.assert_allclose(pooled, rows, rtol=1e-6)


def test_a_pooled_output_stays_as_it_is() -> None:
    assert pool(OUTPUT[:, 0], MASK, "none").tolist() == [[0.0, 1.0], [6.0, 7.0]]


BERT = [("last_hidden_state", 3), ("pooler_output", 2)]
EXPORTED = [("token_embeddings", 3), ("sentence_embedding", 2)]


@pytest.mark.parametrize(
    ("outputs", "pooling", "name"),
    [
        (BERT, "auto", "last_hidden_state"),
        (BERT, "none", "pooler_output"),
        (BERT, "cls", "last_hidden_state"),
        (EXPORTED, "auto", "sentence_embedding"),
        (EXPORTED, "none", "sentence_embedding"),
        (EXPORTED, "mean", "token_embeddings"),
        ([("emb", 2)], "auto", "emb"),
        ([("emb", 0)], "mean", "emb"),
    ],
)
def test_the_output_that_fits_the_pooling_is_taken(outputs: list[tuple[str, int]], pooling: Pooling, name: str) -> None:
    assert choose_output(outputs, pooling) == name


@pytest.mark.parametrize(
    ("asked", "rank", "resolved"),
    [("auto", 2, "none"), ("none", 2, "none"), ("auto", 3, "last"), ("mean", 3, "mean"), ("cls", 3, "cls")],
)
def test_auto_looks_at_the_output(asked: Pooling, rank: int, resolved: ResolvedPooling) -> None:
    token_pooling: TokenPooling = "last"
    assert resolve_pooling(asked, token_pooling=token_pooling, rank=rank) == resolved


@pytest.mark.parametrize(("asked", "rank"), [("mean", 2), ("none", 3), ("auto", 1), ("auto", 4)])
def test_a_pooling_that_does_not_fit_the_output_is_refused(asked: Pooling, rank: int) -> None:
    with pytest.raises(ConfigurationError):
        resolve_pooling(asked, token_pooling="mean", rank=rank)
