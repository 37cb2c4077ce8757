"""A request that is sent twice is done once: `Idempotency-Key` and the answers kept under it.

A door reads the header and hands over what it would do:

    async def add(id: str) -> Answer:
        found = await rooms.memory.get(id, **identifiers)  # there after a crash between the write and the answer
        ...
        return Answer(status=201, body=document)

    digest = request_digest(method, target, body)
    answer = await app.idempotency.once(visitor.grant, key, digest, add)

The same caller gets the same answer for the same key and request for a day, with `repeated` set; another request under
the key, or the same one while it is still being done, is a ConflictError. The key is claimed in the store before the
work begins, together with an `id` that stays the same however often the work has to begin again: whoever makes
something under that id (`derived_id` gives more of them) makes it once, even where a process was killed after it
wrote and before it answered. An answer with a secret in it must not be kept: keys are made without this.
"""

import asyncio
import hashlib
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from lamina.access.claims import Claim, claim_request, keep_answer, release_claim, renew_claim, sweep_answers
from lamina.access.types import Grant
from lamina.database.engine import Database
from lamina.errors import ConflictError, LaminaError
from lamina.kernel.checks import check_name
from lamina.kernel.clock import Clock
from lamina.kernel.ids import new_id
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.access")
OPERATION: Final = "idempotency"
"""What repetitions and failures are counted as."""
_LONGEST_KEY: Final = 255
_BATCH: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a caller was told."""

    status: int
    body: bytes
    repeated: bool = False
    """Whether it was given before."""


Work = Callable[[str], Awaitable[Answer]]
"""Does what a request asks for; is given the id for what it makes."""


class Idempotency:
    """The answers of a store, of every tenant and caller."""

    def __init__(
        self, database: Database, *, clock: Clock, metrics: Metrics, keep_s: float = 86_400.0, lease_s: float = 5.0
    ) -> None:
        """Answers are kept for `keep_s` seconds; whoever works says so in time, and is dead after `lease_s` without."""
        self._database = database
        self._clock = clock
        self._metrics = metrics
        self._keep_s = keep_s
        self._lease_s = lease_s

    async def once(self, grant: Grant, key: str, request: bytes, work: Work) -> Answer:
        """The answer to a request, from `work` or from the time it was done before; `request` is its digest.

        An error of the work passes. One that says that nothing was done frees the key; after any other the same request
        may be sent again. Raises InvalidInputError for a key that is none, and ConflictError.
        """
        claim = Claim(
            tenant=grant.tenant,
            actor=grant.actor,
            key=check_name("Idempotency-Key", key, longest=_LONGEST_KEY, operation=OPERATION),
            request=request,
            id=new_id(),
            holder=new_id(),
        )
        begun = self._metrics.monotonic()
        found = await self._database.write(
            lambda link: claim_request(link, claim, now=self._clock.now(), keep_s=self._keep_s, lease_s=self._lease_s)
        )
        if found.request != request:
            raise self._conflict("Something else was asked for under this Idempotency-Key; use another one.")
        if found.status is not None:
            self._metrics.operation_finished(OPERATION, "repeated", (self._metrics.monotonic() - begun) * 1000)
            return Answer(status=found.status, body=found.body, repeated=True)
        if found.holder != claim.holder:
            raise self._conflict("This request is being done at this moment; ask again for its answer.", retry_after=1)
        return await self._done(replace(claim, id=found.id), work)

    async def sweep(self) -> int:
        """Remove the answers of all tenants whose time is over; how many went."""
        total = 0
        while removed := await self._database.write(
            lambda link: sweep_answers(link, now=self._clock.now(), keep_s=self._keep_s, most=_BATCH)
        ):
            total += removed
        return total

    async def _done(self, claim: Claim, work: Work) -> Answer:
        beating = asyncio.create_task(self._beat(claim))
        try:
            answer = await work(claim.id)
        except BaseException as error:  # boundary: whatever went wrong, the key is not held until its lease ends
            nothing_done = isinstance(error, LaminaError) and not error.retryable
            await self._guarded(lambda: self._release(claim, forget=nothing_done))
            raise
        finally:
            beating.cancel()
        await self._guarded(lambda: self._keep(claim, answer))
        return answer

    async def _beat(self, claim: Claim) -> None:
        """Keep a claim while its work takes long."""
        while True:
            await self._clock.idle(self._lease_s / 3)
            await self._guarded(lambda: self._renew(claim))

    async def _renew(self, claim: Claim) -> None:
        await self._database.write(lambda link: renew_claim(link, claim, now=self._clock.now()))

    async def _release(self, claim: Claim, *, forget: bool) -> None:
        await self._database.write(lambda link: release_claim(link, claim, forget=forget))

    async def _keep(self, claim: Claim, answer: Answer) -> None:
        await self._database.write(lambda link: keep_answer(link, claim, status=answer.status, body=answer.body))

    async def _guarded(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write to the end, also for a caller who has left. A failure costs a repetition under the same id."""
        try:
            await asyncio.shield(asyncio.ensure_future(write()))
        except LaminaError as error:
            self._metrics.operation_failed(OPERATION, error.code)
            _log.warning("what became of a request was not kept: %s", error.code)

    def _conflict(self, message: str, **details: object) -> ConflictError:
        self._metrics.operation_failed(OPERATION, ConflictError.code)
        return ConflictError(message, operation=OPERATION, details=details)


def request_digest(*parts: bytes) -> bytes:
    """What tells a request from others: of its method, its target and its body."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def derived_id(id: str, number: int) -> str:
    """One more id for a request that makes several things: the same for the same number."""
    return str(uuid.uuid5(uuid.UUID(id), str(number)))
