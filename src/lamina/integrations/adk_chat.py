"""A model of ADK as the app's own chat model, so that notes are written by the model the agent uses anyway."""

from contextlib import aclosing
from typing import Final

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai import types

from lamina.errors import ContentTooLongError, LaminaError, ModelFailedError, RateLimitedError, UnauthorizedError
from lamina.integrations.adk_contents import said
from lamina.kernel.tokens import estimate_tokens
from lamina.llm.types import ChatMessage, ChatModel, ChatReply, ChatRequest

_ERRORS: Final[dict[object, type[LaminaError]]] = {
    401: UnauthorizedError,
    403: UnauthorizedError,
    413: ContentTooLongError,
    429: RateLimitedError,
}
_CUT_OFF: Final = (types.FinishReason.MAX_TOKENS,)


class AdkChatModel(ChatModel):
    """Any `BaseLlm` behind the port of chat models: `lamina.open(..., model=AdkChatModel("gemini-flash-latest"))`."""

    def __init__(self, model: BaseLlm | str) -> None:
        """Wrap a model, or the one ADK has under a name. Raises ValueError for an unknown name."""
        self._model = LLMRegistry.new_llm(model) if isinstance(model, str) else model

    @property
    def name(self) -> str:
        """`adk:` and the model's name."""
        return f"adk:{self._model.model}"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer as a whole. Raises ModelFailedError, RateLimitedError, UnauthorizedError, ContentTooLongError."""
        asked = _asked(self._model.model, request)
        last: LlmResponse | None = None
        try:
            async with aclosing(self._model.generate_content_async(asked, stream=False)) as answers:
                async for answer in answers:
                    last = answer if not answer.partial else last
        except LaminaError:
            raise
        except Exception as error:  # noqa: BLE001 -- boundary: providers' own errors, whose words may repeat the prompt
            status = getattr(error, "code", None) or getattr(error, "status_code", None)
            kind = _ERRORS.get(status, ModelFailedError)
            raise kind(f"The model {self.name} failed ({type(error).__name__}).", details={"status": status}) from None
        if last is None or (last.error_code and not said(last.content)):
            reason = "gave no answer" if last is None else f"refused: {last.error_code}"
            raise ModelFailedError(f"The model {self.name} {reason}.", details={"model": self.name})
        return _reply(self.name, request, last)

    async def aclose(self) -> None:
        """Nothing: models of ADK hold no connection of their own."""


def _asked(model: str, request: ChatRequest) -> LlmRequest:
    system = "\n\n".join(one.content for one in request.messages if one.role == "system")
    config = types.GenerateContentConfig(
        system_instruction=system or None,
        temperature=request.temperature,
        max_output_tokens=request.max_output_tokens,
    )
    return LlmRequest(
        model=model, contents=[_content(one) for one in request.messages if one.role != "system"], config=config
    )


def _content(message: ChatMessage) -> types.Content:
    role = "model" if message.role == "assistant" else "user"
    return types.Content(role=role, parts=[types.Part(text=message.content)])


def _reply(name: str, request: ChatRequest, answer: LlmResponse) -> ChatReply:
    text, usage = said(answer.content), answer.usage_metadata
    read = usage.prompt_token_count if usage is not None else None
    written = usage.candidates_token_count if usage is not None else None
    return ChatReply(
        text=text,
        model=name,
        input_tokens=sum(estimate_tokens(one.content) for one in request.messages) if read is None else read,
        output_tokens=estimate_tokens(text) if written is None else written,
        finished=answer.finish_reason not in _CUT_OFF,
    )
