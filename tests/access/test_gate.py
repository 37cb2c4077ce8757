"""Who comes in: with a good key where there are keys, from this machine where there are none."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from lamina.access.gate import Gate, presented
from lamina.access.loopback import is_this_machine
from lamina.access.secret import new_secret
from lamina.access.settings import ServerSettings
from lamina.access.types import Grant, Right
from lamina.app import App
from lamina.errors import ConfigurationError, ForbiddenError, ProviderError, UnauthorizedError
from lamina.kernel.clock import ManualClock
from lamina.observability.metrics import Metrics
from tests.instruments import points
from tests.stores import app_on

HERE: dict[str, Any] = {"host": "127.0.0.1:7077"}


@pytest.fixture
async def app(sqlite_store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    async with app_on(sqlite_store_url, clock=clock, metrics=Metrics.collecting()) as opened:
        yield opened


def gate_of(app: App, **settings: Any) -> Gate:
    return Gate(app.keys, ServerSettings(**settings), "default")


@pytest.mark.anyio
@pytest.mark.parametrize("origin", [None, "http://localhost:3000", "http://127.0.0.1", "http://app.localhost"])
async def test_without_keys_this_machine_has_every_right_of_the_tenant(app: App, origin: str | None) -> None:
    gate = gate_of(app)
    assert await gate.is_open()
    grant = await gate.admit(**HERE, origin=origin)
    assert grant == Grant(tenant="default", right=Right.ADMIN)
    assert grant.actor == "local"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, "host"),
        ({"host": ""}, "host"),
        ({"host": "evil.example:7077"}, "host"),
        ({"host": "localhost.evil.example"}, "host"),
        ({"host": "192.168.1.7"}, "host"),
        ({"host": "[bad"}, "host"),
        ({**HERE, "origin": "https://evil.example"}, "origin"),
        ({**HERE, "origin": "null"}, "origin"),
        ({**HERE, "origin": "http://[bad"}, "origin"),
        ({**HERE, "forwarded": True}, "forwarded"),
    ],
)
async def test_without_keys_nobody_else_comes_in(app: App, headers: dict[str, Any], reason: str) -> None:
    with pytest.raises(ForbiddenError) as raised:
        await gate_of(app).admit(**headers)
    assert raised.value.details["reason"] == reason
    assert points(app.metrics, "memory.operations.errors", "operation", "code") == {("admit", "FORBIDDEN"): 1}


@pytest.mark.anyio
async def test_a_page_that_was_named_comes_in_from_this_machine(app: App) -> None:
    gate = gate_of(app, cors_origins=("https://app.example",))
    await gate.admit(**HERE, origin="https://app.example")
    for origin in ("https://app.example.evil.example", "http://app.example", "*"):
        with pytest.raises(ForbiddenError):
            await gate.admit(**HERE, origin=origin)


@pytest.mark.anyio
async def test_with_keys_a_good_one_is_needed_and_enough(app: App) -> None:
    gate = gate_of(app)
    made = await app.keys.for_tenant("acme").create("laptop", right="read")
    assert not await gate.is_open()
    for sent in (
        {"authorization": f"Bearer {made.secret}"},
        {"authorization": f"bearer   {made.secret}  "},
        {"api_key": made.secret},
        {"api_key": made.secret, "authorization": "Bearer sk-for-a-model-behind-us"},
        {"api_key": "something else", "authorization": f"Bearer {made.secret}"},
        {"api_key": made.secret, "host": "lamina.example", "origin": "https://elsewhere.example", "forwarded": True},
    ):
        assert await gate.admit(**sent) == made.key.grant
    for refused in (
        HERE,
        {**HERE, "authorization": f"Basic {made.secret}"},
        {**HERE, "authorization": "Bearer"},
        {**HERE, "authorization": "Bearer "},
        {**HERE, "authorization": f"Bearer {new_secret()[1]}"},
        {**HERE, "api_key": ""},
        {**HERE, "api_key": "🔑"},
    ):
        with pytest.raises(UnauthorizedError):
            await gate.admit(**refused)


@pytest.mark.anyio
async def test_a_key_made_while_the_service_runs_closes_the_gate_within_a_second(
    app: App, sqlite_store_url: str, clock: ManualClock
) -> None:
    gate = gate_of(app)
    await gate.admit(**HERE)
    async with app_on(sqlite_store_url, clock=clock) as other:
        await other.keys.create("first")
    clock.advance(1)
    with pytest.raises(UnauthorizedError):
        await gate.admit(**HERE)


@pytest.mark.anyio
async def test_a_revoked_key_is_refused_even_where_no_key_is_needed(app: App) -> None:
    gate = gate_of(app)
    made = await app.keys.create("gone")
    await app.keys.revoke(made.key.id)
    await gate.admit(**HERE, authorization="Bearer sk-for-a-model-behind-us")
    with pytest.raises(UnauthorizedError, match="revoked"):
        await gate.admit(**HERE, api_key=made.secret)


@pytest.mark.anyio
async def test_the_end_of_the_last_key_opens_no_door(app: App, clock: ManualClock) -> None:
    made = await app.keys.create("visitor", expires_at=clock.now() + timedelta(minutes=1))
    clock.advance(61)
    with pytest.raises(UnauthorizedError):
        await gate_of(app).admit(**HERE)
    await app.keys.revoke(made.key.id)
    await gate_of(app).admit(**HERE)
    with pytest.raises(UnauthorizedError):  # who other machines reach stays closed, whatever a Host header says
        await gate_of(app, host="0.0.0.0").admit(**HERE)


@pytest.mark.anyio
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
async def test_another_address_than_this_machines_needs_a_key(app: App, host: str) -> None:
    gate = gate_of(app, host=host)
    with pytest.raises(ConfigurationError, match="this machine only") as raised:
        await gate.require_safe()
    assert "lamina key create" in str(raised.value.details["next"])
    await app.keys.create("first")
    await gate.require_safe()


@pytest.mark.anyio
async def test_this_machines_address_needs_none(app: App) -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        await gate_of(app, host=host).require_safe()


@pytest.mark.anyio
async def test_a_store_that_fails_lets_nobody_in(app: App, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(_: object) -> None:
        raise ProviderError("The store is gone.")

    gate, made = gate_of(app), await app.keys.create("good")
    await gate.admit(api_key=made.secret)
    clock.advance(1)
    monkeypatch.setattr(app.parts.database, "read", gone)
    for sent in (HERE, {"api_key": made.secret}):
        with pytest.raises(ProviderError):
            await gate.admit(**sent)


@pytest.mark.anyio
async def test_headers_are_read_as_they_come(app: App) -> None:
    gate = gate_of(app)
    await gate.admit_headers(HERE)
    for name in ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"):
        with pytest.raises(ForbiddenError):
            await gate.admit_headers({**HERE, name: "127.0.0.1"})
    made = await app.keys.create("laptop")
    for headers in ({"x-api-key": made.secret}, {"authorization": f"Bearer {made.secret}"}):
        assert await gate.admit_headers(headers) == made.key.grant


@pytest.mark.anyio
async def test_who_is_refused_is_counted_and_the_answer_repeats_nothing(app: App) -> None:
    await app.keys.create("good")
    for number in range(10):
        with pytest.raises(UnauthorizedError) as raised:
            await gate_of(app).admit(authorization=f"Bearer guess-{number}")
        assert "guess" not in str(raised.value.to_dict())
    counted = points(app.metrics, "memory.operations.errors", "operation", "code")
    assert counted["admit", "UNAUTHORIZED"] == 10


def test_names_of_this_machine_are_known() -> None:
    assert all(map(is_this_machine, ["127.0.0.1", "127.8.9.1", "::1", "localhost", "a.localhost"]))
    assert not any(map(is_this_machine, [None, "", "0.0.0.0", "10.0.0.1", "localhost.evil.example", "::"]))


def test_without_headers_no_key_is_presented() -> None:
    assert presented(authorization=None, api_key=None) is None
    assert presented(authorization="Negotiate abc", api_key=None) is None
