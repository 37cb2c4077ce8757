"""The lines of an export: one JSON object each, and errors that name the line."""

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Never

from lamina.errors import InvalidInputError
from lamina.kernel.checks import refuse


def dump_line(record: Mapping[str, object]) -> bytes:
    """A line with its end."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def load_line(raw: bytes) -> dict[str, Any]:
    """The object of a line. Raises InvalidInputError for anything else."""
    try:
        record = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        refuse("It is not one JSON object in UTF-8.", None, field="line")
    if not isinstance(record, dict):
        refuse("It is not a JSON object.", None, field="line")
    return record


@contextmanager
def in_line(number: int) -> Iterator[None]:
    """Name the line in the InvalidInputErrors (or kinds of them) that leave the block."""
    try:
        yield
    except InvalidInputError as error:
        details = {**error.details, "line": number}
        raise type(error)(f"Line {number}: {error.message}", operation="import", details=details) from None


async def each_line(lines: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The lines, wherever they come from."""
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield line
    else:
        for line in lines:
            yield line


def _no_constant(name: str) -> Never:
    raise ValueError(name)
