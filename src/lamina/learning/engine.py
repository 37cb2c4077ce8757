"""The learning engine: takes notes of tool calls from any thread, and learns from them in the background.

A note is queued and the tool goes on. The queue is bounded, drops are counted and logged, and `drain` or the end of
the app waits until everything noted is stored. Whatever goes wrong here is counted and logged, and never reaches a
tool.
"""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import anyio

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.errors import LaminaError, RateLimitedError
from lamina.kernel.background import BatchWorker
from lamina.kernel.clock import Clock
from lamina.knowledge.audit import AuditLog
from lamina.knowledge.settings import KnowledgeSettings
from lamina.knowledge.types import Origin
from lamina.learning.observation import Call, Noted, prepare
from lamina.learning.saving import LearningSaver, slot_of
from lamina.learning.settings import LearningSettings
from lamina.learning.trial import Key, Trials
from lamina.learning.trial_log import OUTCOME, outcome_details
from lamina.learning.types import EngineCounters, Learning
from lamina.learning.writing import Draft, Saved, count_outcomes
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.learning")

_BATCH = 64
_MOST_FAILING = 10_000
_OBSERVE = "learning_observe"

T = TypeVar("T")


class LearningEngine:
    """Learns for every tenant of an open app."""

    def __init__(
        self,
        *,
        database: Database,
        settings: LearningSettings,
        knowledge: KnowledgeSettings,
        clock: Clock,
        metrics: Metrics,
        audit: AuditLog,
        saver: LearningSaver,
    ) -> None:
        self._database = database
        self._settings = settings
        self._knowledge = knowledge
        self._clock = clock
        self._metrics = metrics
        self._audit = audit
        self._saver = saver
        self._steps = itertools.count(1)
        self._inbox: deque[Call] = deque()
        self._waking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker: BatchWorker[Call] | None = None
        self._hosting: asyncio.Task[None] | None = None
        self._failing: set[Key] = set()
        self.trials = Trials(window_s=settings.trial_window_s)
        self._dropped = 0
        self._failed = 0
        self._refused = 0

    @property
    def counters(self) -> EngineCounters:
        """What was done, dropped and missed since the app was opened."""
        worker = self._worker
        return EngineCounters(
            handled_count=worker.handled_count if worker else 0,
            pending_count=len(self._inbox) + (worker.pending_count if worker else 0),
            dropped_count=self._dropped,
            failed_count=self._failed,
            refused_count=self._refused,
        )

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take notes from now on, on this event loop, from any thread. Nothing runs until there is a first note."""
        self._loop = loop

    async def close(self, deadline_s: float) -> None:
        """Learn from what was noted, for at most so many seconds, then stop; idempotent."""
        self._deliver()
        self._loop = None
        if self._worker is not None and self._hosting is not None:
            await asyncio.sleep(0)  # a worker made for these very notes begins with the next turn of the loop
            self._dropped += await self._worker.stop(deadline_s)
            await self._hosting
            self._hosting = None

    def step(self) -> int:
        """A number above every one before it, from any thread."""
        return next(self._steps)

    def wants(self, key: Key) -> bool:
        """Whether a success of a tool in a session has to be noted; from any thread."""
        return self._settings.audit_calls or key in self._failing or self.trials.watches(key)

    def note(self, call: Call) -> None:
        """Queue a note and return at once; from any thread."""
        loop = self._loop
        if loop is None or len(self._inbox) >= self._settings.queue_capacity:
            self._drop()
            return
        if call.status == "error":
            if len(self._failing) >= _MOST_FAILING:
                self._failing.clear()
            self._failing.add((call.tenant, call.session, call.tool))
        self._inbox.append(call)
        if not self._waking:
            self._waking = True
            try:
                loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop ended without closing the app
                self._waking = False
                self._inbox.clear()
                self._drop()

    def broke(self, error: Exception, tool: str) -> None:
        """Count and log that something in here failed; the tool goes on."""
        self._failed += 1
        self._metrics.operation_failed(_OBSERVE, error.code if isinstance(error, LaminaError) else LaminaError.code)
        _log.warning("learning from %s failed (%d so far)", tool, self._failed, exc_info=error)

    async def drain(self) -> None:
        """Wait until everything noted so far is stored."""
        self._deliver()
        if self._worker is not None:
            await self._worker.drain()

    def _drop(self) -> None:
        self._dropped += 1
        self._metrics.background_dropped("learning")
        if self._dropped & (self._dropped - 1) == 0:  # the 1st, 2nd, 4th, 8th ...
            _log.warning("calls of tools were not noted: %d so far", self._dropped)

    def _deliver(self) -> None:
        self._waking = False
        while self._inbox:
            call = self._inbox.popleft()
            if not self._working().submit(call):
                self._dropped += 1

    def _working(self) -> BatchWorker[Call]:
        if self._worker is None:
            self._worker = BatchWorker(
                self._handle,
                name="learning",
                clock=self._clock,
                capacity=max(self._settings.queue_capacity, _BATCH),
                batch_size=_BATCH,
                label=lambda call: f"a call of {call.tool}",
                on_drop=lambda: self._metrics.background_dropped("learning"),
            )
            # A task of its own, because notes come from calls that end long before the app does.
            self._hosting = asyncio.create_task(_host(self._worker), name="lamina learning")
        return self._worker

    async def _handle(self, calls: Sequence[Call]) -> None:
        longest = self._settings.max_text_length
        try:
            noted = await asyncio.to_thread(lambda: [prepare(call, longest=longest) for call in calls])
        except Exception as error:  # noqa: BLE001 -- isolation: the batch is lost, the engine goes on
            for call in calls:
                self.broke(error, call.tool)
            return
        learned = await self._learn(noted)
        await self._settle(noted, learned)
        if self._settings.audit_calls:
            await self._report([self._row(one, learned) for one in noted])

    async def _learn(self, noted: Sequence[Noted]) -> dict[tuple[str, str, str | None], Learning]:
        """Store the errors, each of a tool once with its count; what is known of them now, by identity."""
        drafts: dict[tuple[str, str, str | None], Draft] = {}
        for one in noted:
            if one.pattern is not None:
                draft = self._draft(one)
                known = drafts.get(place := _place(draft, one))
                drafts[place] = draft if known is None else replace(known, seen=known.seen + 1)
        stored = await asyncio.gather(
            *(self._isolated(self._observe(draft, place[2]), draft.tool or "") for place, draft in drafts.items())
        )
        return {place: saved.learning for place, saved in zip(drafts, stored, strict=True) if saved is not None}

    def _draft(self, one: Noted) -> Draft:
        call = one.call
        assert one.category is not None
        return Draft(
            tenant=call.tenant,
            tool=call.tool,
            trigger=f"tool:{call.tool}",
            pattern=one.pattern,
            diagnosis=one.error,
            fix=None,
            category=one.category,
            tags=None,
            origin=Origin.TOOL,
            now=self._clock.now(),
            seen=1,
            slot=slot_of(call.tenant, call.session),
            most=self._knowledge.max_learnings_per_session,
        )

    async def _observe(self, draft: Draft, session: str | None) -> Saved | None:
        try:
            return await self._saver.save(draft, actor="agent", session=session)
        except RateLimitedError as error:
            self._refused += draft.seen
            self._metrics.operation_failed(_OBSERVE, error.code)
            _log.warning("an error of %s was not learned: %s", draft.tool, error.message)
            return None

    async def _isolated(self, work: Awaitable[T], tool: str) -> T | None:
        try:
            return await work
        except Exception as error:  # noqa: BLE001 -- isolation: a store that fails must not end the engine
            self.broke(error, tool)
            return None

    async def _settle(self, noted: Sequence[Noted], learned: dict[tuple[str, str, str | None], Learning]) -> None:
        """Count for and against the fixes that were being tried, in the order of the calls."""
        outcomes: dict[tuple[str, str], list[int]] = {}
        now = self._clock.monotonic()
        for one in noted:
            call = one.call
            key = (call.tenant, call.session, call.tool)
            if call.status == "success":
                for id in self.trials.succeeded(key, began=call.began, now=now):
                    outcomes.setdefault((call.tenant, id), [0, 0])[0] += 1
                if not self.trials.watches(key):
                    self._failing.discard(key)
            elif one.pattern is not None and (known := learned.get(_place(self._draft(one), one))) is not None:
                self._failing.discard(key)  # from here on the trials remember it, for a limited time
                if self.trials.failed(
                    key, known.id, began=call.began, ended=call.ended, now=now, offered=self.passes(known)
                ):
                    outcomes.setdefault((call.tenant, known.id), [0, 0])[1] += 1
        moment = self._clock.now()

        async def count(tenant: str, id: str, won: int, lost: int) -> None:
            def work(link: Link) -> None:
                counted = count_outcomes(link, tenant, id, successes=won, failures=lost, now=moment)
                if counted is not None:
                    details = outcome_details(counted, won, lost)
                    self._audit.add(link, tenant=tenant, action=OUTCOME, actor="agent", target=id, details=details)

            await self._database.write(work)

        await asyncio.gather(
            *(self._isolated(count(tenant, id, *counts), id) for (tenant, id), counts in outcomes.items())
        )

    async def _report(self, rows: Sequence[dict[str, Any]]) -> None:
        """Leave the audit rows of a batch, in the order of the calls."""

        def work(link: Link) -> None:
            for row in rows:
                self._audit.add(link, **row)

        try:
            await self._database.write(work)
        except Exception:  # noqa: BLE001 -- isolation: `record` tries again one by one, counts what is lost, never raises
            for row in rows:
                await self._audit.record(**row)

    def _row(self, one: Noted, learned: dict[tuple[str, str, str | None], Learning]) -> dict[str, Any]:
        call = one.call
        details: dict[str, object] = {"status": call.status, "parameters": one.parameters}
        if one.pattern is not None and one.category is not None:
            known = learned.get(_place(self._draft(one), one))
            details |= {"error": one.error, "pattern": one.pattern, "category": one.category.value}
            details["learning"] = known and known.id
        return {
            "tenant": call.tenant,
            "action": "tool_call",
            "actor": "agent",
            "target": call.tool,
            "details": details,
            "session_key": call.session,
        }

    def passes(self, one: Learning) -> bool:
        """Whether a learning has a fix that is trusted enough to be offered."""
        return one.fix is not None and one.confidence >= self._settings.confidence_threshold


def _place(draft: Draft, one: Noted) -> tuple[str, str, str | None]:
    return draft.tenant, draft.identity, one.call.session


async def _host(worker: BatchWorker[Call]) -> None:
    async with anyio.create_task_group() as group:
        worker.start(group)
