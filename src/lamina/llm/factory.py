"""From settings such as `provider = "openai"`, `model = "gpt-4o-mini"` to a chat model.

A third party adds a provider with an entry point in the group `lamina.chat_models`: its name is the provider's, its
value a function that takes a `ChatModelRequest` and returns a `ChatModel`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from lamina.kernel.plugin import built_in, find_plugin
from lamina.llm.settings import LlmSettings
from lamina.llm.types import ChatModel

GROUP: Final = "lamina.chat_models"
_BUILT_IN: Final = built_in(GROUP, {"openai": "lamina.llm.openai:create"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatModelRequest:
    """What a chat model is made from."""

    model: str
    settings: LlmSettings
    environ: Mapping[str, str]
    """The environment, for keys."""


def create_chat_model(settings: LlmSettings, *, environ: Mapping[str, str]) -> ChatModel | None:
    """The model that the settings name, None where they name none; nothing is asked yet, and the caller closes it.

    Raises ConfigurationError when the provider is unknown, its extra is not installed, or address or key cannot work.
    """
    if settings.model is None:
        return None
    point = find_plugin(settings.provider, noun="chat model", group=GROUP, known=_BUILT_IN)
    create = cast("Callable[[ChatModelRequest], ChatModel]", point.load())
    return create(ChatModelRequest(model=settings.model.strip(), settings=settings, environ=environ))
