"""A chat model that is asked again."""

import pytest

from lamina.errors import RateLimitedError, UnauthorizedError
from lamina.kernel.clock import ManualClock
from lamina.kernel.retry import RetryPolicy
from lamina.llm.retrying import RetryingChatModel
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from tests.llm.scripted import ChatServer, chat_model, html, question, refused

pytestmark = pytest.mark.anyio

ONCE_MORE = RetryPolicy(retries=2, initial_s=1.0, jitter=0.0)


async def test_a_failure_that_passes_is_tried_again_and_counted(server: ChatServer) -> None:
    metrics, clock = Metrics.collecting(), ManualClock()
    model = RetryingChatModel(chat_model(server), policy=ONCE_MORE, clock=clock, metrics=metrics)
    server.script.extend([html, refused(429, retry_after=5)])
    assert (await model.complete(question())).text == "Hello."
    assert (model.name, clock.slept) == ("openai:house-model", [1.0, 5.0])
    shown = render_prometheus(metrics)
    assert 'retry_attempts_total{code="MODEL_FAILED",operation="chat"} 1' in shown
    assert 'retry_attempts_total{code="RATE_LIMITED",operation="chat"} 1' in shown
    await model.aclose()
    metrics.shutdown()


async def test_the_last_failure_is_raised_with_the_number_of_attempts(server: ChatServer) -> None:
    model = RetryingChatModel(chat_model(server), policy=ONCE_MORE, clock=ManualClock(), metrics=Metrics())
    server.always = refused(429)
    with pytest.raises(RateLimitedError) as caught:
        await model.complete(question())
    assert (caught.value.details["attempts"], len(server.requests)) == (3, 3)
    await model.aclose()


async def test_what_cannot_succeed_is_not_tried_again(server: ChatServer) -> None:
    model = RetryingChatModel(chat_model(server), policy=ONCE_MORE, clock=ManualClock(), metrics=Metrics())
    server.script.append(refused(401))
    with pytest.raises(UnauthorizedError):
        await model.complete(question())
    assert len(server.requests) == 1
    await model.aclose()
