"""Whose account a request is on, at each of the doors."""

from typing import Any

import httpx2
import pytest

from tests.server.served import ASKED, service_on

pytestmark = pytest.mark.anyio

DOORS: dict[str, dict[str, Any]] = {
    "/v1/memories/search": ASKED,
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "/v1/embeddings": {"model": "any", "input": "dark mode"},
}


@pytest.mark.parametrize("path", DOORS)
async def test_a_key_has_an_account_of_its_own_at_every_door(sqlite_store_url: str, path: str) -> None:
    async with service_on(sqlite_store_url, server={"mcp": True, "rate_per_s": 0.001}) as served:
        key = {**await served.key(), "accept": "application/json, text/event-stream"}

        async def asked() -> httpx2.Response:
            return await served.http.post(path, json=DOORS[path], headers=key)

        # The first is on the account of the address: whose it is, is known once it was let in and answered.
        assert [(await asked()).status_code for _ in range(10)].count(200) == 2
