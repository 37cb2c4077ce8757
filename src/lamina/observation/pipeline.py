"""One turn at one session: observe the next stretch, write a provisional note anew, condense what became too much.

A turn begins with a look that takes no lease and writes nothing, because mostly there is nothing to do. It takes one
stretch at most, so that sessions with much to do and those with little come to their turns alike. What a turn leaves
undone, because of a failure, a stop or a crash, is in the stored state.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from lamina.database.link import Link
from lamina.errors import LaminaError
from lamina.kernel.ids import new_id
from lamina.observation.batch import Batch, may_be_due, next_batch
from lamina.observation.desk import Desk
from lamina.observation.observing import is_resting, may_observe, observe
from lamina.observation.reflecting import Kind, condense, notes_to_consolidate, notes_to_reflect
from lamina.observation.rewriting import rewrite, wants_rewriting
from lamina.observation.state import (
    Lease,
    LostError,
    State,
    leased_session,
    read_state,
    release_lease,
    renew_lease,
    take_lease,
)
from lamina.observation.store import StoredNote, read_notes
from lamina.session.reading import find_session

_log = logging.getLogger("lamina.observation")
_KINDS: tuple[Kind, ...] = ("observations", "reflections")
_CHOOSE = {"observations": notes_to_reflect, "reflections": notes_to_consolidate}


@dataclass(slots=True, kw_only=True)
class Turn:
    """What a turn did."""

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
    """Error codes of what failed."""
    busy: bool = False
    """Somebody else works on the session."""
    absent: bool = False
    """There is no such session."""
    lost: bool = False
    """What was made was thrown away: the session was deleted, or somebody else took over."""
    blocked: bool = False
    """There are enough messages, but none may be taken: a tool call is pending, or the user spoke last."""
    more: bool = False
    """There is more to do at once."""
    total_tokens: int = 0
    """Tokens of the session when the turn began."""
    observed_tokens: int = 0
    """Tokens of it that were observed when the turn ended."""

    @property
    def acted(self) -> bool:
        """Whether anything changed."""
        return bool(self.observed or self.nothing or self.rewritten or self.reflected or self.consolidated)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    state: State
    total_tokens: int
    batch: Batch | None
    due: bool
    blocked: bool


class Pipeline:
    """Takes turns at sessions of any tenant; safe to call for many sessions at once."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def turn(
        self,
        tenant: str,
        session_key: str,
        *,
        force: bool = False,
        patient: bool = True,
        stopping: Callable[[], bool] = lambda: False,
    ) -> Turn:
        """One turn. `force` takes what is safe below the threshold, too; without `patient` no failure delays anything.

        While `stopping` says so, nothing new is begun. Raises LaminaError when the store fails.
        """
        look = await self.desk.database.read(
            lambda link: self._look(link, tenant, session_key, force=force, patient=patient)
        )
        if look is None:
            return Turn(absent=True)
        turn = Turn(total_tokens=look.total_tokens, observed_tokens=look.state.observed_tokens, blocked=look.blocked)
        if not look.due or stopping():
            return turn
        owner = new_id()
        try:
            lease = await self._take(tenant, session_key, owner)
        except LostError:
            return Turn(absent=True)
        if lease is None:
            turn.busy = True
            return turn
        batch = look.batch if lease.state.watermark == look.state.watermark else None
        await _Shift(self.desk, turn, lease, force=force, patient=patient, stopping=stopping).work(batch)
        return turn

    def _look(self, link: Link, tenant: str, session_key: str, *, force: bool, patient: bool) -> _Look | None:
        found = find_session(link, tenant, session_key)
        if found is None:
            return None
        desk, state = self.desk, read_state(link, found) or State()
        allowed = may_observe(desk, state, patient)
        batch = next_batch(link, found, state, desk.settings, force=force) if allowed else None
        blocked = allowed and batch is None and may_be_due(found.session.total_tokens, state, desk.settings)
        reflecting = state.unsettled and not (patient and is_resting(state.reflect_at, desk.clock.now()))
        return _Look(
            state=state,
            total_tokens=found.session.total_tokens,
            batch=batch,
            blocked=blocked,
            due=batch is not None or reflecting or wants_rewriting(desk, state, patient=patient),
        )

    async def _take(self, tenant: str, session_key: str, owner: str) -> Lease | None:
        desk = self.desk
        now, lease_s = desk.clock.now(), desk.settings.lease_s
        return await desk.database.write(
            lambda link: take_lease(link, tenant, session_key, owner=owner, now=now, lease_s=lease_s)
        )


