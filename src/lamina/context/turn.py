"""Everything that a model is sent for one turn: the system prompt, then what was said last."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from lamina.context.receipt import Prompt
from lamina.session.types import Attachment, Message, Role, ToolCall, ToolResult

_NO_RESULT = "(no result came)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A system prompt with Conversation Memory, and the messages that follow it, oldest first."""

    prompt: Prompt
    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        """Tokens of the prompt and of the messages."""
        return self.prompt.receipt.total_tokens + sum(one.tokens for one in self.messages)

    def chat(self) -> list[dict[str, Any]]:
        """The turn in the format of OpenAI's chat completions.

        Endpoints refuse a call that nothing answers and a result that nobody asked for. So a call that never got a
        result, other than in the newest message, is answered in its place, and a stray result is told by the user.
        """
        called = {call.id for one in self.messages for call in one.calls}
        answered = {result.call_id for one in self.messages for result in one.results}
        if self.messages:
            answered |= {call.id for call in self.messages[-1].calls}
        rows = [{"role": "system", "content": self.prompt.text}]
        for message in self.messages:
            rows += _rows(message, called, answered)
        return rows


def _rows(message: Message, called: Collection[str], answered: Collection[str]) -> Iterator[dict[str, Any]]:
    """A message as the protocol has it: every result is a message of its own there, an attachment only a name."""
    for result in message.results:
        yield _result(result, called)
    attached = [f"[{one.name or 'file'}, {one.media_type}]" for one in message.parts if isinstance(one, Attachment)]
    content = "\n".join([message.content, *attached] if message.content else attached)
    if message.calls:
        yield {"role": "assistant", "content": content or None, "tool_calls": [_call(one) for one in message.calls]}
        for call in message.calls:
            if call.id not in answered:
                yield {"role": "tool", "tool_call_id": call.id, "content": _NO_RESULT}
    elif content:
        # A tool's words without a call to answer are told by the user: the protocol has no other place for them.
        yield {"role": (Role.USER if message.role is Role.TOOL else message.role).value, "content": content}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _result(result: ToolResult, called: Collection[str]) -> dict[str, Any]:
    if result.call_id in called:
        return {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
    return {"role": "user", "content": f"[result of {result.name or 'a tool'}] {result.content}"}
