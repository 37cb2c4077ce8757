"""The verbs of observational memory: what agents, doors and other rooms call.

While `observational_memory.enabled` is off, nothing is observed and a trigger does nothing; notes that are there can
still be read and deleted.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.errors import ConfigurationError, LaminaError, MissingIdentifierError
from lamina.kernel.checks import check_name
from lamina.kernel.session_key import current_session_key
from lamina.observability.metrics import Metrics
from lamina.observation.desk import Compactor, Desk
from lamina.observation.economics import MemoryStatus, read_status
from lamina.observation.pipeline import Turn
from lamina.observation.settings import ObservationSettings
from lamina.observation.state import State, read_state, recount
from lamina.observation.store import (
    delete_observations_by_session,
    delete_reflections_by_session,
    list_recent_observations,
    list_recent_reflections,
    read_notes,
)
from lamina.observation.sweep import due_sessions, unobserved_sessions
from lamina.observation.types import SET_ASIDE, Note
from lamina.observation.worker import ObservationWorker
from lamina.session.checked import check_sequence, check_session_key
from lamina.session.reading import StoredSession, find_session, required_session
from lamina.session.types import Appended

_PAGE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationReport:
    """What observing now did."""

    sessions: int = 0
    """Sessions that had a turn."""
    observed: int = 0
    """Stretches that became a note."""
    nothing: int = 0
    """Stretches with nothing to record."""
    rewritten: int = 0
    """Stretches of provisional notes that were written anew."""
    reflected: int = 0
    """Reflections made from observations."""
    consolidated: int = 0
    """Reflections made from reflections."""
    rejected: int = 0
    """Condensations that were empty or not smaller."""
    failures: tuple[str, ...] = ()
    """Error codes of what failed; it is tried again later."""
    busy: tuple[str, ...] = ()
    """Keys of sessions that somebody else works on."""

    def with_turn(self, session_key: str, turn: Turn) -> "ObservationReport":
        """The report with one more turn at a session."""
        return replace(
            self,
            observed=self.observed + turn.observed,
            nothing=self.nothing + turn.nothing,
            rewritten=self.rewritten + turn.rewritten,
            reflected=self.reflected + turn.reflected,
            consolidated=self.consolidated + turn.consolidated,
            rejected=self.rejected + turn.rejected,
            failures=self.failures + turn.failures,
            busy=(*self.busy, session_key) if turn.busy or turn.lost else self.busy,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A session from its first message to its last: what is archived, noted, condensed, and still raw."""

    session_key: str
    last_sequence: int
    archived_through: int
    """The sequence of the last message in the archive; 0 for none."""
    watermark: int
    """The sequence of the last message that was observed; 0 for none."""
    pending_tokens: int
    """Tokens after the watermark."""
    observations: tuple[Note, ...]
    """Oldest first."""
    reflections: tuple[Note, ...]
    """Oldest first."""
    set_aside: tuple[Note, ...] = ()
    """Pinned entries that no prompt has room for, oldest first."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Reflections and observations in the order of what they stand for."""
        every = (*self.reflections, *self.observations)
        return tuple(sorted(every, key=lambda note: (note.first_sequence, -note.generation, note.last_sequence)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationService:
    """Notes on one tenant's conversations."""

    database: Database
    settings: ObservationSettings
    metrics: Metrics
    tenant: str
    desk: Desk | None = None
    """What notes are written with, while it is on."""
    worker: ObservationWorker | None = None
    """What writes them in the background, while it is on; the house starts and stops it."""
    session: Callable[[], str | None] = current_session_key
    """The session of the current request, for calls that name none."""

    def for_tenant(self, tenant: str) -> Self:
        """The same for another tenant; raises InvalidInputError for a blank one."""
        return replace(self, tenant=check_name("tenant", tenant))

    def set_compactor(self, compactor: Compactor | None) -> None:
        """Decide what happens to observed messages, for all tenants, from the next note on; None keeps them.

        Raises ConfigurationError while observational memory is off.
        """
        self._require_desk().compactor = compactor

    @property
    def dropped_count(self) -> int:
        """Triggers that were dropped; stored state leads to the sessions again."""
        return 0 if self.worker is None else self.worker.dropped_count

    @property
    def pending_count(self) -> int:
        """Sessions that wait for a turn or have one, of all tenants."""
        return 0 if self.worker is None else self.worker.pending_count

    def trigger(self, session_key: str | None = None) -> bool:
        """Ask for a session to be looked at in the background, and return at once.

        False when nothing is observed, or the trigger was dropped. Raises MissingIdentifierError without a session.
        """
        return False if self.worker is None else self.worker.trigger(self.tenant, self._key(session_key))

    def appended(self, what: Appended) -> None:
        """Hear of new messages, of any tenant: ask for a turn where enough of them may be unobserved."""
        if self.worker is not None:
            self.worker.appended(what)

    async def observe_now(self, session_key: str | None = None, *, force: bool = False) -> ObservationReport:
        """Do now what is due, of one session or of all of the tenant's, and say what was done.

        `force` observes everything that may be taken, also below the threshold. Failures do not delay it. Raises
        SessionNotFoundError, ConfigurationError while observational memory is off.
        """
        with self._verb("observation_observe"):
            worker = self._require_worker()
            if session_key is not None:
                key = check_session_key(session_key)
                await self.database.read(lambda link: required_session(link, self.tenant, key))
                return await self._turns(worker, key, ObservationReport(), force)
            report, after = ObservationReport(), -1
            for key in worker.pending_sessions(self.tenant):
                report = await self._turns(worker, key, report, force)
            while page := await self._due(after, force):
                after = page[-1][0]
                for _, key in page:
                    report = await self._turns(worker, key, report, force)
            return report

    async def drain(self) -> None:
        """Wait until every session that asked for a turn in the background has had it."""
        if self.worker is not None:
            await self.worker.drain()

    async def observations(self, session_key: str | None = None, *, limit: int = 0) -> tuple[Note, ...]:
        """The newest observations of a session, oldest first; 0 is all. A session that is not there has none."""
        with self._verb("observation_list"):
            most = check_sequence("limit", limit)
            return await self._read(session_key, lambda link, of: tuple(list_recent_observations(link, of, limit=most)))

    async def reflections(self, session_key: str | None = None, *, limit: int = 0) -> tuple[Note, ...]:
        """The newest reflections of a session, oldest first; 0 is all. A session that is not there has none."""
        with self._verb("observation_list"):
            most = check_sequence("limit", limit)
            return await self._read(session_key, lambda link, of: tuple(list_recent_reflections(link, of, limit=most)))

    async def notes(self, session_key: str | None = None) -> tuple[Note, ...]:
        """Reflections and observations of a session in the order of what they stand for, oldest first."""
        with self._verb("observation_list"):
            return await self._read(session_key, lambda link, of: tuple(one.note for one in read_notes(link, of)))

    async def timeline(self, session_key: str | None = None) -> Timeline:
        """What became of a session's messages. Raises SessionNotFoundError."""
        with self._verb("observation_timeline"):
            key = self._key(session_key)

            def read(link: Link) -> Timeline:
                with link.snapshot():
                    return _timeline(link, required_session(link, self.tenant, key))

            return await self.database.read(read)

    async def status(self, session_key: str | None = None) -> MemoryStatus:
        """What notes save and cost, of a session or, without a key, of all. Raises SessionNotFoundError."""
        with self._verb("observation_status"):
            key = None if session_key is None else check_session_key(session_key)

            def read(link: Link) -> MemoryStatus:
                with link.snapshot():
                    of = None if key is None else required_session(link, self.tenant, key)
                    return read_status(link, self.tenant, of)

            return await self.database.read(read)

    async def delete_observations(self, session_key: str | None = None) -> int:
        """Delete every observation of a session; how many there were, none without an error.

        What they stand for stays observed and can be recalled.
        """
        with self._verb("observation_delete"):
            return await self._delete(session_key, delete_observations_by_session)

    async def delete_reflections(self, session_key: str | None = None) -> int:
        """Delete every reflection of a session; how many there were, none without an error."""
        with self._verb("observation_delete"):
            return await self._delete(session_key, delete_reflections_by_session)

    async def _turns(
        self, worker: ObservationWorker, key: str, report: ObservationReport, force: bool
    ) -> ObservationReport:
        more = True
        while more:
            turn = await worker.run_now(self.tenant, key, force=force)
            report, more = report.with_turn(key, turn), turn.more
        return replace(report, sessions=report.sessions + 1)

    async def _due(self, after: int, force: bool) -> list[tuple[int, str]]:
        desk = self._require_desk()

        def read(link: Link) -> list[tuple[int, str]]:
            if force:
                return unobserved_sessions(link, self.tenant, after=after, limit=_PAGE)
            found = due_sessions(link, desk, after=after, limit=_PAGE, tenant=self.tenant, patient=False)
            return [(one.row, one.key) for one in found]

        return await self.database.read(read)

    async def _read(
        self, session_key: str | None, read: Callable[[Link, StoredSession], tuple[Note, ...]]
    ) -> tuple[Note, ...]:
        key = self._key(session_key)

        def work(link: Link) -> tuple[Note, ...]:
            with link.snapshot():
                found = find_session(link, self.tenant, key)
                return () if found is None else read(link, found)

        return await self.database.read(work)

    async def _delete(self, session_key: str | None, delete: Callable[[Link, StoredSession], int]) -> int:
        key = self._key(session_key)

        def work(link: Link) -> int:
            held = find_session(link, self.tenant, key, hold=True)
            if held is None:
                return 0
            deleted = delete(link, held)
            recount(link, held)
            return deleted

        return await self.database.write(work)

    def _key(self, given: str | None) -> str:
        key = self.session() if given is None else given
        if key is None:
            raise MissingIdentifierError(
                "No session: pass session_key, or bind one with `with app.session(key):`.",
                details={"missing": ["session_key"]},
            )
        return check_session_key(key)

    def _require_desk(self) -> Desk:
        if self.desk is None:
            raise ConfigurationError(
                "Observational memory is switched off; set observational_memory.enabled = true.",
                details={"name": "observational_memory.enabled"},
            )
        return self.desk

    def _require_worker(self) -> ObservationWorker:
        self._require_desk()
        assert self.worker is not None
        return self.worker

    @contextmanager
    def _verb(self, operation: str) -> Iterator[None]:
        """Measure a verb, and name it in the errors that leave it."""
        with self.metrics.measure(operation):
            try:
                yield
            except LaminaError as error:
                error.operation = error.operation or operation
                raise


def _timeline(link: Link, of: StoredSession) -> Timeline:
    state = read_state(link, of) or State()
    notes = [one.note for one in read_notes(link, of)]
    return Timeline(
        session_key=of.key,
        last_sequence=of.session.last_sequence,
        archived_through=of.session.archived_count,
        watermark=state.watermark,
        pending_tokens=of.session.total_tokens - state.observed_tokens,
        observations=tuple(note for note in notes if note.generation == 0),
        reflections=tuple(note for note in notes if note.generation > 0),
        set_aside=tuple(one.note for one in read_notes(link, of, least=SET_ASIDE, most=SET_ASIDE)),
    )
