"""A secret is in no log, no text that is kept, no metric, and no statement forgets whose rows it is about."""

import logging
from collections.abc import AsyncIterator, Awaitable
from datetime import timedelta

import pytest

from lamina.access.gate import Gate
from lamina.access.idempotency import Answer, request_digest
from lamina.access.secret import new_secret
from lamina.access.settings import ServerSettings
from lamina.app import App
from lamina.errors import LaminaError
from lamina.kernel.clock import ManualClock
from lamina.kernel.redact import redact
from lamina.memory.settings import MemorySettings
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from tests.stores import app_on
from tests.test_tenancy import Watch


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    by_hand = MemorySettings(sweep_interval_s=0)
    async with app_on(store_url, clock=clock, metrics=Metrics.collecting(), memory=by_hand) as opened:
        yield opened


async def refusal(call: Awaitable[object]) -> str:
    """Everything that an error says; nothing where there is none."""
    try:
        await call
    except LaminaError as error:
        return repr((error, error.to_dict()))
    return ""


async def everything(app: App, clock: ManualClock) -> list[str]:
    """Go through the life of keys, good and bad; every secret that was used."""
    made = await app.keys.create("laptop", user_id="ann", expires_at=clock.now() + timedelta(hours=1))
    gone = await app.keys.create("gone")
    await app.keys.revoke(gone.secret)
    gate = Gate(app.keys, ServerSettings(), "default")
    secrets = [made.secret, gone.secret, new_secret()[1], made.secret[:-4] + "beef"]
    for secret in secrets:
        for call in (
            gate.admit(api_key=secret),
            gate.admit(authorization=f"Bearer {secret}"),
            app.keys.get(secret),
        ):
            assert secret not in await refusal(call)
    clock.advance(3601)
    assert "expired" in await refusal(gate.admit(api_key=made.secret))
    await app.keys.ring.uses.drain()
    return secrets


@pytest.mark.anyio
async def test_no_secret_is_logged_or_measured(app: App, clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = await everything(app, clock)
    shown = caplog.text + render_prometheus(app.metrics)
    assert "key_verify" in shown
    assert not any(secret.rpartition("_")[2] in shown for secret in secrets)


def test_a_key_that_is_told_in_a_conversation_is_hidden() -> None:
    id, secret = new_secret()
    for text in (f"my key is {secret}, keep it", f"curl -H 'X-API-Key: {secret}'", secret, f"({secret})"):
        assert secret.rpartition("_")[2] not in redact(text)
    assert redact(f"I revoked {id} today") == f"I revoked {id} today"


@pytest.mark.anyio
async def test_every_statement_names_its_tenant_but_those_that_look_for_one(
    app: App, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(id: str) -> Answer:
        return Answer(status=201, body=id.encode())

    async def failing(id: str) -> Answer:
        raise LaminaError

    watch = Watch(monkeypatch)
    await everything(app, clock)
    assert await app.keys.any()
    await app.keys.list()
    grant = (await app.keys.create("caller")).key.grant
    for digest in (request_digest(b"one"), request_digest(b"two")):
        for _ in range(2):
            await refusal(app.idempotency.once(grant, "key", digest, work))
            await refusal(app.idempotency.once(grant, "failed", digest, failing))
    clock.advance(100_000)
    await app.idempotency.once(grant, "key", request_digest(b"three"), work)
    before = watch.careless.copy()
    await app.idempotency.sweep()
    assert watch.seen > 30
    whose, is_any = sorted(before, key=lambda text: "digest" not in text)
    assert "access_key.id = " in whose
    assert "revoked_at IS NULL" in is_any
    (swept,) = watch.careless - before
    assert swept.startswith("DELETE FROM idempotency")


@pytest.mark.anyio
async def test_two_tenants_with_the_same_names_have_nothing_in_common(app: App) -> None:
    here, there = app.keys, app.for_tenant("acme").keys
    mine, theirs = await here.create("ci", user_id="ann"), await there.create("ci", user_id="ann")
    await there.revoke(theirs.key.id)
    assert (await here.verify(mine.secret)).tenant == "default"
    assert [key.id for key in await here.list()] == [mine.key.id]
    assert [key.id for key in await there.list()] == [theirs.key.id]
    assert [row.target for row in (await app.for_tenant("acme").audit.list()).rows] == [theirs.key.id] * 2
    assert [row.target for row in (await app.audit.list()).rows] == [mine.key.id]
