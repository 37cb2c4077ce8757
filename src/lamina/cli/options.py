"""Options that several commands share, and what their text means."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import typer

from lamina.errors import InvalidFilterError, InvalidInputError

_SPAN = re.compile(r"(\d+)([smhdw])")
LAYERS = ("agent", "user", "session", "project", "team", "org", "company")
"""The names of the layers, strongest first; a test keeps them equal to `MemoryLayer`."""
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def layer_option(help: str) -> Any:
    """--layer, with the names there are."""
    return typer.Option("--layer", "-l", metavar="NAME", help=f"{help} One of {', '.join(LAYERS)}.")


def flag(name: str, help: str) -> Any:
    """A switch that is off unless it is given."""
    return typer.Option(name, help=help, metavar="", show_default=False)


def tag_option(help: str) -> Any:
    """--tag, repeatable."""
    return typer.Option("--tag", metavar="TAG", help=help, show_default=False)


def where_option() -> Any:
    """--where, a filter on metadata."""
    return typer.Option("--where", metavar="JSON", help="Only with such metadata.", show_default=False)


def moment_option(name: str, help: str) -> Any:
    """A moment in time."""
    return typer.Option(name, metavar="TIME", help=help, show_default=False)


def moment(text: str | None, option: str, *, now: datetime, past: bool = False) -> datetime | None:
    """A moment from ISO 8601 text (without a zone: local time) or a span such as 12h or 30d from `now`, or before it.

    Raises InvalidInputError for anything else.
    """
    if text is None:
        return None
    span = _SPAN.fullmatch(text.strip())
    try:
        if span:
            length = timedelta(**{_UNITS[span[2]]: int(span[1])})
            return now - length if past else now + length
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"{option} must be a moment such as 2026-05-01T12:00+02:00, or a span such as 90m, 12h or 30d.",
            details={"field": option},
        ) from None


def json_object(text: str | None, option: str, *, error: type[InvalidInputError] = InvalidInputError) -> dict[str, Any]:
    """A JSON object from an option, empty when it was not given; raises `error` for anything else."""
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as reason:
        raise error(f"{option} is not JSON: {reason}", details={"field": option}) from None
    if not isinstance(value, dict):
        raise error(f"{option} must be a JSON object.", details={"field": option})
    return value


def where_object(text: str | None) -> dict[str, Any] | None:
    """The filter that --where holds; raises InvalidFilterError for what is not a JSON object."""
    return json_object(text, "--where", error=InvalidFilterError) or None
