"""Notes on conversations without `await`."""

from lamina.observation.desk import Compactor
from lamina.observation.service import ObservationService
from lamina.sync.loop import Twin, blocking


class SyncObservation(Twin[ObservationService]):
    """`app.observation`, blocking."""

    observe_now = blocking(ObservationService.observe_now)
    drain = blocking(ObservationService.drain)
    observations = blocking(ObservationService.observations)
    reflections = blocking(ObservationService.reflections)
    notes = blocking(ObservationService.notes)
    timeline = blocking(ObservationService.timeline)
    status = blocking(ObservationService.status)
    delete_observations = blocking(ObservationService.delete_observations)
    delete_reflections = blocking(ObservationService.delete_reflections)

    def trigger(self, session_key: str | None = None) -> bool:
        """Ask for a session to be looked at in the background; False when that was dropped."""

        async def ask() -> bool:
            return self._inner.trigger(session_key)

        return self._loop.run(ask())

    def set_compactor(self, compactor: Compactor | None) -> None:
        """Decide what happens to observed messages, from the next note on; None keeps them."""
        self._inner.set_compactor(compactor)

    def for_tenant(self, tenant: str) -> "SyncObservation":
        """The same notes for another tenant."""
        return SyncObservation(self._inner.for_tenant(tenant), self._loop)

    @property
    def dropped_count(self) -> int:
        """Triggers that were dropped."""
        return self._inner.dropped_count

    @property
    def pending_count(self) -> int:
        """Sessions that wait for a turn or have one."""
        return self._inner.pending_count
