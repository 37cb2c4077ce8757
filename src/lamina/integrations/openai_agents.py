"""Lamina for the OpenAI Agents SDK: the extra `openai-agents`.

session = LaminaSession("s1", app, user_id="ann")
agent = Agent(name="helper", instructions=session.instructions("You are kind."))
await Runner.run(agent, "how do I deploy?", session=session)
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from lamina.app import App
from lamina.errors import ConfigurationError, InvalidInputError, SessionNotFoundError
from lamina.integrations.turn_memory import TurnMemory
from lamina.kernel.ids import new_id
from lamina.kernel.text import mended
from lamina.memory.types import Identifiers
from lamina.session.types import Attachment, Message, NewMessage, Part, Role, ToolCall, ToolResult

try:
    from agents import Agent, RunContextWrapper, TResponseInputItem
    from agents.memory import SessionSettings
except ImportError as missing:
    raise ConfigurationError(
        "Sessions of the OpenAI Agents SDK need its package: pip install 'lamina[openai-agents]'"
    ) from missing

Instructions = Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]
"""What an agent of the SDK takes as its instructions."""

_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}
_FILES: Final = {"input_image": "image/*", "input_audio": "audio/*", "input_file": "application/octet-stream"}
_ARGUMENTS: Final = ("arguments", "input", "action", "operation", "code", "queries")
_TAKEN_BACK: Final = "taken-back:"
_LONGEST_NAME: Final = 1024
_PAGE: Final = 200


class LaminaSession:
    """A conversation of the SDK in Lamina's store. Items come back exactly as they went in.

    The store only ever grows, so an item that is popped stays where it is, marked as taken back.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        app: App | str | Path,
        *,
        user_id: str | None = None,
        identifiers: Identifiers | None = None,
        leave_out_noted: bool = False,
        session_settings: SessionSettings | None = None,
    ) -> None:
        """The session `session_id` is also its key in the store, and `user_id` whose it is.

        `identifiers` say whose memories enter instructions, the user's by default. With `leave_out_noted` items that
        the notes of the session stand for are not given back: use it together with `instructions`, which hold the
        notes. `session_settings` has the limit of the SDK.
        """
        self.session_id = session_id
        self.session_settings = session_settings
        self._user = user_id
        self._identifiers = identifiers or Identifiers(user_id=user_id)
        self._leave_out_noted = leave_out_noted
        self._memory = TurnMemory(app, recording="openai_agents_record")

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest items, or all, oldest first. Raises what the store raises."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        found = await self._memory.attached.run(lambda app: self._items(app, limit))
        return [item for _, _, item in reversed(found)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items, all or none. Raises InvalidInputError for one that is no JSON, and what the store raises."""
        new = [message_of(cast(Mapping[str, Any], item)) for item in items]
        await self._memory.attached.run(
            lambda app: app.sessions.append_many(new, session_key=self.session_id, user_id=self._user)
        )

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item back; None where there is none. Raises what the store raises."""

        async def work(app: App) -> TResponseInputItem | None:
            while newest := await self._items(app, 1):
                place, message, item = newest[0]
                mark = _taken_back(place, message)
                stored = await app.sessions.append_many([mark], session_key=self.session_id)
                if stored[0].original == mark.original:  # else somebody took it back in the meantime
                    return item
            return None

        return await self._memory.attached.run(work)

    async def clear_session(self) -> None:
        """Remove the session with everything that was derived from it, its notes too."""

        async def work(app: App) -> None:
            with suppress(SessionNotFoundError):
                await app.sessions.delete(self.session_id)

        await self._memory.attached.run(work)

    def instructions(self, base: str | Callable[[RunContextWrapper[Any], Agent[Any]], Any] = "") -> Instructions:
        """Instructions for an agent: the given ones, and context for what the user said last.

        Context that fails or is late is counted and left out.
        """

        async def augmented(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
            given = base(context, agent) if callable(base) else base
            text = str(await given if inspect.isawaitable(given) else given)
            query = _latest_of_user(cast(Sequence[Mapping[str, Any]], context.turn_input))
            return await self._memory.instructions(
                text, query, session_key=self.session_id, identifiers=self._identifiers
            )

        return augmented

    async def close(self) -> None:
        """Close the app, unless its owner opened it."""
        await self._memory.attached.close()

    async def _items(self, app: App, limit: int | None) -> list[tuple[str, Message, TResponseInputItem]]:
        """The newest items with their places and messages, newest first."""
        try:
            session = await app.sessions.get(self.session_id)
        except SessionNotFoundError:
            return []
        found: list[tuple[str, Message, TResponseInputItem]] = []
        taken: set[str] = set()
        first, end = session.archived_count if self._leave_out_noted else 0, session.last_sequence
        while end > first and (limit is None or len(found) < limit):
            start = max(first, end - min(_PAGE, app.settings.session.max_limit))
            page = await app.sessions.messages(self.session_id, after=start, limit=end - start, archived=None)
            for message in reversed(page):
                if message.id.startswith(_TAKEN_BACK):
                    taken.add(message.id.removeprefix(_TAKEN_BACK))
                    continue
                items = [(f"{message.sequence}.{number}", item) for number, item in enumerate(items_of(message))]
                found += [(place, message, item) for place, item in reversed(items) if place not in taken]
            end = start
        return found if limit is None else found[: max(limit, 0)]


def message_of(item: Mapping[str, Any]) -> NewMessage:
    """An item as a message, with its original unless the message says it all. Raises InvalidInputError."""
    try:
        original = json.dumps(item)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError("An item must be a JSON object.", details={"field": "items"}) from error
    if not isinstance(item, Mapping):
        raise InvalidInputError("An item must be a JSON object.", details={"field": "items"})
    message = _message(item)
    exact = [json.dumps(one) for one in items_of(message)] == [original]
    return message if exact else replace(message, original=original)


def items_of(message: NewMessage | Message) -> list[TResponseInputItem]:
    """The items of a message: the one it came from, or those that say what a message of another door says."""
    if message.original is not None:
        return [json.loads(message.original)]
    items: list[Any] = [
        {"type": "function_call_output", "call_id": one.call_id, "output": one.content}
        for one in message.parts
        if isinstance(one, ToolResult)
    ]
    if message.content:
        role = "user" if message.role is Role.TOOL else message.role.value
        items.append({"role": role, "content": message.content})
    items += [
        {"type": "function_call", "call_id": one.id, "name": one.name, "arguments": one.arguments}
        for one in message.parts
        if isinstance(one, ToolCall)
    ]
    return items


def _message(item: Mapping[str, Any]) -> NewMessage:
    """What of an item others can use: words, calls and results. Thoughts and the like stay in the original."""
    kind, role = str(item.get("type")), _ROLES.get(str(item.get("role")))
    if role is not None:
        content = item.get("content")
        return NewMessage(role=role, content=mended(_text(content)), parts=tuple(_attachments(content)))
    if kind.endswith("_output") and item.get("call_id"):
        result = ToolResult(call_id=_name(item["call_id"]), content=mended(_text(item.get("output"))))
        return NewMessage(role=Role.TOOL, parts=(result,))
    if kind.endswith("_call"):
        return NewMessage(role=Role.ASSISTANT, parts=tuple(_called(item, kind)))
    return NewMessage(role=Role.ASSISTANT)


def _called(item: Mapping[str, Any], kind: str) -> Iterator[Part]:
    """A call; one without a `call_id` is a call that the provider has carried out, and nobody will answer it."""
    given: object = next((item[name] for name in _ARGUMENTS if item.get(name) is not None), {})
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    id = _name(item.get("call_id") or item.get("id") or kind)
    yield ToolCall(id=id, name=_name(item.get("name") or kind), arguments=mended(arguments))
    if not item.get("call_id"):
        told = item.get("output") or item.get("error") or item.get("status") or ""
        yield ToolResult(call_id=id, content=mended(_text(told)), is_error=bool(item.get("error")))


def _text(content: object) -> str:
    """The words of a content in any of its forms: a text, a list of parts, or something else that is told as JSON."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    parts = (part for part in content if isinstance(part, Mapping))
    texts = (part.get("text") or part.get("refusal") or part.get("transcript") for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _attachments(content: object) -> Iterator[Attachment]:
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") in _FILES:
            name = part.get("filename") or part.get("file_id") or part.get("file_url") or ""
            yield Attachment(media_type=_FILES[str(part["type"])], name=mended(str(name)))


def _latest_of_user(items: Sequence[Mapping[str, Any]]) -> str:
    said = (_text(one.get("content")) for one in reversed(items) if one.get("role") == "user")
    return next((text for text in said if text.strip()), "")


def _taken_back(place: str, message: Message) -> NewMessage:
    """The mark that takes an item back; it answers calls, which would wait for their results for ever."""
    return NewMessage(
        role=Role.TOOL if message.calls else Role.SYSTEM,
        content=f"Message {message.sequence} was taken back.",
        parts=tuple(
            ToolResult(call_id=call.id, name=call.name, content="(taken back)", is_error=True) for call in message.calls
        ),
        id=f"{_TAKEN_BACK}{place}",
        original=new_id(),
    )


def _name(value: object) -> str:
    return mended(str(value))[:_LONGEST_NAME]
