"""What the real client makes of a chat server that misbehaves."""

import logging
import pickle
import traceback

import anyio
import pytest

from lamina.errors import (
    ConfigurationError,
    ContentTooLongError,
    LaminaError,
    ModelFailedError,
    OperationTimeoutError,
    ProviderError,
    RateLimitedError,
    UnauthorizedError,
)
from tests.llm.scripted import (
    KEY,
    Behaviour,
    ChatServer,
    Gate,
    altered,
    chat_model,
    cut_json,
    drip,
    fixed,
    hang,
    html,
    no_choices,
    question,
    refused,
    reset,
    running,
)

pytestmark = pytest.mark.anyio


async def failure(server: ChatServer, behaviour: Behaviour) -> LaminaError:
    """What a call raises when the server behaves so."""
    model = chat_model(server)
    server.script.append(behaviour)
    with pytest.raises(LaminaError) as caught:
        await model.complete(question())
    await model.aclose()
    assert len(server.requests) == 1  # nothing was tried again
    return caught.value


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (html, "not JSON"),
        (cut_json, "not JSON"),
        (fixed(b"\xff\xfe"), "not JSON"),
        (fixed(b"[" * 100_000), "not JSON"),
        (no_choices, "without a message"),
        (fixed([1]), "not a chat completion"),
        (fixed({"choices": None}), "not a chat completion"),
        (fixed({"choices": ["x"]}), "without a message"),
        (fixed({"choices": [{"text": "x"}]}), "without a message"),
        (altered(lambda answer: answer.pop("choices")), "not a chat completion"),
        (fixed(b"<html>bad gateway</html>", status=502, kind="text/html"), "status 502"),
        (reset, "could not be asked"),
    ],
)
async def test_nonsense_is_a_failed_model(server: ChatServer, behaviour: Behaviour, words: str) -> None:
    error = await failure(server, behaviour)
    assert isinstance(error, ModelFailedError)
    assert isinstance(error, ProviderError)
    assert words in error.message
    assert error.details["host"] == f"127.0.0.1:{server.port}"


async def test_an_endpoint_that_is_not_there_is_a_failed_model() -> None:
    with running(ChatServer()) as stopped:
        pass
    model = chat_model(stopped)
    with pytest.raises(ModelFailedError, match="could not be asked"):
        await model.complete(question())
    await model.aclose()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ConfigurationError),
        (401, UnauthorizedError),
        (403, UnauthorizedError),
        (404, ConfigurationError),
        (408, OperationTimeoutError),
        (413, ConfigurationError),
        (429, RateLimitedError),
        (500, ModelFailedError),
        (529, ModelFailedError),
    ],
)
async def test_a_status_becomes_a_typed_error(server: ChatServer, status: int, kind: type[LaminaError]) -> None:
    error = await failure(server, refused(status, code="some_code", type="not an identifier"))
    assert type(error) is kind
    assert "chat endpoint" in error.message
    assert (error.details["status"], error.details["vendor_code"]) == (status, "some_code")


async def test_the_wait_that_a_provider_asks_for_is_passed_on(server: ChatServer) -> None:
    error = await failure(server, refused(429, retry_after=2.5))
    assert isinstance(error, RateLimitedError)
    assert error.retry_after == 2.5


async def test_a_prompt_that_the_model_cannot_read_is_too_long(server: ChatServer) -> None:
    error = await failure(server, refused(400, code="context_length_exceeded"))
    assert isinstance(error, ContentTooLongError)


@pytest.mark.parametrize("behaviour", [hang, drip])
async def test_an_answer_that_does_not_come_in_time_is_a_timeout(server: ChatServer, behaviour: Behaviour) -> None:
    server.always = behaviour
    model = chat_model(server, timeout_s=0.1)
    with pytest.raises(OperationTimeoutError, match=r"within 0\.1 s"):
        await model.complete(question())
    server.release()
    await model.aclose()


async def test_a_call_that_is_cancelled_ends_at_once(server: ChatServer) -> None:
    gate = Gate()
    server.script.append(gate)
    model = chat_model(server)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(model.complete, question())
            await gate.arrived()
            group.cancel_scope.cancel()
    await model.aclose()


async def test_a_slow_answer_comes_when_it_comes(server: ChatServer) -> None:
    gate = Gate()
    server.script.append(gate)
    model = chat_model(server)
    texts: list[str] = []

    async def ask() -> None:
        texts.append((await model.complete(question())).text)

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await gate.arrived()
        assert texts == []
        gate.open()
    assert texts == ["Hello."]
    await model.aclose()


async def test_neither_key_nor_text_shows_in_an_error_a_log_or_a_repr(
    server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model = chat_model(server)
    shown = [repr(model), str(model)]
    words = f"bad key {KEY} for 'my secret text'"
    asked = question("my secret text")
    for status in (400, 401, 404, 422, 429, 500):
        server.script.append(refused(status, message=words, code=KEY, type=KEY, param=f"x_{KEY}"))
        with pytest.raises(LaminaError) as caught:
            await model.complete(asked)
        error = caught.value
        assert isinstance(pickle.loads(pickle.dumps(error)), type(error))
        shown += [repr(error), repr(error.to_dict()), "".join(traceback.format_exception(error))]
    shown.append(caplog.text)
    assert not any(KEY in text or "my secret text" in text for text in shown)
    await model.aclose()
