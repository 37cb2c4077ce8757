"""The form of /v1/responses. Pure."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from lamina.endpoint.settings import Placement
from lamina.proxy.form import Body, ChatMessage

_CALLS: Final = ("function_call", "custom_tool_call")
_RESULTS: Final = ("function_call_output", "custom_tool_call_output")
_ENDED: Final = ("completed", "incomplete")


class ResponsesForm:
    """Conversations as instructions and items of input, answers as items of output."""

    def messages(self, body: Body) -> Sequence[ChatMessage] | None:
        """The instructions first, then a message for each item."""
        items = _items(body)
        if items is None:
            return None
        return [{"role": "system", "content": self.instructions(body)}, *map(_message, items)]

    def instructions(self, body: Body) -> str:
        """The field of that name."""
        told = body.get("instructions")
        return told if isinstance(told, str) else ""

    def extended(self, body: Body, addition: str, placement: Placement) -> Body:
        """With context at the end of the instructions, or in an item before the user's latest one."""
        if placement == "system":
            base = self.instructions(body)
            return {**body, "instructions": f"{base}\n\n{addition}" if base else addition}
        items = list(_items(body) or [])
        places = [place for place, item in enumerate(items) if item.get("role") == "user"]
        items.insert(places[-1] if places else len(items), {"role": "user", "content": addition})
        return {**body, "input": items}

    def without(self, body: Body, places: AbstractSet[int]) -> Body:
        """Without the items at these places, of which the first is that of the instructions."""
        items = _items(body) or []
        return {**body, "input": [item for place, item in enumerate(items, start=1) if place not in places]}

    def reader(self) -> "ResponsesReader":
        """A reader of the items of output."""
        return ResponsesReader()


class ResponsesReader:
    """Takes an answer from the event that ends it, or what was said of it before it was cut off."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.finished = False
        self._pieces: list[str] = []
        self._output: list[ChatMessage] | None = None

    def heard(self, event: Mapping[str, Any]) -> None:
        """One event."""
        if event.get("type") == "response.output_text.delta" and isinstance(piece := event.get("delta"), str):
            self._pieces.append(piece)
        if isinstance(response := event.get("response"), dict):
            self.whole(response)

    def whole(self, body: Mapping[str, Any]) -> None:
        """A response, ended or under way."""
        if isinstance(id := body.get("id"), str):
            self.id = id
        output = body.get("output")
        if body.get("status", "completed") in _ENDED and isinstance(output, list):
            self._output = [_message(item) for item in output if isinstance(item, dict)]
            self.finished = True

    def messages(self) -> list[ChatMessage]:
        """A message for each item; what came so far where there is no end."""
        if self._output is not None:
            return self._output
        return [{"role": "assistant", "content": "".join(self._pieces)}] if self._pieces else []


def _items(body: Body) -> list[dict[str, Any]] | None:
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    whole = isinstance(given, list) and all(isinstance(item, dict) for item in given)
    return given if whole and given else None


def _message(item: Mapping[str, Any]) -> ChatMessage:
    """An item in the form of chat completions; one that says nothing, such as a thought, has no role."""
    kind = item.get("type", "message")
    if kind == "message":
        return {"role": item.get("role"), "content": item.get("content")}
    if kind in _CALLS:
        return {"role": "assistant", "tool_calls": [{"id": item.get("call_id"), "function": item}]}
    if kind in _RESULTS:
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
    return {}
