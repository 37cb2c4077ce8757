"""Chat models behind any endpoint that speaks OpenAI's protocol: OpenAI, Ollama, vLLM, LM Studio, llama.cpp.

Not for retrying: a failure is translated and raised at once, and the caller decides whether to try again.
"""

from collections.abc import Awaitable
from typing import Any, Final

from lamina.endpoint.address import OPENAI_URL, api_key, host_of, is_openai
from lamina.endpoint.client import EndpointClient, RawAnswer, Send, openai
from lamina.endpoint.refusal import Service
from lamina.errors import ConfigurationError, ModelFailedError
from lamina.kernel.clock import Clock
from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.llm.factory import ChatModelRequest
from lamina.llm.openai_wire import read_answer
from lamina.llm.types import ChatModel, ChatReply, ChatRequest

_CHAT: Final = Service(
    noun="chat",
    offers="chat completions",
    failed=ModelFailedError,
    smaller="ask about less at once",
    settings="model, temperature, max_output_tokens and base_url",
)
_MESSAGE_TOKENS: Final = 4
"""What an endpoint adds to each message, about."""


class OpenAIChatModel(ChatModel):
    """Asks through `POST {base_url}/chat/completions` and answers as a whole."""

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str = OPENAI_URL,
        timeout_s: float = 60.0,
        max_output_tokens: int | None = None,
        temperature: float | None = None,
        clock: Clock | None = None,
        count: TokenCounter = estimate_tokens,
    ) -> None:
        """`max_output_tokens` and `temperature` are for requests that do not say; raises ConfigurationError."""
        self._client = EndpointClient(
            _CHAT, model=model, api_key=api_key, base_url=base_url, timeout_s=timeout_s, clock=clock
        )
        self._endpoint = self._client.endpoint
        self._max_output_tokens = max_output_tokens
        self._temperature = temperature
        self._count = count
        # OpenAI's newest models know only the second name, most other endpoints only the first.
        self._limit_names = ["max_tokens", "max_completion_tokens"]
        if is_openai(self._endpoint.host):
            self._limit_names.reverse()
        self._takes_temperature = True

    def __repr__(self) -> str:
        return f"OpenAIChatModel(model={self._endpoint.model!r}, host={self._endpoint.host!r})"

    @property
    def name(self) -> str:
        """`openai:MODEL`."""
        return f"openai:{self._endpoint.model}"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer; raises what the port names, and ContentTooLongError when the model cannot read so much."""
        body = await self._ask(request)
        try:
            answer = read_answer(body)
        except ModelFailedError as error:
            error.details.update(self._endpoint.details)
            raise
        asked, said = answer.input_tokens, answer.output_tokens
        return ChatReply(
            text=answer.text,
            model=self.name,
            input_tokens=self._estimate(request) if asked is None else asked,
            output_tokens=self._count(answer.text) if said is None else said,
            finished=answer.finished,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask(self, request: ChatRequest) -> bytes:
        """The answer's body; an option that this model does not take is left out from then on."""
        while True:
            options = self._options(request)
            try:
                return await self._client.ask(self._sending(request, options))
            except ConfigurationError as error:
                if not self._drop(error.details.get("vendor_param"), options):
                    raise

    def _sending(self, request: ChatRequest, options: dict[str, Any]) -> Send:
        messages: Any = [{"role": one.role, "content": one.content} for one in request.messages]

        def send(sdk: openai.AsyncOpenAI) -> Awaitable[RawAnswer]:
            return sdk.chat.completions.with_raw_response.create(
                model=self._endpoint.model, messages=messages, stream=False, **options
            )

        return send

    def _options(self, request: ChatRequest) -> dict[str, Any]:
        limit = self._max_output_tokens if request.max_output_tokens is None else request.max_output_tokens
        temperature = self._temperature if request.temperature is None else request.temperature
        options: dict[str, Any] = {}
        if limit is not None and self._limit_names:
            options[self._limit_names[0]] = limit
        if temperature is not None and self._takes_temperature:
            options["temperature"] = temperature
        return options

    def _drop(self, refused: object, options: dict[str, Any]) -> bool:
        """Whether the refused parameter was an option of ours that can be said in another way, or not at all."""
        if refused not in options:
            return False
        if refused == "temperature":
            self._takes_temperature = False
        elif refused in self._limit_names:
            self._limit_names.remove(refused)
        return True

    def _estimate(self, request: ChatRequest) -> int:
        return sum(self._count(one.content) + _MESSAGE_TOKENS for one in request.messages)


def create(request: ChatModelRequest) -> OpenAIChatModel:
    """The model at the endpoint of the settings.

    Raises ConfigurationError when the address or the key is missing or unusable.
    """
    settings = request.settings
    base_url = settings.base_url or OPENAI_URL
    return OpenAIChatModel(
        model=request.model,
        api_key=api_key(settings.api_key_env, host_of(base_url), request.environ),
        base_url=base_url,
        timeout_s=settings.timeout_s,
        max_output_tokens=settings.max_output_tokens,
        temperature=settings.temperature,
    )
