"""The migrations make exactly the tables that the code declares."""

import pytest
import sqlalchemy as sa

from lamina.database.address import create_engine, parse_address
from lamina.database.schema import metadata
from tests.knowledge.opening import ROOM, knowing_app

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", ROOM)
async def test_a_migrated_table_has_the_declared_columns_keys_and_indexes(store_url: str, name: str) -> None:
    async with knowing_app(store_url):
        pass
    table = metadata.tables[name]
    engine = create_engine(parse_address(store_url), busy_timeout_s=5)
    with engine.connect() as connection:
        found = sa.inspect(connection)
        columns = {one["name"]: one["nullable"] for one in found.get_columns(name)}
        keys = found.get_pk_constraint(name)["constrained_columns"]
        uniques = {tuple(one["column_names"]) for one in found.get_unique_constraints(name)}
        indexes = {one["name"]: tuple(one["column_names"]) for one in found.get_indexes(name)}
    engine.dispose()
    assert columns == {column.name: column.nullable for column in table.columns}
    assert keys == [column.name for column in table.primary_key.columns]
    declared = {item for item in table.constraints if isinstance(item, sa.UniqueConstraint)}
    assert uniques == {tuple(column.name for column in item.columns) for item in declared}
    assert {(index.name, tuple(column.name for column in index.columns)) for index in table.indexes} <= set(
        indexes.items()
    )