class _Shift:
    """The work of one turn under one lease."""

    def __init__(
        self, desk: Desk, turn: Turn, lease: Lease, *, force: bool, patient: bool, stopping: Callable[[], bool]
    ) -> None:
        self._desk = desk
        self._turn = turn
        self._lease = lease
        self._force = force
        self._patient = patient
        self._stopping = stopping
        self._settled = False
        self._observing = True
        self._rewriting = True
        self._condensing = True

    async def work(self, batch: Batch | None) -> None:
        """Do it all, keep the lease alive meanwhile, and give it back whatever happens."""
        failure: Exception | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._keep_lease, group.cancel_scope)
                try:
                    await self._steps(batch)
                except LostError as lost:
                    _log.info("session %s: what was made is thrown away: %s", self._lease.session_key, lost)
                    self._turn.lost = True
                except Exception as error:  # noqa: BLE001 -- boundary: raised again below, not wrapped by the group
                    failure = error
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._give_back()
        if failure is not None:
            raise failure

    async def _steps(self, batch: Batch | None) -> None:
        """Whatever changes notes is followed by condensing them, also in the turn after a crash in between."""
        if self._lease.state.unsettled:
            await self._condense_all()
        if batch is None:
            batch = await self._desk.database.read(self._next_batch)
        if batch is not None and not self._stopping():
            await self._observe(batch)
            await self._condense_all()
        if self._wants_rewriting() and not self._stopping():
            await self._rewrite()
            await self._condense_all()
        if not self._stopping():
            await self._look_ahead()

    async def _observe(self, batch: Batch) -> None:
        done = await observe(self._desk, self._lease, batch, patient=self._patient)
        if done is None:
            self._observing = False
            return
        self._lease = done.lease
        if done.error is not None:
            self._turn.failures += (done.error,)
            # Whoever failed just now is not asked again.
            self._observing = self._rewriting = self._condensing = False
        elif done.note is not None:
            self._turn.observed += 1
        else:
            self._turn.nothing += 1

    def _wants_rewriting(self) -> bool:
        return self._rewriting and wants_rewriting(self._desk, self._lease.state, patient=self._patient)

    async def _rewrite(self) -> None:
        done = await rewrite(self._desk, self._lease)
        if done is None:
            self._rewriting = False
            return
        self._lease = done.lease
        if done.error is not None:
            self._turn.failures += (done.error,)
            self._rewriting = self._condensing = False
        else:
            self._turn.rewritten += 1

    async def _condense_all(self) -> None:
        for kind in _KINDS:
            if self._condensing and not self._stopping():
                await self._condense(kind)

    async def _condense(self, kind: Kind) -> None:
        if self._patient and is_resting(self._lease.state.reflect_at, self._desk.clock.now()):
            self._condensing = False
            return
        notes = await self._notes()
        chosen = _CHOOSE[kind](self._desk, notes, self._lease)
        if not chosen:
            return
        done = await condense(self._desk, self._lease, kind, chosen, notes)
        self._lease = done.lease
        if done.error is not None:
            self._turn.failures += (done.error,)
            self._condensing = False
        elif done.note is None:
            self._turn.rejected += 1
        elif kind == "observations":
            self._turn.reflected += 1
        else:
            self._turn.consolidated += 1

    async def _look_ahead(self) -> None:
        """Whether the notes are in order now, and whether there is more to do at once."""
        notes = await self._notes()
        self._settled = not any(choose(self._desk, notes, self._lease) for choose in _CHOOSE.values())
        if not self._turn.acted:
            return
        further = self._observing and await self._desk.database.read(self._next_batch) is not None
        self._turn.more = further or (self._condensing and not self._settled) or self._wants_rewriting()

    def _next_batch(self, link: Link) -> Batch | None:
        of = leased_session(link, self._lease)
        return next_batch(link, of, self._lease.state, self._desk.settings, force=self._force)

    async def _notes(self) -> list[StoredNote]:
        return await self._desk.database.read(lambda link: read_notes(link, leased_session(link, self._lease)))

    async def _keep_lease(self, scope: anyio.CancelScope) -> None:
        """Renew the lease while the work goes on; when it was lost, the work is given up."""
        while True:
            await self._desk.clock.idle(self._desk.settings.lease_s / 3)
            try:
                kept = await self._desk.database.write(self._renew)
            except LaminaError as error:
                _log.warning("the lease of session %s could not be renewed: %s", self._lease.session_key, error.message)
                continue
            if not kept:
                _log.info("session %s: somebody else took over", self._lease.session_key)
                self._turn.lost = True
                scope.cancel()

    def _renew(self, link: Link) -> bool:
        return renew_lease(link, self._lease, now=self._desk.clock.now(), lease_s=self._desk.settings.lease_s)

    async def _give_back(self) -> None:
        lease, settled = self._lease, self._settled
        self._turn.observed_tokens = lease.state.observed_tokens
        try:
            await self._desk.database.write(lambda link: release_lease(link, lease, settled=settled))
        except LaminaError as error:  # the store is gone: the lease ends by itself
            _log.warning("the lease of session %s could not be given back: %s", lease.session_key, error.message)
