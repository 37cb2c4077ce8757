"""Many callers at once: nothing acknowledged is lost, by a server that is killed or between two that share a store."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

import httpx2
import pytest

from benchmarks.served import Server, server
from benchmarks.traffic import Ask, Ledger, drive, missing
from lamina.app import App
from lamina.config import Settings
from tests.stores import static_embedder

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def round_robin(*servers: Server, secret: str = "") -> AsyncIterator[Ask]:
    """Sends every request to the next server."""
    headers = {"authorization": f"Bearer {secret}"} if secret else {}
    clients = [httpx2.AsyncClient(base_url=one.url, headers=headers, timeout=60) for one in servers]
    turns = cycle(clients)
    try:
        yield lambda method, path, **options: next(turns).request(method, path, **options)
    finally:
        await asyncio.gather(*(client.aclose() for client in clients))


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition of another process, which tells nobody when it is met."""
    for _ in range(600):
        if await condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it was never met")


async def contents(ask: Ask, user: str) -> list[str]:
    page = await ask("GET", "/v1/memories", params={"user_id": user, "limit": 100})
    return [one["content"] for one in page.json()["memories"]]


async def test_after_kill_9_under_load_every_acknowledged_write_is_there_and_a_retry_writes_nothing_twice(
    sqlite_store_url: str, tmp_path: Path
) -> None:
    store = str(tmp_path / "lamina.db")
    with server(store) as first:
        async with round_robin(first) as ask:

            def killed(ledger: Ledger) -> bool:
                if ledger.requests >= 200 and first.process.poll() is None:
                    first.kill()
                return False

            ledger = await drive(ask, callers=24, until=killed)
    assert ledger.faults == 0, ledger.failures
    assert ledger.memories

    with server(store) as second:
        async with round_robin(second) as ask:
            assert await missing(ask, ledger) == []
            for key, body in ledger.unanswered.items():

                async def added(key: str = key, body: object = body) -> bool:
                    answer = await ask("POST", "/v1/memories", json=body, headers={"idempotency-key": key})
                    assert answer.status_code in (201, 409)  # whoever died is believed to be at work for a while
                    return answer.status_code == 201

                await until(added)
                user = body["identifiers"]["user_id"]
                assert (await contents(ask, user)).count(body["content"]) == 1


async def test_two_servers_on_one_postgresql_behave_as_one(postgres_store_url: str) -> None:
    settings = Settings.model_validate({"database": {"url": postgres_store_url}})
    async with App(settings, embedder=static_embedder(), environ={}, observing=False) as app:
        key = await app.keys.create("load", right="admin")
        with server(postgres_store_url) as one, server(postgres_store_url) as other:
            async with round_robin(one, other, secret=key.secret) as ask:
                ledger = await drive(ask, callers=24, until=lambda ledger: ledger.requests >= 300)
                assert (ledger.faults, ledger.failures, ledger.unseen) == (0, [], [])
                assert await missing(ask, ledger) == []
                await _do_once_what_both_are_asked(ask)
                await _refuse_at_one_what_was_revoked_at_the_other(ask)


async def _do_once_what_both_are_asked(ask: Ask) -> None:
    facts = [f"Fact {number}" for number in range(8)]
    for fact in facts:
        body = {"content": fact, "identifiers": {"user_id": "ann"}}
        asked = (ask("POST", "/v1/memories", json=body, headers={"idempotency-key": fact}) for _ in range(2))
        statuses = sorted([answer.status_code for answer in await asyncio.gather(*asked)])
        assert statuses in ([201, 201], [201, 409])
    assert sorted(await contents(ask, "ann")) == facts


async def _refuse_at_one_what_was_revoked_at_the_other(ask: Ask) -> None:
    made = (await ask("POST", "/v1/keys", json={"name": "guest"})).json()
    guest = {"headers": {"authorization": f"Bearer {made['secret']}"}}
    for _ in range(2):
        assert (await ask("GET", "/v1/sessions", **guest)).status_code == 200
    await ask("DELETE", f"/v1/keys/{made['key']['id']}")

    async def refused() -> bool:
        return [(await ask("GET", "/v1/sessions", **guest)).status_code for _ in range(2)] == [401, 401]

    await until(refused)
