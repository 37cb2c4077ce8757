"""What must be true of a store at rest, whatever happened to it, on either engine."""

from pathlib import Path

import sqlalchemy as sa

from lamina.database.address import create_engine, parse_address

CHECKS = {
    "memories without index row": """
        SELECT count(*) FROM memory m LEFT JOIN index_entry e
        ON e.scope_id = m.scope_id AND e.version = m.indexed AND e.entry = m.row AND e.terms IS NOT NULL
        WHERE e.entry IS NULL""",
    "memories without vector": """
        SELECT count(*) FROM memory m LEFT JOIN index_vector v
        ON v.scope_id = m.scope_id AND v.entry = m.row WHERE v.entry IS NULL""",
    "index rows without memory": """
        SELECT count(*) FROM index_entry e LEFT JOIN memory m
        ON m.row = e.entry AND m.scope_id = e.scope_id AND m.indexed = e.version
        WHERE m.row IS NULL AND e.terms IS NOT NULL""",
    "vectors without memory": """
        SELECT count(*) FROM index_vector v LEFT JOIN memory m
        ON m.row = v.entry AND m.scope_id = v.scope_id WHERE m.row IS NULL""",
    "scopes that miscount": """
        SELECT count(*) FROM scope s
        WHERE s.entries <> (SELECT count(*) FROM memory m WHERE m.scope_id = s.id)""",
    "index rows newer than their scope": """
        SELECT count(*) FROM index_entry e JOIN scope s ON s.id = e.scope_id WHERE e.version > s.version""",
    "memories with a gap in their history": """
        SELECT count(*) FROM memory m
        WHERE m.version - 1 <> (SELECT count(*) FROM memory_revision r
                                WHERE r.memory_row = m.row AND r.version BETWEEN 1 AND m.version - 1)""",
    "history without memory": """
        SELECT count(*) FROM memory_revision r LEFT JOIN memory m ON m.row = r.memory_row
        WHERE m.row IS NULL OR r.version >= m.version""",
    "rows whose tenant is not their scope's": """
        SELECT (SELECT count(*) FROM memory x JOIN scope s ON s.id = x.scope_id WHERE s.tenant <> x.tenant)
             + (SELECT count(*) FROM index_entry x JOIN scope s ON s.id = x.scope_id WHERE s.tenant <> x.tenant)
             + (SELECT count(*) FROM index_vector x JOIN scope s ON s.id = x.scope_id WHERE s.tenant <> x.tenant)
             + (SELECT count(*) FROM memory_revision x JOIN memory m ON m.row = x.memory_row
                WHERE m.tenant <> x.tenant)""",
}


def loose_ends(store: str | Path) -> dict[str, int]:
    """How many of each there are, by name; empty for a store in order. `store` is a path or an address."""
    address = parse_address(str(store))
    engine = create_engine(address, busy_timeout_s=30)
    try:
        with engine.connect() as connection:
            found = {name: connection.execute(sa.text(query)).scalar_one() for name, query in CHECKS.items()}
            if address.path is not None:
                assert connection.execute(sa.text("PRAGMA integrity_check")).scalar_one() == "ok"
    finally:
        engine.dispose()
    return {name: count for name, count in found.items() if count}
