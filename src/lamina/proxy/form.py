"""How a path of the protocol carries a conversation: what `chat` and `responses` have in common."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from lamina.context.tools import ToolDescriptor
from lamina.context.types import Origin
from lamina.endpoint.settings import Placement

Body = dict[str, Any]
ChatMessage = Mapping[str, Any]


class AnswerReader(Protocol):
    """Reads an answer from its body, while or after it passes."""

    def heard(self, event: Mapping[str, Any]) -> None:
        """One event of a stream."""
        ...

    def whole(self, body: Mapping[str, Any]) -> None:
        """The body of an answer that was not streamed."""
        ...

    @property
    def id(self) -> str | None:
        """The answer's id, where a later request can refer to it."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the model said that it is done."""
        ...

    def messages(self) -> list[ChatMessage]:
        """What the assistant said so far, as messages of chat completions."""
        ...


class Form(Protocol):
    """One path. Bodies are never changed: what is asked for is a changed copy."""

    def messages(self, body: Body) -> Sequence[ChatMessage] | None:
        """The conversation as messages of chat completions, one for each thing sent; None for no conversation."""
        ...

    def instructions(self, body: Body) -> str:
        """What the model is told that it is."""
        ...

    def extended(self, body: Body, addition: str, placement: Placement) -> Body:
        """The body with context in it."""
        ...

    def without(self, body: Body, places: AbstractSet[int]) -> Body:
        """The body without the messages at these places."""
        ...

    def reader(self) -> AnswerReader:
        """Something that reads an answer."""
        ...


def offered_tools(body: Body) -> tuple[ToolDescriptor, ...]:
    """The tools that a request offers; who wrote their descriptions is not known here."""
    tools = body.get("tools")
    found = []
    for tool in tools if isinstance(tools, list) else ():
        named = (tool.get("function") or tool) if isinstance(tool, dict) else {}
        name = named.get("name") if isinstance(named, dict) else None
        if isinstance(name, str) and name.strip():
            told = named.get("description")
            description = " ".join(told.split()) if isinstance(told, str) else ""
            found.append(ToolDescriptor(name=name, description=description, origin=Origin.IMPORT))
    return tuple(found)
