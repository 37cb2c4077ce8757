"""A model of ADK as the app's own chat model."""

from collections.abc import AsyncGenerator

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from lamina.app import open
from lamina.errors import ContentTooLongError, LaminaError, ModelFailedError, RateLimitedError, UnauthorizedError
from lamina.integrations.adk import AdkChatModel
from lamina.llm.types import ChatMessage, ChatRequest
from tests.integrations.adk_scripts import ScriptedModel, spoken, text_of

pytestmark = pytest.mark.anyio
REQUEST = ChatRequest(
    messages=(
        ChatMessage(role="system", content="Take notes."),
        ChatMessage(role="user", content="It rains."),
        ChatMessage(role="assistant", content="Noted."),
        ChatMessage(role="user", content="Now the sun shines."),
    ),
    temperature=0.0,
    max_output_tokens=50,
)


class RefusedError(Exception):
    """What a provider raises."""

    def __init__(self, code: int | None) -> None:
        super().__init__("Take notes. It rains.")
        self.code = code


class Answering(ScriptedModel):
    """A model that gives one response as it is."""

    def __init__(self, *answers: LlmResponse) -> None:
        super().__init__()
        self._answers = answers

    _answers: tuple[LlmResponse, ...] = ()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for answer in self._answers:
            yield answer


async def test_a_conversation_is_asked_and_answered_as_a_whole() -> None:
    inner = ScriptedModel("It rained, now the sun shines.")
    model = AdkChatModel(inner)
    reply = await model.complete(REQUEST)
    assert (reply.text, reply.model, reply.finished) == ("It rained, now the sun shines.", "adk:scripted", True)
    assert (reply.input_tokens, reply.output_tokens) == (1, 1), "as the model counted"
    (asked,) = inner.asked
    assert asked.config.system_instruction == "Take notes."
    assert (asked.config.temperature, asked.config.max_output_tokens) == (0.0, 50)
    assert [(content.role, text_of(content)) for content in asked.contents] == [
        ("user", "It rains."),
        ("model", "Noted."),
        ("user", "Now the sun shines."),
    ]
    await model.aclose()


async def test_an_answer_that_was_cut_off_says_so_and_tokens_are_estimated_where_nobody_counts() -> None:
    answer = LlmResponse(content=spoken("It rained, now"), finish_reason=types.FinishReason.MAX_TOKENS)
    reply = await AdkChatModel(Answering(answer)).complete(REQUEST)
    assert not reply.finished
    assert reply.input_tokens > 5
    assert reply.output_tokens > 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, UnauthorizedError),
        (403, UnauthorizedError),
        (413, ContentTooLongError),
        (429, RateLimitedError),
        (500, ModelFailedError),
        (None, ModelFailedError),
    ],
)
async def test_what_a_provider_raises_becomes_one_of_our_errors_without_its_words(
    status: int | None, kind: type[LaminaError]
) -> None:
    with pytest.raises(kind) as caught:
        await AdkChatModel(ScriptedModel(RefusedError(status))).complete(REQUEST)
    assert type(caught.value) is kind
    assert "rains" not in str(caught.value.to_dict())


async def test_no_answer_or_a_refusal_is_a_failure() -> None:
    with pytest.raises(ModelFailedError, match="no answer"):
        await AdkChatModel(Answering()).complete(REQUEST)
    with pytest.raises(ModelFailedError, match="SAFETY"):
        await AdkChatModel(Answering(LlmResponse(error_code="SAFETY"))).complete(REQUEST)


async def test_an_app_takes_it_as_its_own_model(sqlite_store_url: str) -> None:
    async with open(sqlite_store_url, model=AdkChatModel(ScriptedModel("Yes."))) as app:
        assert app.chat_model is not None
        assert app.chat_model.name == "adk:scripted"
        assert (await app.chat_model.complete(REQUEST)).text == "Yes."
