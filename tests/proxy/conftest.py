"""One endpoint for the tests of a module: each test names sessions of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxy.served import House, house


@pytest.fixture(scope="module")
def shared_house(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """An endpoint on an empty store, for a whole module."""
    path = tmp_path_factory.mktemp("house") / "lamina.db"
    shutil.copy(migrated_file, path)
    with house(str(path), knowledge={"enabled": True}) as opened:
        yield opened


@pytest.fixture
def served(shared_house: House) -> Iterator[House]:
    """The endpoint of the module, its upstream as new."""
    upstream = shared_house.upstream
    for told in (upstream.script, upstream.requests, upstream.headers, upstream.bodies):
        told.clear()
    upstream.always = None
    yield shared_house
    shared_house.close_clients()
