"""The real client against a server that misbehaves on demand."""

import importlib
import logging
import pickle
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from lamina.embedding import openai
from lamina.embedding.factory import EmbedderRequest
from lamina.embedding.openai import CONCURRENT_REQUESTS, REQUEST_BYTES, OpenAIEmbedder
from lamina.embedding.settings import EmbeddingSettings
from lamina.embedding.types import Embedder
from lamina.errors import (
    ConfigurationError,
    ContentTooLongError,
    EmbeddingFailedError,
    LaminaError,
    OperationTimeoutError,
    QueryTooLongError,
    RateLimitedError,
    UnauthorizedError,
)
from tests.embedding.server import (
    Answer,
    Behaviour,
    EmbeddingsServer,
    Exchange,
    altered,
    drip,
    fixed,
    hang,
    reset,
    right,
    running,
    vector,
)

pytestmark = pytest.mark.anyio

KEY = "secretkey_abcdef"
"""Looks like an error code, the form of a key that is hardest to keep out of errors."""


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with running(EmbeddingsServer()) as started:
        yield started


async def opened(server: EmbeddingsServer, *, model: str = "house-model", **settings: Any) -> OpenAIEmbedder:
    chosen = EmbeddingSettings(base_url=server.url, **settings)
    return await openai.create(EmbedderRequest(argument=model, settings=chosen, environ={"OPENAI_API_KEY": KEY}))


def expected(*texts: str, dimensions: int = 8) -> NDArray[np.float32]:
    rows = np.array([vector(text, dimensions) for text in texts])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


async def failure(server: EmbeddingsServer, behaviour: Behaviour, *, texts: int = 3) -> LaminaError:
    """What a call raises when the server behaves so."""
    embedder = await opened(server, dimensions=8)
    server.script.append(behaviour)
    with pytest.raises(LaminaError) as caught:
        await embedder.embed([f"text {n}" for n in range(texts)], purpose="document")
    await embedder.aclose()
    return caught.value


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


async def test_one_failed_batch_fails_the_whole_call(server: EmbeddingsServer) -> None:
    embedder = await opened(server, dimensions=8, batch_size=1)
    server.script.extend([right, right, right, fixed({}, status=500)])
    with pytest.raises(EmbeddingFailedError):
        await embedder.embed([f"text {n}" for n in range(6)], purpose="document")
    await embedder.aclose()


async def test_one_failed_batch_ends_the_others_that_are_under_way(server: EmbeddingsServer) -> None:
    embedder = await opened(server, dimensions=8, batch_size=1, timeout_s=60)
    server.script.extend([hang, hang, hang, fixed({}, status=401)])
    with anyio.fail_after(20), pytest.raises(UnauthorizedError):
        await embedder.embed([f"text {n}" for n in range(20)], purpose="document")
    assert len(server.requests) == CONCURRENT_REQUESTS
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


def wrong_vector(value: object) -> Behaviour:
    def change(answer: Answer) -> None:
        answer["data"][1]["embedding"] = value

    return altered(change)


def same_index(answer: Answer) -> None:
    for item in answer["data"]:
        item["index"] = 0


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (altered(lambda answer: answer["data"].pop()), "2 embeddings for 3 texts"),
        (altered(lambda answer: answer["data"].extend(answer["data"])), "6 embeddings for 3 texts"),
        (altered(same_index), "by index"),
        (altered(lambda answer: answer.pop("data")), "not a list of embeddings"),
        (wrong_vector([float("nan")] * 8), "not finite"),
        (wrong_vector([float("inf")] * 8), "not finite"),
        (wrong_vector([0.0] * 8), "zeros"),
        (wrong_vector([1.0] * 7), "different lengths"),
        (wrong_vector([]), "not a list of numbers"),
        (wrong_vector(["1"] * 8), "not a list of numbers"),
        (wrong_vector([[1.0], [1.0, 2.0]]), "not a list of numbers"),
        (wrong_vector([10**400] * 8), "not a list of numbers"),
        (wrong_vector(None), "not a list of numbers"),
        (wrong_vector("AAAA"), "not a list of numbers"),
        (fixed(b"<html>hello</html>", kind="text/html"), "not JSON"),
        (fixed(b"{'data': ["), "not JSON"),
        (fixed(b"\xff\xfe\xff"), "not JSON"),
        (fixed(b"[" * 100_000), "not JSON"),
        (fixed([1, 2]), "not a list of embeddings"),
        (fixed({"data": [1, 2, 3]}), "not a list of embeddings"),
        (fixed({"error": {"message": "overloaded"}}, status=503), "status 503"),
        (fixed(b"<html>bad gateway</html>", status=502, kind="text/html"), "status 502"),
        (reset, "could not be asked"),
    ],
)
async def test_nonsense_is_a_failed_embedding(server: EmbeddingsServer, behaviour: Behaviour, words: str) -> None:
    error = await failure(server, behaviour)
    assert isinstance(error, EmbeddingFailedError)
    assert words in error.message
    assert error.details["host"] == f"127.0.0.1:{server.port}"


