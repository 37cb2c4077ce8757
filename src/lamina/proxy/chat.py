"""The form of /v1/chat/completions. Pure."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from lamina.endpoint.settings import Placement
from lamina.proxy.form import Body, ChatMessage
from lamina.proxy.incoming import INSTRUCTIONS, text_of_content


class ChatForm:
    """Conversations as lists of messages, answers as choices."""

    def messages(self, body: Body) -> Sequence[ChatMessage] | None:
        """The messages of the body."""
        found = body.get("messages")
        whole = isinstance(found, list) and all(isinstance(one, dict) for one in found)
        return found if whole and found else None

    def instructions(self, body: Body) -> str:
        """The text of the first message of instructions."""
        place = _instructions_place(body["messages"])
        return "" if place is None else text_of_content(body["messages"][place].get("content"))

    def extended(self, body: Body, addition: str, placement: Placement) -> Body:
        """With context at the end of the instructions, or in a message before the user's latest one."""
        messages = list(body["messages"])
        if placement == "turn":
            messages.insert(_turn_place(messages), {"role": "user", "content": addition})
            return {**body, "messages": messages}
        place = _instructions_place(messages)
        if place is None:
            messages.insert(0, {"role": "system", "content": addition})
        else:
            messages[place] = {**messages[place], "content": _extended(messages[place].get("content"), addition)}
        return {**body, "messages": messages}

    def without(self, body: Body, places: AbstractSet[int]) -> Body:
        """Without the messages at these places."""
        return {**body, "messages": [one for place, one in enumerate(body["messages"]) if place not in places]}

    def reader(self) -> "ChatReader":
        """A reader of the first choice."""
        return ChatReader()


class ChatReader:
    """Puts the first choice of an answer together."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.finished = False
        self._role = "assistant"
        self._texts: dict[str, list[str]] = {"content": [], "refusal": []}
        self._calls: dict[int, dict[str, Any]] = {}
        self._message: ChatMessage | None = None

    def heard(self, event: Mapping[str, Any]) -> None:
        """A chunk."""
        for choice in _dicts(event.get("choices")):
            if choice.get("index", 0) != 0:
                continue
            delta = choice.get("delta")
            if isinstance(delta, dict):
                self._add(delta)
            if choice.get("finish_reason") is not None:
                self.finished = True

    def whole(self, body: Mapping[str, Any]) -> None:
        """A completion."""
        for choice in _dicts(body.get("choices")):
            message = choice.get("message")
            if choice.get("index", 0) == 0 and isinstance(message, dict):
                self._message, self.finished = message, True
                return

    def messages(self) -> list[ChatMessage]:
        """The assistant's message; none where nothing was said."""
        if self._message is not None:
            return [{**self._message, "role": "assistant"}]
        said = {name: "".join(pieces) for name, pieces in self._texts.items() if pieces}
        calls = [self._calls[at] for at in sorted(self._calls)] if self.finished else []
        return [{"role": "assistant", **said, "tool_calls": calls}] if said or calls else []

    def _add(self, delta: Mapping[str, Any]) -> None:
        for name, pieces in self._texts.items():
            piece = delta.get(name)
            if isinstance(piece, str) and piece:
                pieces.append(piece)
        for number, call in enumerate(_dicts(delta.get("tool_calls"))):
            at = call.get("index", number)
            if isinstance(at, int):
                self._add_call(self._calls.setdefault(at, {"function": {"name": "", "arguments": ""}}), call)

    def _add_call(self, known: dict[str, Any], piece: Mapping[str, Any]) -> None:
        if isinstance(id := piece.get("id"), str) and id:
            known["id"] = id
        function = piece.get("function")
        for name, more in function.items() if isinstance(function, dict) else ():
            if name in ("name", "arguments") and isinstance(more, str):
                known["function"][name] += more


def _instructions_place(messages: Sequence[ChatMessage]) -> int | None:
    return next((place for place, one in enumerate(messages) if one.get("role") in INSTRUCTIONS), None)


def _turn_place(messages: Sequence[ChatMessage]) -> int:
    """Just before the user's latest message; at the end where there is none."""
    places = [place for place, one in enumerate(messages) if one.get("role") == "user"]
    return places[-1] if places else len(messages)


def _extended(content: object, addition: str) -> object:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": addition}]
    return f"{content}\n\n{addition}" if isinstance(content, str) and content else addition


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
