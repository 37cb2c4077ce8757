"""Models by name: what can be shown without a network, with the real library."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from fastembed.text.custom_text_embedding import CustomTextEmbedding

from lamina.embedding import fastembed
from lamina.embedding.factory import EmbedderRequest
from lamina.embedding.fastembed import CACHE_VARIABLE, FastEmbedEmbedder
from lamina.embedding.settings import EmbeddingSettings
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError, EmbeddingFailedError
from tests.embedding.tiny_model import DIMENSIONS, TABLE, WORDS, write_folder

pytestmark = pytest.mark.anyio

NAME = "house/e5-tiny"


async def opened(name: str, cache: Path, settings: EmbeddingSettings | None = None) -> FastEmbedEmbedder:
    chosen = settings or EmbeddingSettings()
    environ = {CACHE_VARIABLE: str(cache)}
    return await fastembed.create(EmbedderRequest(argument=name, settings=chosen, environ=environ))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that already holds a model which fastembed is told to know; nothing may be fetched."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(CustomTextEmbedding, "SUPPORTED_MODELS", [])
    monkeypatch.setattr(CustomTextEmbedding, "POSTPROCESSING_MAPPING", {})
    TextEmbedding.add_custom_model(
        NAME,
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=NAME),
        dim=DIMENSIONS,
        model_file="model.onnx",
    )
    repository = tmp_path / "cache" / "models--house--e5-tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    folder = write_folder(repository / "snapshots" / ("0" * 40), config={"pad_token_id": 0})
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 16, "pad_token": "[PAD]"}))
    (folder / "special_tokens_map.json").write_text("{}")
    return tmp_path / "cache"


async def test_a_cached_model_is_an_embedder(cache: Path) -> None:
    embedder: Embedder = await opened(NAME.upper(), cache)
    texts = ["dark mode", "", *["light theme a b"] * 40, "a"]
    rows = await embedder.embed(texts, purpose="document")
    words = TABLE[[WORDS.index(word) for word in ("[CLS]", "passage", ":", "dark", "mode", "[SEP]")]].mean(axis=0)
    np.testing.assert_allclose(rows[0], words / np.linalg.norm(words), atol=1e-6)
    assert rows.dtype == np.float32
    assert rows.shape == (len(texts), embedder.dimensions) == (43, DIMENSIONS)
    assert not rows[1].any()
    np.testing.assert_allclose(rows[2], rows[41], atol=1e-6)
    assert embedder.name.startswith(f"fastembed:{NAME}:{DIMENSIONS}:")
    await embedder.aclose()


async def test_a_question_is_embedded_with_its_own_prefix(cache: Path) -> None:
    embedder = await opened(NAME, cache, EmbeddingSettings(document_prefix="query: "))
    query = await embedder.embed(["dark"], purpose="query")
    np.testing.assert_allclose(query, await embedder.embed(["dark"], purpose="document"), atol=1e-6)


async def test_fewer_dimensions_keep_the_first_numbers_and_more_are_refused(cache: Path) -> None:
    embedder = await opened(NAME, cache, EmbeddingSettings(dimensions=2))
    assert (await embedder.embed(["dark"], purpose="document")).shape == (1, 2)
    with pytest.raises(ConfigurationError, match="dimensions cannot be 7"):
        await opened(NAME, cache, EmbeddingSettings(dimensions=7))


async def test_a_model_that_fails_on_a_text_is_reported_as_failed(cache: Path) -> None:
    embedder = await opened(NAME, cache)
    vars(embedder._model.model)["tokenizer"].add_tokens(["beyond"])
    with pytest.raises(EmbeddingFailedError, match="e5-tiny failed"):
        await embedder.embed(["beyond"], purpose="document")


async def test_a_model_that_cannot_be_fetched_is_a_matter_of_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ConfigurationError, match=r"could not be fetched or loaded.*onnx:FOLDER"):
        await opened("BAAI/bge-small-en-v1.5", tmp_path)


async def test_an_unknown_model_is_refused_with_the_nearest_names(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"Did you mean .*BAAI/bge-small-en-v1\.5"):
        await opened("bge-small-en-v1.5", tmp_path)


async def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    monkeypatch.delitem(sys.modules, "lamina.embedding.fastembed")
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[fastembed\]'"):
        importlib.import_module("lamina.embedding.fastembed")