async def test_an_endpoint_that_is_not_there_is_a_failed_embedding() -> None:
    with running(EmbeddingsServer()) as stopped:
        pass
    embedder = await opened(stopped, dimensions=8)
    with pytest.raises(EmbeddingFailedError, match="could not be asked"):
        await embedder.embed(["dark"], purpose="document")
    await embedder.aclose()


async def test_vectors_of_another_length_are_a_matter_of_configuration(server: EmbeddingsServer) -> None:
    embedder = await opened(server, model="text-embedding-3-small")
    with pytest.raises(ConfigurationError, match="set dimensions to 8"):
        await embedder.embed(["dark"], purpose="document")
    await embedder.aclose()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ConfigurationError),
        (401, UnauthorizedError),
        (403, UnauthorizedError),
        (404, ConfigurationError),
        (408, OperationTimeoutError),
        (409, EmbeddingFailedError),
        (413, ConfigurationError),
        (422, ConfigurationError),
        (429, RateLimitedError),
        (500, EmbeddingFailedError),
        (529, EmbeddingFailedError),
    ],
)
async def test_a_status_becomes_a_typed_error(server: EmbeddingsServer, status: int, kind: type[LaminaError]) -> None:
    body = {"error": {"message": "no", "code": "some_code", "type": "not an identifier", "param": None}}
    error = await failure(server, fixed(body, status=status))
    assert type(error) is kind
    assert error.details["status"] == status
    assert error.details["vendor_code"] == "some_code"
    assert "vendor_type" not in error.details
    assert len(server.requests) == 1  # nothing was tried again


async def test_a_server_that_recovers_is_usable_again(server: EmbeddingsServer) -> None:
    embedder = await opened(server, dimensions=8)
    server.script.extend([fixed({}, status=500), reset])
    for _ in range(2):
        with pytest.raises(EmbeddingFailedError):
            await embedder.embed(["dark"], purpose="document")
    np.testing.assert_allclose(await embedder.embed(["dark"], purpose="document"), expected("dark"), atol=1e-6)
    await embedder.aclose()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "7", "Retry-After-Ms": "250"}, 0.25),
        ({"Retry-After": "soon"}, None),
    ],
)
async def test_the_wait_that_a_provider_asks_for_is_passed_on(
    server: EmbeddingsServer, headers: dict[str, str], seconds: float | None
) -> None:
    error = await failure(server, fixed({"error": {}}, status=429, headers=headers))
    assert isinstance(error, RateLimitedError)
    assert error.retry_after == seconds


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "maximum context length is 8192 tokens"}}),
        (400, {"error": {"message": "no", "code": "context_length_exceeded"}}),
        (400, {"error": "the input length exceeds the context length"}),
        (413, {"message": "`inputs` must have less than 512 tokens. Given: 900", "type": "validation"}),
        (500, {"error": {"message": "input is too large to process. increase the physical batch size"}}),
    ],
)
async def test_a_text_that_the_model_cannot_read_is_too_long(
    server: EmbeddingsServer, status: int, body: object
) -> None:
    assert isinstance(await failure(server, fixed(body, status=status)), ContentTooLongError)
    embedder = await opened(server, dimensions=8)
    server.script.append(fixed(body, status=status))
    with pytest.raises(QueryTooLongError):
        await embedder.embed(["dark"], purpose="query")
    await embedder.aclose()


@pytest.mark.parametrize("behaviour", [hang, drip])
async def test_an_answer_that_does_not_come_in_time_is_a_timeout(
    server: EmbeddingsServer, behaviour: Behaviour
) -> None:
    server.always = behaviour
    embedder = await opened(server, dimensions=8, timeout_s=0.1, batch_size=1)
    with pytest.raises(OperationTimeoutError, match=r"within 0\.1 s"):
        await embedder.embed(["dark"], purpose="document")
    with pytest.raises(OperationTimeoutError):
        await embedder.embed(["dark", "light"], purpose="document")
    server.release()
    await embedder.aclose()


async def test_neither_key_nor_text_shows_in_an_error_a_log_or_a_repr(
    server: EmbeddingsServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = await opened(server, dimensions=8)
    shown = [repr(embedder), str(embedder)]
    echo = {"error": {"message": f"bad key {KEY} for 'my secret text'", "code": KEY, "type": KEY, "param": f"x_{KEY}"}}
    for status in (400, 401, 404, 422, 429, 500):
        server.script.append(fixed(echo, status=status))
        with pytest.raises(LaminaError) as caught:
            await embedder.embed(["my secret text"], purpose="document")
        error = caught.value
        assert isinstance(pickle.loads(pickle.dumps(error)), type(error))
        shown += [repr(error), repr(error.to_dict()), "".join(traceback.format_exception(error))]
    shown.append(caplog.text)
    # The source line of this very test is part of its tracebacks.
    assert not any(KEY in text for text in shown)
    assert not any("my secret text" in text.replace('["my secret text"]', "") for text in shown)
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
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[openai\]'"):
        importlib.import_module("lamina.embedding.openai")
