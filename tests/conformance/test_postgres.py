"""The shipped conformance suite on a real PostgreSQL; all checks share one database, as a third party's would."""

from collections.abc import Iterator

import pytest

from lamina.memory.provider import MemoryProvider
from lamina.testing import MemoryProviderConformance
from tests.postgres import fresh_database
from tests.stores import sql_provider


@pytest.fixture(scope="module")
def shared_url(postgres_server: str) -> Iterator[str]:
    with fresh_database(postgres_server) as url:
        yield url


@pytest.mark.requirement("memory.provider.methods", "memory.capabilities.vector-search")
class TestPostgres(MemoryProviderConformance):
    @pytest.fixture(autouse=True)
    def store(self, shared_url: str) -> None:
        self.url = shared_url

    async def make_provider(self) -> MemoryProvider:
        return sql_provider(self.url)
