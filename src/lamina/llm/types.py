"""The port to chat models: what is asked and what comes back."""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message to a model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a model is asked; None leaves a choice to the endpoint."""

    messages: tuple[ChatMessage, ...]
    temperature: float | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What a model answered, and what it cost; counts are estimates where the endpoint gave none."""

    text: str
    model: str
    input_tokens: int
    output_tokens: int
    finished: bool = True
    """False when the answer was cut off."""


class ChatModel(Protocol):
    """A model that answers as a whole."""

    @property
    def name(self) -> str:
        """What it is called in notes and figures, such as `openai:gpt-4o-mini`."""
        ...

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer. Raises RateLimitedError, OperationTimeoutError, ModelFailedError (all retryable),
        UnauthorizedError, ConfigurationError, or ContentTooLongError when the model cannot read so much.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
