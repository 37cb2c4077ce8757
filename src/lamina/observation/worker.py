"""Takes turns at sessions in the background: several at once, in the order they asked, never twice the same.

A trigger returns at once. Triggers of one session coalesce: one that waits waits once, and one that comes during a turn
is remembered for another. A session with more to do goes to the end of the queue after each turn, so that nobody
starves. The queue is in memory and may be full, stopped or lost; a sweep over stored state finds again what it dropped,
at the start and every now and then.
"""

import logging
from collections import OrderedDict
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from lamina.errors import LaminaError
from lamina.kernel.background import DropLog
from lamina.observation.pipeline import Pipeline, Turn
from lamina.observation.sweep import DueSession, due_sessions
from lamina.session.types import Appended

_log = logging.getLogger("lamina.observation")
_PAGE = 256
_HINTS = 4096
_BLOCKED_SHARE = 16
Key = tuple[str, str]
"""A tenant and a session's key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hint:
    """What a turn saw of a session, to spare turns; the worst that a stale one costs is the time to the next sweep."""

    total_tokens: int
    observed_tokens: int
    blocked: bool
    """Nothing could be taken, although there was enough."""


class ObservationWorker:
    """A bounded queue of sessions and the tasks that serve it. Call its methods on one event loop."""

    def __init__(self, pipeline: Pipeline) -> None:
        desk = self._desk = pipeline.desk
        self._pipeline = pipeline
        self._settings = desk.settings
        self._queue: OrderedDict[Key, None] = OrderedDict()
        self._running: set[Key] = set()
        self._again: set[Key] = set()
        self._hints: OrderedDict[Key, _Hint] = OrderedDict()
        self._drops = DropLog("observation", desk.clock)
        self._changed = anyio.Event()
        self._ended = anyio.Event()
        self._scope: anyio.CancelScope | None = None
        self._pause: anyio.CancelScope | None = None
        self._stopping = False
        self.dropped_count = 0
        """Triggers refused because the queue was full or the worker was stopping."""
        self.failed_count = 0
        """Turns that the store failed."""
        self.turn_count = 0
        """Turns that ended, well or badly."""

    @property
    def pending_count(self) -> int:
        """Sessions that wait for a turn or have one."""
        return len(self._queue.keys() | self._running)

    def pending_sessions(self, tenant: str) -> list[str]:
        """The keys of a tenant's sessions that wait for a turn or have one."""
        return [key for of, key in (*self._running, *self._queue) if of == tenant]

    def trigger(self, tenant: str, session_key: str) -> bool:
        """Ask for a turn and return at once; False when that was dropped and a sweep has to find the session."""
        key = (tenant, session_key)
        if key in self._queue and not self._stopping:
            return True
        if key in self._running and not self._stopping:
            self._again.add(key)
            return True
        if self._stopping or len(self._queue) >= self._settings.queue_capacity:
            self.dropped_count += 1
            self._drops.warn(f"session {session_key} of {tenant}", self.dropped_count)
            self._desk.metrics.background_dropped("observation")
            return False
        self._queue[key] = None
        self._notify()
        return True

    def appended(self, what: Appended) -> None:
        """Hear of new messages: ask for a turn where enough of them may be unobserved. One subtraction, no query."""
        hint = self._hints.get((what.tenant, what.session_key))
        if hint is None or self._is_worth(what.total_tokens, hint):
            self.trigger(what.tenant, what.session_key)

    async def run_now(self, tenant: str, session_key: str, *, force: bool) -> Turn:
        """One turn in the caller's own task, after the one that the session may be having; it waits for no failure."""
        key = (tenant, session_key)
        while key in self._running:
            await self._changed.wait()
        self._queue.pop(key, None)
        self._running.add(key)
        try:
            turn = await self._pipeline.turn(tenant, session_key, force=force, patient=False)
            self._learn(key, turn)
            return turn
        finally:
            self._done(key)

    async def drain(self) -> None:
        """Wait until every session that asked has had its turns."""
        while self.pending_count and not self._ended.is_set():
            await self._changed.wait()

    async def sweep(self) -> int:
        """Queue every session that stored state says is due, waiting for room rather than dropping; how many."""
        found, after = 0, -1
        while not self._stopping and (page := await self._due(after)):
            after = page[-1].row
            for one in page:
                hint = self._hints.get((one.tenant, one.key))
                if one.unsettled or hint is None or not hint.blocked or hint.total_tokens != one.total_tokens:
                    found += await self._put((one.tenant, one.key))
        return found

    async def _due(self, after: int) -> list[DueSession]:
        return await self._desk.database.read(lambda link: due_sessions(link, self._desk, after=after, limit=_PAGE))

    def start(self, task_group: TaskGroup) -> None:
        """Begin to work in the given group; call `stop` before the group ends. Raises RuntimeError twice."""
        if self._scope is not None:
            raise RuntimeError("the observation worker was started before")
        self._scope = anyio.CancelScope()
        task_group.start_soon(self._run, name="lamina observation")

    async def stop(self, deadline_s: float) -> int:
        """Refuse triggers, let running turns finish their step for `deadline_s` seconds of real time, then give up.

        Returns the number of sessions left; their work is found again from stored state.
        """
        self._stopping = True
        if self._pause is not None:
            self._pause.cancel()
        self._notify()
        left = self.pending_count
        if self._scope is not None:
            # Shielded, because a shutdown that was itself cancelled still has to leave things in order.
            with anyio.move_on_after(deadline_s, shield=True):
                await self._ended.wait()
            self._scope.cancel()
            with anyio.CancelScope(shield=True):
                await self._ended.wait()
        self._drops.flush()
        if left:
            _log.info("observation stopped; %d sessions are left for the next start", len(self._queue))
        return len(self._queue)

    async def _run(self) -> None:
        assert self._scope is not None
        try:
            with self._scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._sweep_again)
                    for _ in range(self._settings.concurrency):
                        group.start_soon(self._serve)
        finally:
            self._ended.set()
            self._notify()

    async def _serve(self) -> None:
        while not self._stopping:
            if not self._queue:
                await self._changed.wait()
                continue
            key = self._queue.popitem(last=False)[0]
            if key in self._running:
                self._again.add(key)
                continue
            self._running.add(key)
            self._notify()
            try:
                await self._take_turn(key)
            finally:
                self._done(key)

    async def _take_turn(self, key: Key) -> None:
        try:
            turn = await self._pipeline.turn(*key, stopping=lambda: self._stopping)
        except LaminaError as error:
            # The store failed, or was closed under us: whatever is due is still due, and found again.
            self.failed_count += 1
            self._desk.metrics.observation_failed("store", error.code)
            _log.warning("a turn at session %s failed: %s", key[1], error.message)
        except Exception:  # noqa: BLE001 -- isolation: one bad session must not end the turns of all others
            self.failed_count += 1
            _log.exception("a turn at session %s failed", key[1])
        else:
            self._learn(key, turn)
            if turn.more:
                self._again.add(key)
        self.turn_count += 1

    def _done(self, key: Key) -> None:
        self._running.discard(key)
        if key in self._again:
            self._again.discard(key)
            if not self._stopping:  # a session that is being served has its place: it is never dropped
                self._queue[key] = None
        self._notify()

    async def _sweep_again(self) -> None:
        while True:
            try:
                await self.sweep()
            except LaminaError as error:
                _log.warning("the search for sessions to observe failed: %s", error.message)
            if self._stopping or not self._settings.sweep_interval_s:
                return
            with anyio.CancelScope() as self._pause:
                await self._desk.clock.idle(self._settings.sweep_interval_s)
            self._pause = None

    async def _put(self, key: Key) -> bool:
        while len(self._queue) >= self._settings.queue_capacity and key not in self._queue:
            if self._stopping:
                return False
            await self._changed.wait()
        return not self._stopping and self.trigger(*key)

    def _learn(self, key: Key, turn: Turn) -> None:
        if turn.absent:
            self._hints.pop(key, None)
            return
        self._hints[key] = _Hint(
            total_tokens=turn.total_tokens, observed_tokens=turn.observed_tokens, blocked=turn.blocked
        )
        self._hints.move_to_end(key)
        while len(self._hints) > _HINTS:
            self._hints.popitem(last=False)

    def _is_worth(self, total_tokens: int, hint: _Hint) -> bool:
        """Whether a turn may find something; after one that could take nothing, the wait grows with what waits."""
        if total_tokens < hint.total_tokens:
            return True  # another session of the same name
        pending = total_tokens - hint.observed_tokens
        if pending <= self._settings.message_token_threshold + self._settings.retained_tail_tokens:
            return False
        return not hint.blocked or total_tokens - hint.total_tokens >= pending // _BLOCKED_SHARE

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
        self._desk.metrics.observation_pending(self.pending_count)
