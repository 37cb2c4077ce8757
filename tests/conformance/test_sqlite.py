"""The shipped conformance suite on a SQLite file; all checks share one, as a third party's would."""

import pytest

from lamina.memory.provider import MemoryProvider
from lamina.testing import MemoryProviderConformance
from tests.stores import sql_provider


@pytest.fixture(scope="module")
def shared_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("conformance") / "lamina.db")


@pytest.mark.requirement("memory.provider.methods", "memory.capabilities.vector-search")
class TestSqlite(MemoryProviderConformance):
    @pytest.fixture(autouse=True)
    def store(self, shared_file: str) -> None:
        self.url = shared_file

    async def make_provider(self) -> MemoryProvider:
        return sql_provider(self.url)
