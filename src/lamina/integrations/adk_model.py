"""A model for ADK that sees context: wraps any `BaseLlm`, and nothing else about it changes.

Context helps a turn and never costs one: whatever goes wrong with it, or takes too long, the model is asked what it
would have been asked, and that is counted.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import Final

from google.adk.models import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai import types
from pydantic import PrivateAttr, SerializeAsAny

from lamina.app import App
from lamina.context.adapter import ContextAdapter, Message
from lamina.context.offering import Adjustment, ToolOffering
from lamina.endpoint.settings import Placement
from lamina.errors import LaminaError, OperationTimeoutError
from lamina.integrations.adk_contents import descriptors, extended_instruction, instruction_text, said, user_place
from lamina.integrations.adk_turn import current_turn
from lamina.integrations.attached import AttachedApp, attach
from lamina.memory.types import Identifiers

_log = logging.getLogger("lamina.integrations.adk")

RECEIPT_KEY: Final = "lamina_receipt"
"""The key of `custom_metadata` that holds the id of the receipt."""
ERROR_KEY: Final = "lamina_error"
"""The key of `custom_metadata` that says why a turn went on without context."""


class ContextAwareModel(BaseLlm):
    """A model whose requests carry what is known: layers, memories and the session's notes.

    `placement` says where: at the end of the system instruction, or in a message just before the user's latest one,
    which leaves everything before it unchanged for a prompt cache. The session and the user come from `LaminaPlugin`,
    or from `app.session(...)`; without a session there are no notes.
    """

    inner: SerializeAsAny[BaseLlm]
    placement: Placement = "system"
    _attached: AttachedApp = PrivateAttr()
    _identifiers: Identifiers = PrivateAttr()
    _offering: ToolOffering = PrivateAttr()

    def __init__(
        self,
        inner: BaseLlm | str,
        app: App | str | Path,
        *,
        placement: Placement = "system",
        identifiers: Identifiers | None = None,
        context: Adjustment | None = None,
    ) -> None:
        """Wrap a model, or the one ADK has under a name. `identifiers` say for whom, where no plugin does.

        `context` adjusts the app's context. An app that is not open is opened by the first turn. Raises ValueError
        for an unknown placement or name.
        """
        model = LLMRegistry.new_llm(inner) if isinstance(inner, str) else inner
        super().__init__(model=model.model, inner=model, placement=placement)  # type: ignore[call-arg]
        self._attached = attach(app)
        self._identifiers = identifiers or Identifiers()
        self._offering = ToolOffering(context)

    @property
    def capabilities(self) -> LlmCapabilities:
        """Those of the model inside."""
        return self.inner.capabilities

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """A live connection of the model inside; live requests are forwarded as they are."""
        return self.inner.connect(llm_request)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Ask the model inside with context; its answers stream back unchanged. Raises what it raises.

        Complete answers name the receipt in `custom_metadata`. The request that was handed in is not changed.
        """
        request, mark = await self._with_context(llm_request)
        async with aclosing(self.inner.generate_content_async(request, stream)) as answers:
            async for answer in answers:
                yield answer if answer.partial else _marked(answer, mark)

    async def _with_context(self, request: LlmRequest) -> tuple[LlmRequest, dict[str, str]]:
        app = self._attached.app
        try:
            # Twice the deadline: within its own, context gives up by itself and says so in the receipt.
            async with asyncio.timeout(2 * app.settings.context.turn_deadline_s or None):
                return await self._attached.run(lambda app: self._augmented(app, request))
        except TimeoutError:
            code = OperationTimeoutError.code
        except Exception as error:  # noqa: BLE001 -- isolation: a turn must not fail because its context did
            code = error.code if isinstance(error, LaminaError) else type(error).__name__
        app.metrics.operation_failed("context_turn", code)
        _log.warning("a turn went on without context: %s", code)
        return request, {ERROR_KEY: code}

    async def _augmented(self, app: App, request: LlmRequest) -> tuple[LlmRequest, dict[str, str]]:
        turn = current_turn()
        place = user_place(request.contents, turn.query if turn is not None else "")
        query = (
            turn.query if turn is not None and turn.query else "" if place is None else said(request.contents[place])
        )
        base = instruction_text(request.config.system_instruction) if self.placement == "system" else ""
        adapter = ContextAdapter(
            context=self._offering.context(app.context, descriptors(request.tools_dict)), identifiers=self._identifiers
        )
        prompt = await adapter.augment(
            base, [Message(role="user", text=query)], identifiers=None if turn is None else turn.identifiers
        )
        mark = {RECEIPT_KEY: prompt.receipt.id}
        if prompt.receipt.error:
            mark[ERROR_KEY] = prompt.receipt.error
        addition = prompt.text[len(base) :].lstrip("\n")
        return (self._placed(request, addition, place) if addition else request), mark

    def _placed(self, request: LlmRequest, addition: str, place: int | None) -> LlmRequest:
        if self.placement == "system":
            instruction = extended_instruction(request.config.system_instruction, addition)
            config = request.config.model_copy(update={"system_instruction": instruction})
            return request.model_copy(update={"config": config, "contents": list(request.contents)})
        at = len(request.contents) if place is None else place
        told = types.Content(role="user", parts=[types.Part(text=addition)])
        return request.model_copy(update={"contents": [*request.contents[:at], told, *request.contents[at:]]})


def _marked(answer: LlmResponse, mark: Mapping[str, str]) -> LlmResponse:
    return answer.model_copy(update={"custom_metadata": {**(answer.custom_metadata or {}), **mark}})
