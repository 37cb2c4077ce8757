"""Which chat model an app uses, and that the application's own one cannot break it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import lamina
from lamina.app import App
from lamina.config import load_settings
from lamina.errors import ConfigurationError, ModelFailedError, OperationTimeoutError, RateLimitedError
from lamina.house.rooms import House
from lamina.kernel.clock import ManualClock
from lamina.llm.types import ChatModel, ChatReply, ChatRequest
from tests.llm.scripted import ChatServer, question, refused

pytestmark = pytest.mark.anyio


class OwnModel:
    """An application's model: answers with what it was given, or raises it."""

    name = "own"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.closed = False

    async def complete(self, request: ChatRequest) -> ChatReply:
        answer: Any = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        reply: ChatReply = await answer() if callable(answer) else answer
        return reply

    async def aclose(self) -> None:
        self.closed = True


REPLY = ChatReply(text="mine", model="own", input_tokens=1, output_tokens=1)


@asynccontextmanager
async def opened(
    own: ChatModel | None = None, *, clock: ManualClock | None = None, **llm: Any
) -> AsyncIterator[tuple[App, House]]:
    settings = load_settings(environ={}, database={"url": ":memory:"}, llm=llm).settings
    async with App(settings, model=own, clock=clock or ManualClock(), environ={}) as app:
        yield app, app._open


async def asked(model: ChatModel | None) -> str:
    assert model is not None
    return (await model.complete(question())).text


async def test_without_a_model_there_is_none() -> None:
    async with opened() as (app, house):
        assert app.chat_model is None
        assert house.models.named() is None


async def test_the_configured_model_is_made_once_and_tried_again(server: ChatServer) -> None:
    async with opened(model="m1", base_url=server.url) as (app, _):
        assert app.chat_model is app.chat_model
        server.script.append(refused(500))
        assert await asked(app.chat_model) == "Hello."
    assert [request["model"] for request in server.requests] == ["m1", "m1"]


async def test_a_model_that_cannot_work_is_named_when_it_is_asked_for_and_not_before() -> None:
    async with opened(model="gpt-4o-mini") as (app, _):
        with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
            _ = app.chat_model


async def test_the_applications_own_model_wins_and_stays_open() -> None:
    own = OwnModel(REPLY)
    async with opened(own) as (app, house):
        assert house.chat_model is not None
        assert house.chat_model.name == "own"
        assert await asked(app.chat_model) == "mine"
    assert not own.closed


async def test_a_room_may_name_another_model_and_takes_the_rest_from_the_settings(server: ChatServer) -> None:
    async with opened(OwnModel(REPLY), base_url=server.url, max_output_tokens=5) as (app, house):
        models = house.models
        small = models.named(model="small")
        assert await asked(small) == "Hello."
        assert models.named(provider="openai", model="small") is small
        assert models.named() is app.chat_model
        with pytest.raises(ConfigurationError, match="named without a model"):
            models.named(provider="openai")
    assert (server.requests[0]["model"], server.requests[0]["max_tokens"]) == ("small", 5)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ValueError("my secret text"), r"own failed \(ValueError\)"),
        ("just text", "answered with a str"),
        (None, "answered with a NoneType"),
        (ChatReply(text=None, model="own", input_tokens=0, output_tokens=0), "instead of a ChatReply"),  # type: ignore[arg-type]
    ],
)
async def test_whatever_goes_wrong_in_the_applications_model_is_a_failed_model(answer: object, words: str) -> None:
    async with opened(OwnModel(*[answer] * 9)) as (app, _):
        with pytest.raises(ModelFailedError, match=words) as caught:
            await asked(app.chat_model)
    assert "my secret text" not in str(caught.value.to_dict())
    assert caught.value.__cause__ is None


async def test_our_own_errors_pass_through_and_are_waited_for() -> None:
    clock = ManualClock()
    async with opened(OwnModel(RateLimitedError(details={"retry_after": 9}), REPLY), clock=clock) as (app, _):
        assert await asked(app.chat_model) == "mine"
    assert clock.slept == [9.0]


async def test_an_application_s_model_that_hangs_is_a_timeout() -> None:
    hanging: Callable[[], Any] = anyio.sleep_forever
    async with opened(OwnModel(*[hanging] * 9), timeout_s=0.01) as (app, _):
        with pytest.raises(OperationTimeoutError, match=r"own did not answer within 0\.01 s"):
            await asked(app.chat_model)


def test_the_blocking_app_takes_a_model_too(tmp_path: Any) -> None:
    with lamina.sync.open(tmp_path / "a.db", model=OwnModel(REPLY)) as app:
        assert app.settings.llm.model is None
