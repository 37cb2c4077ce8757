"""What the real client makes of a server that misbehaves."""

import logging
import pickle
import traceback

import anyio
import numpy as np
import pytest

from lamina.embedding.openai import CONCURRENT_REQUESTS
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
from tests.embedding.client import KEY, expected, opened
from tests.embedding.server import EmbeddingsServer
from tests.endpoint.loopback import Answer, Behaviour, altered, drip, fixed, hang, reset, right, running

pytestmark = pytest.mark.anyio


async def failure(server: EmbeddingsServer, behaviour: Behaviour, *, texts: int = 3) -> LaminaError:
    """What a call raises when the server behaves so."""
    embedder = await opened(server, dimensions=8)
    server.script.append(behaviour)
    with pytest.raises(LaminaError) as caught:
        await embedder.embed([f"text {n}" for n in range(texts)], purpose="document")
    await embedder.aclose()
    return caught.value


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
