"""Moments as other programs write them. Pure."""

from datetime import UTC, datetime


def moment_of(value: object) -> datetime | None:
    """A moment from ISO 8601 text or from Unix seconds, in UTC where no zone is named; None for anything else."""
    try:
        match value:
            case datetime():
                found = value
            case str() if value.strip():
                found = datetime.fromisoformat(value.strip())
            case bool():
                return None
            case int() | float():
                found = datetime.fromtimestamp(value, UTC)
            case _:
                return None
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def moment_text(value: object) -> str | None:
    """The same as text."""
    found = moment_of(value)
    return None if found is None else found.isoformat()
