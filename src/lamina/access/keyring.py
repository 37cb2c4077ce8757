"""The keys of a whole store as a door asks for them: whose is this secret, and is there any key at all?"""

import hmac
from collections.abc import Sequence
from typing import Final

from lamina.access.rows import KeyUse, StoredKey, find_bearer, is_any_key, note_uses
from lamina.access.secret import digest_of, id_in
from lamina.access.types import Grant, Key
from lamina.database.engine import Database
from lamina.errors import UnauthorizedError
from lamina.kernel.background import BatchWorker
from lamina.kernel.clock import Clock
from lamina.observability.metrics import Metrics

_OPERATION: Final = "key_verify"
_WORKER: Final = "key use"
_REMEMBERED: Final = 10_000
_NOTHING: Final = bytes(32)


class Keyring:
    """Answers are remembered for `fresh_s` seconds.

    What this process changes counts at once, what another one does after that. When a key was used last is written in
    the background, at most once in `use_every_s` seconds; start `uses` for that.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        metrics: Metrics,
        fresh_s: float = 1.0,
        use_every_s: float = 60.0,
    ) -> None:
        self._database = database
        self._clock = clock
        self._metrics = metrics
        self._fresh_s = fresh_s
        self._use_every_s = use_every_s
        self._known: dict[bytes, tuple[float, Key]] = {}
        self._any: tuple[float, bool] | None = None
        self._used: dict[str, float] = {}
        self._changes = 0
        self.uses: BatchWorker[KeyUse] = BatchWorker(
            self._write_uses,
            name=_WORKER,
            clock=clock,
            batch_size=64,
            max_delay_s=1.0,
            label=lambda use: f"the use of key {use.id}",
            key=lambda use: use.id,
            on_drop=lambda: metrics.background_dropped(_WORKER),
        )

    async def verify(self, secret: str) -> Grant:
        """What the bearer of a secret may do. Raises UnauthorizedError for no key, a revoked and an expired one."""
        with self._metrics.measure(_OPERATION):
            key = await self._key(secret)
            if key is None:
                raise _refused("This is no key of this service.")
            if key.revoked_at is not None:
                raise _refused("This key was revoked.", key)
            if key.expires_at is not None and key.expires_at <= self._clock.now():
                raise _refused("This key has expired.", key)
            self._note_use(key)
            return key.grant

    async def any(self) -> bool:
        """Whether the store has a key that was not revoked. One that has expired is one: its end opens no door."""
        now = self._clock.monotonic()
        if self._any is not None and now - self._any[0] < self._fresh_s:
            return self._any[1]
        changes = self._changes
        found = await self._database.read(is_any_key)
        if changes == self._changes:
            self._any = (now, found)
        return found

    def forget(self) -> None:
        """Ask the store again: something changed."""
        self._changes += 1
        self._known.clear()
        self._any = None

    async def _key(self, secret: str) -> Key | None:
        id = id_in(secret)
        if id is None:
            return None
        digest, now = digest_of(secret), self._clock.monotonic()
        known = self._known.get(digest)
        if known is not None and now - known[0] < self._fresh_s:
            return known[1]
        changes = self._changes
        stored: StoredKey | None = await self._database.read(lambda link: find_bearer(link, id))
        # Compared also where there is nothing to compare with, so that the time taken says as little as it can.
        if not hmac.compare_digest(_NOTHING if stored is None else stored.digest, digest) or stored is None:
            return None
        if changes == self._changes:  # else it may have been revoked meanwhile
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[digest] = (now, stored.key)
        return stored.key

    def _note_use(self, key: Key) -> None:
        now = self._clock.monotonic()
        last = self._used.get(key.id)
        if last is not None and now - last < self._use_every_s:
            return
        if len(self._used) >= _REMEMBERED:
            self._used.clear()
        self._used[key.id] = now
        self.uses.submit(KeyUse(tenant=key.tenant, id=key.id, at=self._clock.now()))

    async def _write_uses(self, uses: Sequence[KeyUse]) -> None:
        await self._database.write(lambda link: note_uses(link, list(uses)))


def _refused(message: str, key: Key | None = None) -> UnauthorizedError:
    return UnauthorizedError(
        message,
        details={
            **({} if key is None else {"key_id": key.id}),
            "next": "Whoever runs the service makes one with `lamina key create`.",
        },
    )
