"""One service a module, with a tenant of its own for every test, and its callers."""

import shutil
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from lamina.access.types import Right
from lamina.memory.types import IdentifierArguments
from tests.api.calls import Api, Bearers, Caller, api_on

_tenants = count(1)


@pytest.fixture(scope="module")
async def api(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Api]:
    """A service with everything switched on."""
    path = tmp_path_factory.mktemp("api") / "lamina.db"
    shutil.copy(migrated_file, path)
    async with api_on(f"sqlite:///{path}") as served:
        yield served


@pytest.fixture
def tenant() -> str:
    """A tenant that only this test uses."""
    return f"tenant-{next(_tenants)}"


@pytest.fixture
def bearer(api: Api, tenant: str) -> Bearers:
    """Makes callers with keys of the tenant."""

    async def make(right: Right = Right.WRITE, **whose: str) -> Caller:
        named: IdentifierArguments = {**whose}  # type: ignore[typeddict-item]
        return await api.bearer(tenant, right=right, whose=named)

    return make


@pytest.fixture
async def admin(bearer: Bearers) -> Caller:
    """Somebody with every right of the tenant."""
    return await bearer(Right.ADMIN)


@pytest.fixture
async def ann(bearer: Bearers) -> Caller:
    """Somebody whose key is for the user ann."""
    return await bearer(user_id="ann")


@pytest.fixture
async def bob(bearer: Bearers) -> Caller:
    """Somebody whose key is for the user bob."""
    return await bearer(user_id="bob")


@pytest.fixture
async def stranger(api: Api, tenant: str) -> Caller:
    """Somebody with every right of another tenant."""
    return await api.bearer(f"not {tenant}")
