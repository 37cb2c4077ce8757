"""What carriers of one table share."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.transfer.port import Batch, Carried, Cursor


def count_rows(link: Link, table: sa.Table, tenant: str, *conditions: sa.ColumnElement[bool]) -> int:
    """How many rows a tenant has in a table."""
    counted = sa.select(sa.func.count()).select_from(table).where(table.c.tenant == tenant, *conditions)
    return int(link.execute(counted).scalar_one())


def page(
    link: Link,
    table: sa.Table,
    tenant: str,
    names: Sequence[str],
    after: Cursor,
    limit: int,
    *conditions: sa.ColumnElement[bool],
) -> list[tuple[int, Sequence[Any]]]:
    """The next rows of a tenant above a row number: the number and the named columns."""
    chosen = (
        sa.select(table.c.row, *(table.c[name] for name in names))
        .where(table.c.tenant == tenant, table.c.row > (0 if after is None else after), *conditions)
        .order_by(table.c.row)
        .limit(limit)
    )
    return [(row[0], row[1:]) for row in link.execute(chosen)]


def present_keys(link: Link, column: sa.Column[Any], batch: Batch) -> set[str]:
    """Those keys of a batch that the tenant has in a column already; held until the commit."""
    table = column.table
    found = sa.select(column).where(table.c.tenant == batch.tenant, column.in_([item.key for item in batch.items]))
    if link.name == "postgresql":  # in one order everywhere, because finding them locks them
        found = found.order_by(column).with_for_update()
    return set(link.execute(found).scalars())


def insert_one(link: Link, statement: Prepared, item: Carried, common: Mapping[str, Any]) -> int:
    """Insert a record unless its name is taken; the number of its row. Raises InvalidInputError for a taken one."""
    found = link.run(statement, {**item.values, **common}).fetchone()
    if found is None:
        raise item.refused("somebody else stored it at this moment; run the import again.")
    return int(found[0])
