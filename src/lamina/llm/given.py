"""The application's own model, held to the port: whatever it does, what comes out is a reply or one of our errors."""

from typing import Final

import anyio

from lamina.errors import LaminaError, ModelFailedError, OperationTimeoutError
from lamina.llm.types import ChatModel, ChatReply, ChatRequest

_UNNAMED: Final = "application"


class GivenChatModel(ChatModel):
    """Wraps a model that somebody passed in; it stays theirs, so closing this does not close it."""

    def __init__(self, inner: ChatModel, *, timeout_s: float) -> None:
        self.inner = inner
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"GivenChatModel({self.name!r})"

    @property
    def name(self) -> str:
        """The model's own name, or `application` where it has none."""
        name = getattr(self.inner, "name", None)
        return name if isinstance(name, str) and name.strip() else _UNNAMED

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer; what the model raises and is not ours becomes a ModelFailedError without its words."""
        try:
            with anyio.fail_after(self._timeout_s):
                reply: object = await self.inner.complete(request)
        except LaminaError:
            raise
        except TimeoutError:
            message = f"The application's model {self.name} did not answer within {self._timeout_s:g} s."
            raise OperationTimeoutError(message, details={"model": self.name}) from None
        except Exception as error:  # noqa: BLE001 -- isolation: the application's code; its message may repeat the prompt
            raise self._failed(f"failed ({type(error).__name__})") from None
        if not isinstance(reply, ChatReply) or not isinstance(reply.text, str):
            raise self._failed(f"answered with a {type(reply).__name__} instead of a ChatReply")
        return reply

    async def aclose(self) -> None:
        """Nothing: whoever passed the model in closes it."""

    def _failed(self, what: str) -> ModelFailedError:
        return ModelFailedError(f"The application's model {self.name} {what}.", details={"model": self.name})
