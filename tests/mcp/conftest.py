"""The server that tests of MCP talk to."""

from collections.abc import AsyncIterator

import pytest

from tests.mcp.served import Served, served


@pytest.fixture
async def house(sqlite_store_url: str) -> AsyncIterator[Served]:
    """A server on an empty store with everything switched on."""
    async with served(sqlite_store_url) as opened:
        yield opened
