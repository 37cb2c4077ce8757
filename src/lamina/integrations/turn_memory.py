"""What every framework needs of a turn: instructions with context in them, and a conversation that is stored once.

Neither can fail a turn: what goes wrong or takes too long is counted and logged, and the turn goes on without it.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

from lamina.app import App
from lamina.context.adapter import ContextAdapter, Message
from lamina.context.receipt import Prompt
from lamina.errors import LaminaError, OperationTimeoutError, SessionNotFoundError
from lamina.integrations.attached import Work, attach
from lamina.memory.types import Identifiers
from lamina.session.fitting import append_what_fits
from lamina.session.types import NewMessage

_log = logging.getLogger("lamina.integrations")
_MOST_SESSIONS: Final = 1024
_MOST_IDS: Final = 4096
_BATCH: Final = 500
T = TypeVar("T")


class TurnMemory:
    """The turns of one framework on one app; an app that is not open is opened by the first of them."""

    def __init__(self, app: App | str | Path, *, recording: str) -> None:
        """`recording` is the operation that messages count as which could not be stored."""
        self.attached = attach(app)
        self._recording = recording
        self._stored: OrderedDict[str, OrderedDict[str, int]] = OrderedDict()
        """Sequence numbers of recent messages by their ids, 0 for one that was refused; by session."""

    async def instructions(
        self, base: str, query: str, *, session_key: str | None, identifiers: Identifiers | None = None
    ) -> str:
        """The instructions with context for what the user said, or as they are."""
        prompt = await self.prompt(base, query, session_key=session_key, identifiers=identifiers)
        return base if prompt is None else prompt.text.lstrip("\n")

    async def prompt(
        self, base: str, query: str, *, session_key: str | None, identifiers: Identifiers | None = None
    ) -> Prompt | None:
        """The same with its receipt; None where there is no context."""

        async def work(app: App) -> Prompt | None:
            adapter = ContextAdapter(context=app.context, identifiers=identifiers or Identifiers())
            return await adapter.augment(base, [Message(role="user", text=query)], session_key=session_key)

        return await self._guarded("context_turn", work, None)

    async def record(
        self, messages: Sequence[NewMessage], *, session_key: str | None, user_id: str | None = None
    ) -> None:
        """Store those that are not stored yet; every message has an id, which stays the same when it is sent again."""
        if session_key is None or not messages:
            return
        known = self._known(session_key)
        new = [one for one in messages if one.id not in known]

        async def work(app: App) -> None:
            for start in range(0, len(new), _BATCH):
                batch = new[start : start + _BATCH]
                stored = await append_what_fits(
                    app.sessions,
                    batch,
                    session_key=session_key,
                    user_id=user_id,
                    refused=lambda code: self._failed(self._recording, code),
                )
                for one, message in zip(batch, stored, strict=True):
                    known[str(one.id)] = 0 if message is None else message.sequence

        if new:
            await self._guarded(self._recording, work, None)
        while len(known) > max(_MOST_IDS, len(messages)):
            known.popitem(last=False)

    async def noted(self, ids: Sequence[str], *, session_key: str | None) -> int:
        """How many of the first messages of a history, given by their ids, the notes of the session stand for."""
        known = None if session_key is None else self._stored.get(session_key)
        if session_key is None or not known:
            return 0

        async def work(app: App) -> int:
            try:
                return (await app.sessions.get(session_key)).archived_count
            except SessionNotFoundError:
                return 0

        archived = await self._guarded(self._recording, work, 0)
        count = 0
        while count < len(ids) and 0 < known.get(ids[count], 0) <= archived:
            count += 1
        return count

    def _known(self, session_key: str) -> OrderedDict[str, int]:
        known = self._stored.setdefault(session_key, OrderedDict())
        self._stored.move_to_end(session_key)
        while len(self._stored) > _MOST_SESSIONS:
            self._stored.popitem(last=False)
        return known

    async def _guarded(self, operation: str, work: Work[T], otherwise: T) -> T:
        try:
            # Twice the deadline: within its own, context gives up by itself.
            async with asyncio.timeout(2 * self.attached.app.settings.context.turn_deadline_s or None):
                return await self.attached.run(work)
        except TimeoutError:
            code = OperationTimeoutError.code
        except Exception as error:  # noqa: BLE001 -- isolation: a turn must not fail because its memory did
            code = error.code if isinstance(error, LaminaError) else type(error).__name__
        self._failed(operation, code)
        return otherwise

    def _failed(self, operation: str, code: str) -> None:
        self.attached.app.metrics.operation_failed(operation, code)
        _log.warning("a turn went on without its memory (%s): %s", operation, code)
