"""The Runtime Context layer: which session this is, where it comes from, and what is switched on."""

import threading
from dataclasses import dataclass
from typing import Protocol

from lamina.context.types import ContextItem, ContextLayer, Origin
from lamina.kernel.session_key import DIRECT, channel_of, current_session_key

SESSION_STATE = "session-state"
"""The key of the layer's one item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeContext:
    """The state of a session and of the system around it."""

    session_key: str | None = None
    channel_type: str = DIRECT
    active_tool_count: int = 0
    encryption_enabled: bool = False
    knowledge_enabled: bool = False
    memory_enabled: bool = False


class RuntimeContextProvider(Protocol):
    """Supplies the state of the session that is asking."""

    def get_runtime_context(self) -> RuntimeContext:
        """The state now, of the session in the caller's context; returns at once."""
        ...


class RuntimeContextAdapter:
    """The facts of this process, with the session of whoever asks. Safe from any thread.

    The session bound with `using_session` always wins: it belongs to the request. The one given to `set_session` is
    shared, and is only read by a request for which nothing was bound.
    """

    def __init__(
        self,
        *,
        active_tool_count: int = 0,
        encryption_enabled: bool = False,
        knowledge_enabled: bool = False,
        memory_enabled: bool = False,
    ) -> None:
        self._facts = RuntimeContext(
            active_tool_count=active_tool_count,
            encryption_enabled=encryption_enabled,
            knowledge_enabled=knowledge_enabled,
            memory_enabled=memory_enabled,
        )
        self._session_key: str | None = None
        self._gate = threading.Lock()

    def with_tools(self, count: int) -> "RuntimeContextAdapter":
        """An adapter with the same facts, and so many tools; sessions are set on each of its own."""
        facts = self._facts
        return RuntimeContextAdapter(
            active_tool_count=count,
            encryption_enabled=facts.encryption_enabled,
            knowledge_enabled=facts.knowledge_enabled,
            memory_enabled=facts.memory_enabled,
        )

    def set_session(self, session_key: str | None) -> None:
        """Remember a session for requests that bind none of their own."""
        with self._gate:
            self._session_key = session_key

    def get_runtime_context(self) -> RuntimeContext:
        """The state of the request's own session."""
        with self._gate:
            shared = self._session_key
        key = current_session_key(shared)
        facts = self._facts
        return RuntimeContext(
            session_key=key,
            channel_type=channel_of(key),
            active_tool_count=facts.active_tool_count,
            encryption_enabled=facts.encryption_enabled,
            knowledge_enabled=facts.knowledge_enabled,
            memory_enabled=facts.memory_enabled,
        )


def runtime_item(state: RuntimeContext) -> ContextItem:
    """The layer's item: one line with six facts, the same bytes for the same state."""
    facts = (
        f"Session: {state.session_key or 'none'}",
        f"Channel: {state.channel_type}",
        f"Tools: {state.active_tool_count}",
        f"Encryption: {_switch(state.encryption_enabled)}",
        f"Knowledge: {_switch(state.knowledge_enabled)}",
        f"Memory: {_switch(state.memory_enabled)}",
    )
    return ContextItem(
        layer=ContextLayer.RUNTIME_CONTEXT,
        key=SESSION_STATE,
        content=" | ".join(facts),
        score=1.0,
        origin=Origin.HOST,
    )


def _switch(on: bool) -> str:
    return "on" if on else "off"
