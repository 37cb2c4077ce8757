"""Statements that both kinds of named rows, knowledge and references, need in the same form."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lamina.database.link import DialectName, Prepared, any_of, unindexed

_INSERTS: dict[DialectName, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_DIALECTS: tuple[DialectName, ...] = ("sqlite", "postgresql")

ByDialect = dict[DialectName, Prepared]


def insert_unless_taken(table: sa.Table, *unique: sa.Column[Any]) -> ByDialect:
    """Insert a row and return its number; no row comes back when the name is taken."""
    values: dict[str, Any] = {column.name: sa.bindparam(column.name) for column in table.c if column.name != "row"}
    return {
        name: Prepared(
            insert(table).values(values).on_conflict_do_nothing(index_elements=list(unique)).returning(table.c.row)
        )
        for name, insert in _INSERTS.items()
    }


def update_row(table: sa.Table) -> Prepared:
    """Set every column of a row, found by its number and tenant."""
    values: dict[str, Any] = {
        column.name: sa.bindparam(column.name) for column in table.c if column.name not in ("row", "scope_id")
    }
    return Prepared(
        sa.update(table)
        .where(table.c.row == sa.bindparam("at_row"), table.c.tenant == sa.bindparam("of_tenant"))
        .values(values)
    )


def find_to_change(table: sa.Table, columns: tuple[sa.Column[Any], ...], name: sa.Column[Any]) -> ByDialect:
    """Find a row by name and hold it until the commit; a SQLite writer is alone anyway."""
    found = sa.select(*columns).where(table.c.tenant == sa.bindparam("tenant"), name == sa.bindparam("name"))
    return {"sqlite": Prepared(found), "postgresql": Prepared(found.with_for_update())}


def select_rows(table: sa.Table, columns: tuple[sa.Column[Any], ...]) -> ByDialect:
    """Read rows by the numbers bound as `rows`."""
    return {
        dialect: Prepared(
            sa.select(*columns).where(
                any_of(table.c.row, "rows", dialect), unindexed(table.c.tenant, dialect) == sa.bindparam("tenant")
            )
        )
        for dialect in _DIALECTS
    }
