"""Conversations of the story: what was said in them, and what the tools in them did."""

import builtins
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from lamina.demo.story import ASSISTANT
from lamina.kernel.clock import ManualClock
from lamina.session.types import NewMessage, Role, ToolCall, ToolResult

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.learning.types import Learning

_PAUSE_S = 45.0
"""Between two lines of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Talking:
    """Has the conversations, through the same verbs that an agent's program uses."""

    app: "App"
    clock: ManualClock
    _calls: "count[int]" = field(default_factory=lambda: count(1))

    async def talk(self, session: str, user: str, lines: list[Mapping[str, Any]]) -> None:
        """One conversation to its end, then notes on it as far as they are due."""
        for line in lines:
            ((who, said),) = line.items()
            match who:
                case "tool":
                    await self.append(session, user, *await self.use_tool(session, said))
                case "learned":
                    await self.learn(session, said)
                case "outcome":
                    await self.outcome(said, session)
                case "run":
                    await self.app.skills.run(said["skill"], said["with"])
                case _:
                    await self.append(session, user, _said(who, said))
            self.clock.advance(_PAUSE_S)
        await self.app.learning.drain()
        await self.app.observation.observe_now(session)

    async def append(self, session: str, user: str, *messages: NewMessage) -> None:
        """Add messages to a conversation."""
        await self.app.sessions.append_many(messages, session_key=session, user_id=user)

    async def use_tool(self, session: str, used: Mapping[str, Any]) -> tuple[NewMessage, NewMessage]:
        """Call a tool that is watched; the messages of the call and of its result."""
        failed = used.get("error")

        async def tool(**_: object) -> str:
            if failed is not None:
                raise raised(failed)
            return str(used["result"])

        watched = self.app.learning.wrap(tool, name=used["name"])
        with self.app.session(session):
            try:
                result = await watched(**used["with"])
            except Exception as error:  # noqa: BLE001 -- boundary: the tool fails in the story, not in the program
                result = f"{type(error).__name__}: {error}"
        await self.app.learning.drain()  # what the next line learns or counts rests on this call
        call = ToolCall(id=f"call-{next(self._calls)}", name=used["name"], arguments=json.dumps(used["with"]))
        answer = ToolResult(call_id=call.id, content=result, name=call.name, is_error=failed is not None)
        return NewMessage(role=Role.ASSISTANT, parts=(call,)), NewMessage(role=Role.TOOL, parts=(answer,))

    async def learn(self, session: str, learned: Mapping[str, Any]) -> None:
        """Keep what helped against an error."""
        await self.app.learning.save(
            learned["fix"],
            tool=learned["tool"],
            error=raised(learned["error"]),
            diagnosis=learned["diagnosis"],
            session_key=session,
        )

    async def outcome(self, told: Mapping[str, Any], session: str | None = None) -> None:
        """Count whether the known fix of a tool helped."""
        known: Learning = (await self.app.learning.list(tool=told["tool"], has_fix=True, limit=1)).learnings[0]
        await self.app.learning.record_outcome(known.id, success=told["success"], session_key=session)


def raised(text: str) -> Exception:
    """The error that a text such as `ValueError: it is empty` describes."""
    name, _, message = text.partition(": ")
    kind: type[Exception] = getattr(builtins, name)
    return kind(message)


def _said(who: str, text: str) -> NewMessage:
    if who == ASSISTANT:
        return NewMessage(role=Role.ASSISTANT, content=text, author=ASSISTANT)
    return NewMessage(role=Role.USER, content=text, author=who)
