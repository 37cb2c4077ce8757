"""Nodes for graphs of LangGraph: one assembles the prompt, one stores what was said.

The session is the thread of the run (`configurable.thread_id`), and whose memories are found say the identifiers in
`configurable`, such as `user_id`. Neither node can fail a turn.
"""

import hashlib
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda

from lamina.app import App
from lamina.integrations.turn_memory import TurnMemory
from lamina.kernel.text import mended
from lamina.memory.types import IDENTIFIER_NAMES, Identifiers
from lamina.session.types import NewMessage, Part, Role, ToolCall, ToolResult

State = dict[str, Any]
Node = RunnableLambda[Any, State]
_NodeWork = Callable[[Any, RunnableConfig], Coroutine[Any, Any, State]]
_LONGEST_ID: Final = 1024


def prompt_node(
    app: App | str | Path, instructions: str = "", *, messages: str = "messages", output: str = "llm_input_messages"
) -> Node:
    """A node that gives the messages of a state with a system message before them: instructions and context.

    It reads the key `messages` of the state and writes the key `output`, so the conversation itself stays as it is.
    """
    memory = TurnMemory(app, recording="langgraph_record")

    async def work(state: Any, config: RunnableConfig) -> State:
        said: Sequence[AnyMessage] = _value(state, messages) or []
        given = config.get("configurable") or {}
        known = {name: str(given[name]) for name in IDENTIFIER_NAMES if given.get(name) is not None}
        query = next((text for one in reversed(said) if isinstance(one, HumanMessage) and (text := one.text)), "")
        told = await memory.instructions(
            instructions, query, session_key=_thread(given), identifiers=Identifiers(**known)
        )
        return {output: [*([SystemMessage(told)] if told else []), *said]}

    return _node(memory, work, "lamina_prompt")


def record_node(app: App | str | Path, *, messages: str = "messages") -> Node:
    """A node that stores the messages of a state that are not stored yet, each once; it changes nothing in the state.

    Put it after the model, or before the end: a message is known again by its id, or without one by its place.
    """
    memory = TurnMemory(app, recording="langgraph_record")

    async def work(state: Any, config: RunnableConfig) -> State:
        said: Sequence[AnyMessage] = _value(state, messages) or []
        given = config.get("configurable") or {}
        user = given.get("user_id")
        await memory.record(
            [stored for place, one in enumerate(said) if (stored := message_of(one, place)) is not None],
            session_key=_thread(given),
            user_id=None if user is None else str(user),
        )
        return {}

    return _node(memory, work, "lamina_record")


def message_of(one: AnyMessage, place: int) -> NewMessage | None:
    """A message as it is stored; None for instructions, and for what says nothing."""
    parts: tuple[Part, ...] = ()
    match one:
        case HumanMessage():
            role = Role.USER
        case AIMessage():
            role = Role.ASSISTANT
            parts = tuple(
                ToolCall(
                    id=mended(call["id"] or call["name"])[:_LONGEST_ID],
                    name=mended(call["name"])[:_LONGEST_ID] or "unnamed",
                    arguments=mended(json.dumps(call["args"], ensure_ascii=False, default=str)),
                )
                for call in one.tool_calls
            )
        case ToolMessage():
            role = Role.TOOL
            parts = (
                ToolResult(
                    call_id=mended(one.tool_call_id)[:_LONGEST_ID] or "unnamed",
                    name=mended(one.name or ""),
                    content=mended(one.text),
                    is_error=one.status == "error",
                ),
            )
        case _:
            return None
    text = "" if role is Role.TOOL else mended(one.text)
    if not text.strip() and not parts:
        return None
    told = repr((place, role.value, text, parts))
    return NewMessage(role=role, content=text, parts=parts, id=one.id or hashlib.sha256(told.encode()).hexdigest())


def _value(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


def _thread(given: Mapping[str, Any]) -> str | None:
    thread = given.get("thread_id")
    return None if thread is None else str(thread)


def _node(memory: TurnMemory, work: _NodeWork, name: str) -> Node:
    def blocking(state: Any, config: RunnableConfig) -> State:
        return memory.attached.block(lambda: work(state, config))

    return RunnableLambda(blocking, afunc=work, name=name)
