"""The real client against a server that speaks the protocol: requests, batches, keys, addresses."""

import importlib
import sys
import threading

import numpy as np
import pytest

from lamina.embedding import openai
from lamina.embedding.factory import EmbedderRequest
from lamina.embedding.openai import CONCURRENT_REQUESTS, REQUEST_BYTES, OpenAIEmbedder
from lamina.embedding.settings import EmbeddingSettings
from lamina.embedding.types import Embedder
from lamina.errors import (
    ConfigurationError,
    UnauthorizedError,
)
from tests.embedding.client import KEY, expected, opened
from tests.embedding.server import EmbeddingsServer
from tests.endpoint.loopback import Exchange, altered, fixed, right

pytestmark = pytest.mark.anyio


async def test_it_is_an_embedder(server: EmbeddingsServer) -> None:
    embedder: Embedder = await opened(server, dimensions=8)
    rows = await embedder.embed(["dark mode", "light"], purpose="document")
    assert rows.dtype == np.float32
    assert embedder.name == "openai:house-model:8"
    np.testing.assert_allclose(rows, expected("dark mode", "light"), atol=1e-6)
    await embedder.aclose()


async def test_the_request_is_what_the_protocol_asks_for(server: EmbeddingsServer) -> None:
    embedder = await opened(server, dimensions=6)
    rows = await embedder.embed(["dark mode"], purpose="document")
    assert server.requests == [
        {
            "path": "/v1/embeddings",
            "model": "house-model",
            "input": ["dark mode"],
            "dimensions": 6,
            "encoding_format": "float",
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert rows.shape == (1, 6)
    await embedder.aclose()


async def test_dimensions_are_not_sent_unless_they_are_set(server: EmbeddingsServer) -> None:
    embedder = await opened(server)
    await embedder.embed(["dark mode"], purpose="document")
    assert all("dimensions" not in request for request in server.requests)
    await embedder.aclose()


async def test_an_unknown_length_is_asked_for_once(server: EmbeddingsServer) -> None:
    embedder = await opened(server)
    assert embedder.dimensions == 8
    assert len(server.requests) == 1
    await embedder.aclose()


async def test_a_known_models_length_is_not_asked_for(server: EmbeddingsServer) -> None:
    embedder = await opened(server, model="text-embedding-3-small")
    assert embedder.dimensions == 1536
    assert server.requests == []
    await embedder.aclose()


async def test_a_failed_probe_is_the_error_of_opening(server: EmbeddingsServer) -> None:
    server.script.append(fixed({"error": {"message": "no"}}, status=401))
    with pytest.raises(UnauthorizedError):
        await opened(server)


async def test_an_unknown_length_cannot_be_read(server: EmbeddingsServer) -> None:
    embedder = OpenAIEmbedder(model="house-model", api_key=KEY, base_url=server.url)
    with pytest.raises(ConfigurationError, match="set dimensions"):
        _ = embedder.dimensions
    assert await embedder.probe() == 8
    assert embedder.name == "openai:house-model:8"
    await embedder.aclose()


async def test_many_texts_are_split_into_batches_and_keep_their_order(server: EmbeddingsServer) -> None:
    embedder = await opened(server, dimensions=8, batch_size=7)
    texts = [f"text {n}" for n in range(100)]
    rows = await embedder.embed(texts, purpose="document")
    assert sorted(len(request["input"]) for request in server.requests) == [2, *[7] * 14]
    np.testing.assert_allclose(rows, expected(*texts), atol=1e-6)
    assert server.most_at_once <= CONCURRENT_REQUESTS
    await embedder.aclose()


async def test_batches_are_also_bounded_in_bytes(server: EmbeddingsServer) -> None:
    embedder = await opened(server, dimensions=8)
    texts = ["ä" * (REQUEST_BYTES // 5), "b" * (REQUEST_BYTES // 2), "c" * 10, "d" * (REQUEST_BYTES * 2), "e"]
    rows = await embedder.embed(texts, purpose="document")
    sizes = sorted(sum(len(text.encode()) for text in request["input"]) for request in server.requests)
    assert sizes == [1, REQUEST_BYTES // 5 * 2 + REQUEST_BYTES // 2 + 10, REQUEST_BYTES * 2]
    np.testing.assert_allclose(rows, expected(*texts), atol=1e-6)
    await embedder.aclose()


async def test_batches_of_one_call_run_side_by_side(server: EmbeddingsServer) -> None:
    together = threading.Barrier(CONCURRENT_REQUESTS)

    def meet(exchange: Exchange) -> None:
        together.wait(timeout=10)
        right(exchange)

    server.script.extend([meet] * CONCURRENT_REQUESTS)
    embedder = await opened(server, dimensions=8, batch_size=1)
    await embedder.embed([f"text {n}" for n in range(6)], purpose="document")
    assert server.most_at_once == CONCURRENT_REQUESTS
    await embedder.aclose()


async def test_texts_without_anything_to_embed_are_zero_and_not_sent(server: EmbeddingsServer) -> None:
    embedder = await opened(server, dimensions=8)
    rows = await embedder.embed(["", "dark", " \n", "\ud800"], purpose="document")
    assert [request["input"] for request in server.requests] == [["dark"]]
    np.testing.assert_allclose(rows[1:2], expected("dark"), atol=1e-6)
    assert not rows[[0, 2, 3]].any()
    assert (await embedder.embed([], purpose="query")).shape == (0, 8)
    assert len(server.requests) == 1
    await embedder.aclose()


async def test_prefixes_come_from_the_models_name_or_the_settings(server: EmbeddingsServer) -> None:
    known = await opened(server, model="nomic-embed-text", dimensions=8)
    await known.embed(["dark"], purpose="query")
    await known.embed(["dark"], purpose="document")
    chosen = await opened(server, model="nomic-embed-text", dimensions=8, query_prefix="Q ", document_prefix="")
    await chosen.embed(["dark"], purpose="query")
    await chosen.embed(["dark"], purpose="document")
    sent = [request["input"] for request in server.requests]
    assert sent == [["search_query: dark"], ["search_document: dark"], ["Q dark"], ["dark"]]
    assert known.name != chosen.name
    await known.aclose()
    await chosen.aclose()


async def test_answers_are_put_in_the_order_of_their_index(server: EmbeddingsServer) -> None:
    embedder = await opened(server, dimensions=8)
    server.script.append(altered(lambda answer: answer["data"].reverse()))
    rows = await embedder.embed(["a", "b", "c"], purpose="document")
    np.testing.assert_allclose(rows, expected("a", "b", "c"), atol=1e-6)
    await embedder.aclose()


async def test_openai_itself_needs_a_key_and_the_variable_is_named() -> None:
    for base_url in (None, "https://api.openai.com/v1", "https://eu.api.openai.com/v1"):
        settings = EmbeddingSettings(base_url=base_url, api_key_env="MY_KEY")
        with pytest.raises(ConfigurationError, match="MY_KEY"):
            await openai.create(
                EmbedderRequest(argument="text-embedding-3-small", settings=settings, environ={"MY_KEY": " "})
            )


async def test_another_endpoint_may_have_no_key(server: EmbeddingsServer) -> None:
    settings = EmbeddingSettings(base_url=server.url)
    embedder = await openai.create(EmbedderRequest(argument="house-model", settings=settings, environ={}))
    assert embedder.dimensions == 8
    await embedder.aclose()


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-ä", "sk a"])
async def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    request = EmbedderRequest(
        argument="text-embedding-3-small", settings=EmbeddingSettings(), environ={"OPENAI_API_KEY": key}
    )
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY") as caught:
        await openai.create(request)
    assert key not in str(caught.value)


@pytest.mark.parametrize("base_url", ["localhost:11434", "ftp://host/v1", "http://", "http://[", "http://h:x/"])
async def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    request = EmbedderRequest(argument="m", settings=EmbeddingSettings(base_url=base_url), environ={})
    with pytest.raises(ConfigurationError, match="base_url"):
        await openai.create(request)


async def test_credentials_in_an_address_are_not_shown() -> None:
    embedder = OpenAIEmbedder(model="m", api_key=KEY, base_url="http://me:word@localhost:9/v1", dimensions=8)
    assert repr(embedder) == "OpenAIEmbedder(model='m', host='localhost:9')"
    await embedder.aclose()


async def test_a_model_must_be_named() -> None:
    with pytest.raises(ConfigurationError, match="Name a model"):
        await openai.create(EmbedderRequest(argument="", settings=EmbeddingSettings(), environ={}))


async def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "lamina.embedding.openai")
    monkeypatch.delitem(sys.modules, "lamina.endpoint.client")
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[openai\]'"):
        importlib.import_module("lamina.embedding.openai")
