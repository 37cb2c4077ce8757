"""Column types and the one MetaData every room declares its tables on.

Times are whole microseconds since the epoch (exact, ordered, the same on both engines), JSON is text on SQLite
and JSONB on PostgreSQL. Every table carries its tenant; a test walks this MetaData to prove it.
"""

import json
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Json = sa.Text().with_variant(postgresql.JSONB(), "postgresql")
RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Compared by code point on both engines."""

_DECODER = json.JSONDecoder()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """A moment as stored."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(value: int) -> datetime:
    """A stored moment, aware, in UTC."""
    return _EPOCH + timedelta(microseconds=value)


def dump_json(value: object) -> str:
    """Compact JSON, keys as given; refuses NaN and infinities."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def load_json(value: object) -> object:
    """A stored JSON column: text on SQLite, already parsed by the PostgreSQL driver."""
    if value == "{}":  # like "[]", what most columns of most rows hold
        return {}
    if value == "[]":
        return []
    if not isinstance(value, str):
        return json.loads(value) if isinstance(value, bytes) else value
    found, end = _DECODER.raw_decode(value)  # as `dump_json` wrote it, without space around
    return found if end == len(value) else json.loads(value)
