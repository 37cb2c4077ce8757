"""Keys: made once, shown once, stored as digests, good until they are revoked or expire, and of one tenant."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from lamina.access.secret import id_in, new_secret
from lamina.access.types import Right
from lamina.app import App
from lamina.database.address import create_engine, parse_address
from lamina.errors import InvalidInputError, KeyNotFoundError, MissingIdentifierError, UnauthorizedError
from lamina.kernel.clock import ManualClock
from lamina.memory.types import Identifiers
from lamina.observability.metrics import Metrics
from tests.instruments import points
from tests.stores import app_on

NOTHING_IN_THEM = "0" * 16


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    async with app_on(store_url, clock=clock, metrics=Metrics.collecting()) as opened:
        yield opened


@pytest.mark.anyio
async def test_a_key_is_what_it_was_made_as(app: App, clock: ManualClock) -> None:
    soon = clock.now() + timedelta(days=1)
    made = await app.keys.create("laptop", right="read", expires_at=soon, user_id="ann", project_id="web")
    assert await app.keys.get(made.key.id) == made.key
    assert await app.keys.list() == (made.key,)
    grant = await app.keys.verify(made.secret)
    assert grant == made.key.grant
    assert (grant.tenant, grant.right, grant.key_id) == ("default", Right.READ, made.key.id)
    assert grant.identifiers == Identifiers(user_id="ann", project_id="web")
    assert (made.key.created_at, made.key.expires_at, made.key.revoked_at) == (clock.now(), soon, None)


@pytest.mark.anyio
async def test_a_key_is_for_the_whole_tenant_and_may_write_unless_said_otherwise(app: App) -> None:
    grant = await app.keys.verify((await app.keys.create("ci")).secret)
    assert (grant.right, grant.bound) == (Right.WRITE, False)


def test_no_two_secrets_are_the_same_and_each_names_its_key() -> None:
    made = [new_secret() for _ in range(100)]
    assert len({secret for _, secret in made}) == len({id for id, _ in made}) == 100
    assert all(id_in(secret) == id for id, secret in made)
    assert all(len(secret) == len("lamina_") + 16 + 1 + 64 for _, secret in made)


@pytest.mark.anyio
async def test_keys_are_listed_newest_first_with_or_without_revoked_ones(app: App) -> None:
    first, second, third = [(await app.keys.create(name)).key for name in ("a", "b", "c")]
    gone = await app.keys.revoke(second.id)
    assert await app.keys.list() == (third, gone, first)
    assert await app.keys.list(revoked=False) == (third, first)


@pytest.mark.anyio
async def test_a_revoked_key_is_refused_at_once_here_and_within_a_second_elsewhere(
    app: App, store_url: str, clock: ManualClock
) -> None:
    made = await app.keys.create("leaked")
    async with app_on(store_url, clock=clock) as other:
        await other.keys.verify(made.secret)
        await app.keys.verify(made.secret)
        revoked = await app.keys.revoke(made.key.id)
        assert revoked.revoked_at == clock.now()
        with pytest.raises(UnauthorizedError, match="revoked"):
            await app.keys.verify(made.secret)
        clock.advance(1)
        with pytest.raises(UnauthorizedError, match="revoked"):
            await other.keys.verify(made.secret)
    assert (await app.keys.revoke(made.key.id)).revoked_at == revoked.revoked_at


@pytest.mark.anyio
async def test_a_key_that_is_verified_while_it_is_revoked_is_not_remembered(app: App) -> None:
    made = await app.keys.create("leaked")
    app.keys.ring.forget()
    await asyncio.gather(app.keys.verify(made.secret), app.keys.revoke(made.key.id), return_exceptions=True)
    with pytest.raises(UnauthorizedError, match="revoked"):
        await app.keys.verify(made.secret)


@pytest.mark.anyio
async def test_a_leaked_secret_is_enough_to_revoke_its_key(app: App) -> None:
    made = await app.keys.create("leaked")
    assert (await app.keys.revoke(made.secret)).id == made.key.id
    stranger = new_secret()[1]
    with pytest.raises(KeyNotFoundError) as raised:
        await app.keys.revoke(stranger)
    assert stranger not in str(raised.value.to_dict())


@pytest.mark.anyio
async def test_an_expired_key_is_refused_the_moment_it_expires_even_while_it_is_remembered(
    app: App, clock: ManualClock
) -> None:
    made = await app.keys.create("visitor", expires_at=clock.now() + timedelta(seconds=0.5))
    await app.keys.verify(made.secret)
    clock.advance(0.5)
    with pytest.raises(UnauthorizedError, match="expired"):
        await app.keys.verify(made.secret)


@pytest.mark.anyio
async def test_there_is_a_key_until_every_one_is_revoked_whether_or_not_it_expired(
    app: App, store_url: str, clock: ManualClock
) -> None:
    assert not await app.keys.any()
    made = await app.keys.for_tenant("acme").create("theirs", expires_at=clock.now() + timedelta(seconds=1))
    assert await app.keys.any()
    clock.advance(5)
    assert await app.keys.any()
    async with app_on(store_url, clock=clock) as other:
        assert await other.keys.any()
        await app.keys.for_tenant("acme").revoke(made.key.id)
        assert not await app.keys.any()
        clock.advance(1)
        assert not await other.keys.any()


@pytest.mark.anyio
async def test_the_last_use_is_written_in_the_background_at_most_once_a_minute(app: App, clock: ManualClock) -> None:
    made = await app.keys.create("busy")
    uses = app.keys.ring.uses

    async def used() -> datetime | None:
        await app.keys.verify(made.secret)
        await uses.drain()
        return (await app.keys.get(made.key.id)).last_used_at

    first = clock.now()
    assert await used() == first
    clock.advance(59)
    assert await used() == first
    clock.advance(1)
    assert await used() == clock.now()
    assert uses.handled_count == 2


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": " "}, InvalidInputError),
        ({"name": "a\u200bb"}, InvalidInputError),
        ({"name": "x" * 257}, InvalidInputError),
        ({"name": "a", "right": "root"}, InvalidInputError),
        ({"name": "a", "user_id": ""}, InvalidInputError),
        ({"name": "a", "colour": "red"}, InvalidInputError),
        ({"name": "a", "session_id": "s"}, MissingIdentifierError),
        ({"name": "a", "agent_id": "s", "project_id": "p"}, MissingIdentifierError),
        ({"name": "a", "expires_at": datetime(2025, 1, 1)}, InvalidInputError),
    ],
)
async def test_what_makes_no_sense_makes_no_key(app: App, arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        await app.keys.create(**arguments)
    assert not await app.keys.any()


@pytest.mark.anyio
async def test_a_key_does_not_begin_expired(app: App, clock: ManualClock) -> None:
    with pytest.raises(InvalidInputError, match="passed already"):
        await app.keys.create("late", expires_at=clock.now())


@pytest.mark.anyio
async def test_wrong_keys_are_counted_and_none_is_remembered(app: App) -> None:
    made = await app.keys.create("good")
    wrong = [new_secret()[1] for _ in range(20)] + [made.secret[:-1] + ("0" if made.secret[-1] != "0" else "1")]
    for secret in wrong:
        with pytest.raises(UnauthorizedError) as raised:
            await app.keys.verify(secret)
        assert secret not in str(raised.value.to_dict())
    counted = points(app.metrics, "memory.operations.errors", "operation", "code")
    assert counted["key_verify", "UNAUTHORIZED"] == 21
    assert app.keys.ring._known == {}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "garbage",
    [
        "",
        " ",
        "lamina_",
        "lamina__",
        "\0",
        "lamina_\ud800",
        "🔑" * 100,
        "a" * 10_000_000,
        f"lamina_{'٣' * 16}_{'٣' * 64}",
    ],
)
async def test_garbage_is_no_key_and_never_reaches_the_store(
    app: App, garbage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.keys.create("good")
    monkeypatch.setattr(app.parts.database, "read", None)
    with pytest.raises(UnauthorizedError, match="no key of this service"):
        await app.keys.verify(garbage)


@pytest.mark.anyio
async def test_a_secret_is_good_only_as_it_is(app: App) -> None:
    secret = (await app.keys.create("good")).secret
    for wrong in (secret.upper(), f" {secret}", f"{secret}\n", secret[:-1], f"{secret}0", secret.replace("_", "-")):
        with pytest.raises(UnauthorizedError):
            await app.keys.verify(wrong)


@pytest.mark.anyio
async def test_secrets_are_compared_in_a_time_that_tells_nothing(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("lamina.access.keyring.hmac.compare_digest", compare)
    made = await app.keys.create("good")
    await app.keys.verify(made.secret)
    for secret in (new_secret()[1], f"lamina_{made.key.id}_{'0' * 64}"):
        with pytest.raises(UnauthorizedError):
            await app.keys.verify(secret)
    assert compared == [(32, 32)] * 3


def everything_in(store_url: str) -> str:
    """Every cell of every table as text, digests in hexadecimal."""
    engine = create_engine(parse_address(store_url), busy_timeout_s=30)
    try:
        with engine.connect() as connection:
            tables = sa.inspect(connection).get_table_names()
            rows = [row for name in tables for row in connection.execute(sa.text(f'SELECT * FROM "{name}"'))]
    finally:
        engine.dispose()
    return "\n".join(str([cell.hex() if isinstance(cell, bytes) else cell for cell in row]) for row in rows)


@pytest.mark.anyio
async def test_no_secret_is_in_the_store_and_the_audit_log_knows_the_id_alone(app: App, store_url: str) -> None:
    made = await app.keys.acting_as("key:admin").create("laptop", right="admin", user_id="ann")
    await app.keys.verify(made.secret)
    await app.keys.ring.uses.drain()
    await app.keys.revoke(made.secret)
    await app.keys.revoke(made.secret)
    rows = (await app.audit.list()).rows
    assert [(row.action, row.actor, row.target) for row in rows] == [
        ("key_revoke", "local", made.key.id),
        ("key_create", "key:admin", made.key.id),
    ]
    assert rows[1].details == {"right": "admin", "bound_to": ["user_id"]}
    stored = everything_in(store_url)
    assert made.key.id in stored
    assert made.secret not in stored
    assert made.secret.rpartition("_")[2] not in stored


@pytest.mark.anyio
async def test_a_key_of_another_tenant_is_nobodys_here(app: App) -> None:
    theirs = app.for_tenant("acme").keys
    made = await theirs.create("theirs")
    assert await app.keys.list() == ()
    for call in (app.keys.get, app.keys.revoke):
        with pytest.raises(KeyNotFoundError) as foreign:
            await call(made.key.id)
        with pytest.raises(KeyNotFoundError) as absent:
            await call(NOTHING_IN_THEM)
        assert {**foreign.value.to_dict(), "details": {}} == {**absent.value.to_dict(), "details": {}}
    assert (await app.keys.verify(made.secret)).tenant == "acme"
    assert await theirs.list() == (made.key,)
    assert (await app.audit.list()).rows == ()


@pytest.mark.anyio
@pytest.mark.parametrize("id", ["", "\0", "\ud800", "x" * 100_000, "🔑"])
async def test_an_id_that_no_key_has_is_not_found(app: App, id: str) -> None:
    for call in (app.keys.get, app.keys.revoke):
        with pytest.raises(KeyNotFoundError) as raised:
            await call(id)
        assert len(str(raised.value.to_dict())) < 1000
