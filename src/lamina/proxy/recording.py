"""Keeps the store in step with what clients send, in the background: each message once, in order.

A turn never waits for it. What could not be stored is stored with the next turn, because the client sends it again.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lamina.app import App
from lamina.errors import LaminaError, SessionNotFoundError
from lamina.house.tenant import Tenant
from lamina.kernel.retry import retry
from lamina.proxy.caller import Caller
from lamina.proxy.history import History, Known, Placed, chained, known_from
from lamina.proxy.incoming import Said
from lamina.session.fitting import append_what_fits
from lamina.session.types import Message, NewMessage, Role

_log = logging.getLogger("lamina.proxy")
OPERATION: Final = "proxy_record"
"""What failures of storing are counted as."""
CUT_OFF: Final = "[cut off here]"
"""What stands at the end of an answer that did not come whole."""
_MOST_SESSIONS: Final = 1024
_MOST_WAITING: Final = 1024
_LOOK_BACK: Final = 256
_BATCH: Final = 500


@dataclass(slots=True)
class Record:
    """What this process knows of a session."""

    history: History = field(default_factory=History)
    user_id: str | None = None
    """Whose session it is; None where nobody said so."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by whoever stores."""


class Recorder:
    """Records the sessions of one tenant."""

    def __init__(self, app: App, rooms: Tenant) -> None:
        self.app = app
        self.rooms = rooms
        self._records: OrderedDict[str, asyncio.Future[Record]] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns: set[asyncio.Future[None]] = set()

    async def record(self, key: str) -> Record:
        """What is known of a session, read from the store at the first time. Raises what the store raises."""
        known = self._records.get(key)
        if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
            known = self._records[key] = asyncio.ensure_future(self._read(key))
        self._records.move_to_end(key)
        while len(self._records) > _MOST_SESSIONS:
            self._records.popitem(last=False)
        # Shielded: a turn that gives up does not stop the reading that others wait for.
        return await asyncio.shield(known)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Work in the background; what goes wrong is counted. Too much of it is dropped, and counted too."""
        if len(self._tasks) >= _MOST_WAITING:
            work.close()
            self.app.metrics.background_dropped(OPERATION)
            return
        task = asyncio.ensure_future(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def open(self) -> "asyncio.Future[None]":
        """Begin a turn; it lasts until the future has a result."""
        turn = asyncio.get_running_loop().create_future()
        self._turns.add(turn)
        turn.add_done_callback(self._turns.discard)
        return turn

    async def settle(self, deadline_s: float | None = None) -> None:
        """Wait until the turns under way have ended and are stored, or the time is over; the rest counts as failed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                while self._turns or self._tasks:
                    await asyncio.wait((*self._turns, *self._tasks), return_when=asyncio.FIRST_COMPLETED)
        for task in tuple(self._tasks):
            task.cancel()
            self.failed("CANCELLED")

    def failed(self, code: str) -> None:
        """Count something that was not stored."""
        self.app.metrics.operation_failed(OPERATION, code)
        _log.warning("what was said in a session was not stored: %s", code)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 -- isolation: nobody waits for it, and the next turn repeats it
            self.failed(error.code if isinstance(error, LaminaError) else type(error).__name__)

    async def _read(self, key: str) -> Record:
        sessions = self.rooms.sessions
        try:
            session = await sessions.get(key)
        except SessionNotFoundError:
            return Record()
        count = min(_LOOK_BACK, self.app.settings.session.max_limit)
        newest = await sessions.messages(key, after=max(0, session.last_sequence - count), limit=count, archived=None)
        known = [one for message in newest if (one := known_from(message.id, message.sequence)) is not None]
        last = newest[-1] if newest else None
        answered = last is not None and last.role is Role.ASSISTANT and not last.content.endswith(CUT_OFF)
        history = History(path=known, chains={one.chain: one for one in known}, answered=answered)
        return Record(history=history, user_id=session.user_id)


class Recording:
    """Stores one turn: what the client sent that is new, and then the answer."""

    def __init__(self, recorder: Recorder, caller: Caller, said: Sequence[Said]) -> None:
        assert caller.session_key is not None
        self._recorder = recorder
        self._key = caller.session_key
        self._user = caller.user_id
        self._said = said
        self._alone = caller.named and all(one.message.role is Role.USER for one in said)
        self._turn = recorder.open()
        self._after: Placed | None = None
        """Where the answer belongs, once what was asked is stored."""

    def begin(self) -> None:
        """Store what is new, in the background."""
        self._recorder.start(self._store())

    def end(self, answer: Sequence[Said], *, whole: bool) -> None:
        """Store the answer, as far as it came, after what was asked."""
        if answer:
            self._recorder.start(self._store(answer, whole=whole))
        self._turn.set_result(None)

    async def _store(self, answer: Sequence[Said] = (), *, whole: bool = False) -> None:
        record = await self._recorder.record(self._key)
        async with record.lock:
            if self._after is None:
                placed = record.history.place([one.digest for one in self._said], alone=self._alone)
                messages = [one.message for one in self._said[len(placed.sequences) :]]
                self._after = await self._append(record, placed, messages, answered=False)
            if answer:
                await self._store_answer(record, self._after, answer, whole)

    async def _store_answer(self, record: Record, after: Placed, answer: Sequence[Said], whole: bool) -> None:
        messages = [one.message for one in answer]
        if not whole:
            last = messages[-1]
            messages[-1] = replace(last, content=f"{last.content}\n\n{CUT_OFF}".lstrip())
        digests = [one.digest for one in answer]
        before = after.path[-1].chain if after.path else b""
        new = tuple(
            Known(digest=digest, chain=chain) for digest, chain in zip(digests, chained(before, digests), strict=True)
        )
        await self._append(record, replace(after, new=new), messages, answered=whole)

    async def _append(
        self, record: Record, placed: Placed, messages: Sequence[NewMessage], *, answered: bool
    ) -> Placed:
        """Store messages after a place; the place after them."""
        path, stored = list(placed.path), []
        for start in range(0, len(messages), _BATCH):
            known = placed.new[start : start + _BATCH]
            batch = [
                replace(message, id=one.id)
                for message, one in zip(messages[start : start + _BATCH], known, strict=True)
            ]
            for one, message in zip(known, await self._kept(batch), strict=True):
                if message is not None:
                    stored.append(replace(one, sequence=message.sequence))
        record.history.follow(placed, stored, answered=answered)
        record.user_id = record.user_id or self._user
        chain = placed.new[len(messages) - 1] if messages else None
        if chain is not None and (not stored or stored[-1].chain != chain.chain):
            stored.append(chain)  # refused: what follows still has its place after it
        return Placed(path=(*path, *stored), sequences=(), new=())

    async def _kept(self, batch: Sequence[NewMessage]) -> Sequence[Message | None]:
        recorder = self._recorder
        return await retry(
            lambda: append_what_fits(
                recorder.rooms.sessions, batch, session_key=self._key, user_id=self._user, refused=recorder.failed
            ),
            policy=recorder.app.settings.retry,
            clock=recorder.rooms.sessions.clock,
            on_retry=lambda attempt: recorder.app.metrics.retried(OPERATION, attempt.error.code),
        )
