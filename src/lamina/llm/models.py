"""Which chat model answers whom: the application's own, that of the settings, or one that a room asks for by name."""

from collections.abc import Mapping
from dataclasses import replace

from lamina.errors import ConfigurationError
from lamina.kernel.clock import Clock
from lamina.kernel.retry import RetryPolicy
from lamina.llm.factory import create_chat_model
from lamina.llm.given import GivenChatModel
from lamina.llm.retrying import RetryingChatModel
from lamina.llm.settings import LlmSettings
from lamina.llm.types import ChatModel
from lamina.observability.metrics import Metrics


class ChatModels:
    """The chat models of an open app, each made when it is first asked for and tried again as the policy says."""

    def __init__(
        self,
        settings: LlmSettings,
        *,
        given: ChatModel | None,
        environ: Mapping[str, str],
        policy: RetryPolicy,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        """`given` is the application's own model; it wins over the settings."""
        self._settings = settings
        self._given = None if given is None else GivenChatModel(given, timeout_s=settings.timeout_s)
        self._environ = environ
        self._policy = policy
        self._clock = clock
        self._metrics = metrics
        self._made: dict[LlmSettings | None, ChatModel | None] = {}

    @property
    def primary(self) -> ChatModel | None:
        """The primary agent's model; None where neither the application nor the settings name one.

        Raises ConfigurationError when the settings cannot work.
        """
        return self._wrapped(None if self._given is not None else self._settings)

    def named(self, *, provider: str | None = None, model: str | None = None) -> ChatModel | None:
        """The model of this provider and name, with the settings of `llm` for the rest; unset: the primary one.

        Raises ConfigurationError when the settings cannot work, and when a provider is named but no model anywhere.
        """
        if provider is None and model is None:
            return self.primary
        settings = self._settings
        chosen = replace(settings, provider=provider or settings.provider, model=model or settings.model)
        if chosen.model is None:
            raise ConfigurationError(f"The provider {provider} is named without a model: name one, or set llm.model.")
        return self._wrapped(chosen)

    async def aclose(self) -> None:
        """Close every model that was made here; the application's own stays open."""
        made, self._made = self._made, {}
        for model in made.values():
            if model is not None:
                await model.aclose()

    def _wrapped(self, settings: LlmSettings | None) -> ChatModel | None:
        if settings not in self._made:
            made = self._given if settings is None else create_chat_model(settings, environ=self._environ)
            self._made[settings] = None if made is None else self._retrying(made)
        return self._made[settings]

    def _retrying(self, model: ChatModel) -> ChatModel:
        return RetryingChatModel(model, policy=self._policy, clock=self._clock, metrics=self._metrics)
