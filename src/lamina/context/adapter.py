"""The context-aware model: wraps any model and adds context to its system instruction. Knows no framework.

Context helps a turn and never costs one: whatever goes wrong with it, or takes too long, the model is asked with the
instruction it was given.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from lamina.context.receipt import Prompt, Receipt
from lamina.context.service import ContextService
from lamina.context.types import arguments
from lamina.errors import LaminaError, OperationTimeoutError
from lamina.kernel.ids import new_id
from lamina.kernel.session_key import current_session_key, using_session
from lamina.memory.types import Identifiers

_log = logging.getLogger("lamina.context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation; `text` is empty for one without text, such as a tool's result."""

    role: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What a model is asked: its system instruction and the conversation, oldest first."""

    system: str = ""
    messages: tuple[Message, ...] = ()


Answer = TypeVar("Answer", covariant=True)


class TurnModel(Protocol[Answer]):
    """The agent's model, asked once a turn; answers in pieces."""

    def generate_content(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """The answer, as it comes."""
        ...


def latest_user_text(messages: Sequence[Message]) -> str:
    """The text of the newest message of the user that has any; empty when there is none."""
    return next((one.text for one in reversed(messages) if one.role == "user" and one.text.strip()), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAdapter:
    """Augments system instructions: what an adapter for a framework calls once a turn."""

    context: ContextService
    identifiers: Identifiers = field(default_factory=Identifiers)
    """Who the user is, for memories."""

    async def augment(
        self,
        system: str,
        messages: Sequence[Message],
        *,
        session_key: str | None = None,
        identifiers: Identifiers | None = None,
    ) -> Prompt:
        """The system instruction with context for the user's latest message; never fails, never hangs.

        The session is `session_key`, else the one bound to the request. When context fails as a whole or takes longer
        than `context.turn_deadline_s`, the text is `system` unchanged and the receipt says why.
        """
        key = session_key if session_key is not None else current_session_key()
        query = latest_user_text(messages)
        deadline = self.context.settings.turn_deadline_s or None
        try:
            # For whoever looks at the adapter from outside a request; the request itself reads its own variable.
            self.context.runtime.set_session(key)
            with using_session(key):
                async with asyncio.timeout(deadline):
                    return await self.context.assemble(
                        system, query=query, **arguments(identifiers or self.identifiers)
                    )
        except TimeoutError:
            return self._without(system, query, key, OperationTimeoutError.code)
        except Exception as error:  # noqa: BLE001 -- isolation: a turn must not fail because its context did
            code = error.code if isinstance(error, LaminaError) else type(error).__name__
            return self._without(system, query, key, code)

    def _without(self, system: str, query: str, session_key: str | None, code: str) -> Prompt:
        self.context.metrics.operation_failed("context_turn", code)
        _log.warning("a turn went on without context: %s", code)
        receipt = Receipt(
            id=new_id(),
            at=self.context.clock.now(),
            session_key=session_key,
            query=query,
            keywords=(),
            budget_tokens=self.context.settings.budget_tokens,
            base_tokens=self.context.count(system),
            added_tokens=0,
            unchanged_tokens=0,
            error=code,
        )
        return Prompt(text=system, receipt=receipt)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAwareModel(TurnModel[Answer]):
    """A model that sees context in its system instruction; answers stream back unchanged."""

    inner: TurnModel[Answer]
    adapter: ContextAdapter

    async def generate_content(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """Ask the model inside with the augmented request; raises what it raises."""
        prompt = await self.adapter.augment(request.system, request.messages)
        asked = request if prompt.text == request.system else replace(request, system=prompt.text)
        async for piece in self.inner.generate_content(asked):
            yield piece
