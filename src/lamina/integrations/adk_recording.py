"""Keeps the conversations of the store in step with ADK's sessions, in the background.

ADK's events are the truth and have ids, so what is stored is whatever is in the session and not in the store yet: each
event once, in order, also after a retry, a resume, a failed write or a crash, and for sessions that are older than
Lamina. A turn never waits for it before it answers.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from google.adk.events.event import Event
from google.adk.sessions.session import Session

from lamina.app import App
from lamina.errors import LaminaError, OperationTimeoutError, SessionNotFoundError
from lamina.integrations.adk_messages import message_of
from lamina.integrations.attached import AttachedApp
from lamina.session.fitting import append_what_fits
from lamina.session.types import NewMessage

_log = logging.getLogger("lamina.integrations.adk")
_OPERATION: Final = "adk_record"
_MOST_SESSIONS = 4096
_LOOK_BACK = 200
_BATCH = 500


@dataclass(slots=True)
class _Progress:
    """How far a session is stored, as this process knows it."""

    stored: str | None = None
    """The id of the newest event that is stored."""
    missed: set[str] = field(default_factory=set)
    """The ids of events whose turn ended before they could be stored."""
    failed: dict[str, NewMessage] = field(default_factory=dict)
    """Results of calls that failed, by the call's id, for those that nobody answers."""


class Recorder:
    """Records the sessions of one app."""

    def __init__(self, attached: AttachedApp) -> None:
        self.attached = attached
        self.progress: OrderedDict[str, _Progress] = OrderedDict()
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self, key: str, session: Session) -> "Recording":
        """The recording of one invocation."""
        return Recording(self, key, session)

    def note(self, key: str) -> _Progress:
        """What is known of a session, to be changed."""
        known = self.progress.setdefault(key, _Progress())
        self.progress.move_to_end(key)
        while len(self.progress) > _MOST_SESSIONS:
            self.progress.popitem(last=False)
        return known

    async def settle(self, deadline_s: float | None) -> None:
        """Wait until what was begun is stored, or the time is over."""
        running = [task for task in self.tasks if task.get_loop() is asyncio.get_running_loop()]
        if running:
            await asyncio.wait(running, timeout=deadline_s)


class Recording:
    """Stores the events of one invocation's session as they come."""

    def __init__(self, recorder: Recorder, key: str, session: Session) -> None:
        self._recorder = recorder
        self._key = key
        self._session = session
        self._started = False
        self._stored: str | None = None
        self._settling = True
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Store what is new, in the background; returns at once."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="lamina adk recording")
            self._recorder.tasks.add(self._task)
            self._task.add_done_callback(self._recorder.tasks.discard)

    def fail(self, call_id: str, result: NewMessage) -> None:
        """Store a result for a call that failed, unless the invocation goes on and answers it."""
        self._recorder.note(self._key).failed[call_id] = result

    async def finish(self) -> None:
        """Store the rest and wait for it, within the deadline of a turn; what fails is kept for the next turn."""
        app = self._recorder.attached.app
        deadline = app.settings.context.turn_deadline_s or None
        self._settling = True
        for _ in range(2):  # once more for what came while the last of it was being stored
            self.wake()
            assert self._task is not None
            done, _ = await asyncio.wait([self._task], timeout=deadline)
            if not done:
                self._failed(app, OperationTimeoutError.code)
                break
            if not self._pending():
                return
        self._recorder.note(self._key).missed.update(event.id for event in self._pending())

    async def _work(self) -> None:
        app = self._recorder.attached.app
        try:
            await self._recorder.attached.run(self._store)
        except Exception as error:  # noqa: BLE001 -- isolation: a turn must not fail because it could not be stored
            self._failed(app, error.code if isinstance(error, LaminaError) else type(error).__name__)

    async def _store(self, app: App) -> None:
        if not self._started:
            self._stored = await self._start(app)
            self._started = True
        while events := self._pending():
            await self._append(app, list(filter(None, map(message_of, events))))
            self._advance(events)
        if self._settling:
            await self._settle(app)

    def _pending(self) -> Sequence[Event]:
        """The next events that are not stored."""
        events = self._session.events
        start = _place_after(events, self._stored)
        return events[start : start + _BATCH]

    def _advance(self, events: Sequence[Event]) -> None:
        if events:
            self._stored = events[-1].id
            progress = self._recorder.note(self._key)
            progress.stored = self._stored
            progress.missed.difference_update(event.id for event in events)

    async def _settle(self, app: App) -> None:
        """Store what failed calls came to, this turn's at its end, and what a turn that was cancelled left."""
        failed = self._recorder.note(self._key).failed
        for event in self._session.events if failed else ():
            for response in event.get_function_responses():
                failed.pop(response.id or "", None)
        if failed:
            await self._append(app, list(failed.values()))
        failed.clear()
        self._settling = False

    async def _start(self, app: App) -> str | None:
        """The id of the newest event before which nothing is left to be stored; None where nothing is stored."""
        events = self._session.events
        known = self._recorder.progress.get(self._key)
        if known is not None and known.missed:
            missed = next((place for place, event in enumerate(events) if event.id in known.missed), None)
            if missed is not None:
                return events[missed - 1].id if missed else None
        if known is not None and any(event.id == known.stored for event in reversed(events)):
            return known.stored
        if len({event.invocation_id for event in events}) < 2:
            return None  # its first turn: nothing can have been stored before
        stored = await _newest_ids(app, self._key)
        return next((event.id for event in reversed(events) if event.id in stored), None)

    async def _append(self, app: App, messages: Sequence[NewMessage]) -> None:
        await append_what_fits(
            app.sessions,
            messages,
            session_key=self._key,
            user_id=self._session.user_id,
            refused=lambda code: self._failed(app, code),
        )

    def _failed(self, app: App, code: str) -> None:
        app.metrics.operation_failed(_OPERATION, code)
        _log.warning("what was said in a session was not stored: %s", code)


async def _newest_ids(app: App, key: str) -> set[str]:
    try:
        session = await app.sessions.get(key)
    except SessionNotFoundError:
        return set()
    count = min(_LOOK_BACK, app.settings.session.max_limit)
    after = max(0, session.last_sequence - count)
    newest = await app.sessions.messages(key, after=after, limit=count, archived=None)
    return {message.id for message in newest}


def _place_after(events: Sequence[Event], id: str | None) -> int:
    """Where the events after the one with this id begin: the whole list where it is not among them."""
    if id is None:
        return 0
    return next((place + 1 for place in range(len(events) - 1, -1, -1) if events[place].id == id), 0)
