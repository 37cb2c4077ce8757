"""Everything that a model is sent for one turn: the system prompt, then what was said last."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lamina.context.receipt import Prompt
from lamina.session.types import Attachment, Message, Role


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
        """The turn in the format of OpenAI's chat completions, tool calls and results included."""
        return [
            {"role": "system", "content": self.prompt.text},
            *(row for message in self.messages for row in _rows(message)),
        ]


def _rows(message: Message) -> Iterator[dict[str, Any]]:
    """A message as the protocol has it: every result is a message of its own there, and an attachment only a name."""
    for result in message.results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
    attached = [f"[{one.name or 'file'}, {one.media_type}]" for one in message.parts if isinstance(one, Attachment)]
    content = "\n".join([message.content, *attached] if message.content else attached)
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.calls
    ]
    if calls:
        yield {"role": "assistant", "content": content or None, "tool_calls": calls}
    elif content and not (message.role is Role.TOOL and message.results):
        # A tool's words without a call to answer are the protocol's `user`: every other role would be refused.
        role = Role.USER if message.role is Role.TOOL else message.role
        yield {"role": role.value, "content": content}
