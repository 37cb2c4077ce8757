"""/v1/export and /v1/import: everything a tenant knows as JSON Lines, as a stream in both directions."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.resource import resource
from lamina.errors import InvalidInputError
from lamina.transfer.port import OnConflict

router = resource("/v1", tag="transfer")

MEDIA_TYPE: Final = "application/x-ndjson"
_PIECE: Final = 65_536
_LONGEST_LINE: Final = 64 * 1024 * 1024
_EXAMPLE: Final = (
    '{"lamina_export":2,"records":{"memory":1}}\n'
    '{"content":"Prefers dark mode","layer":"user","identifiers":{"user_id":"ann"},"tags":["ui"]}\n'
)
_LINES: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}, "example": _EXAMPLE}}


class ImportAnswer(BaseModel):
    """What an import did."""

    stored: int = Field(examples=[1])
    replaced: int = Field(examples=[0])
    skipped: int = Field(description="Records that were there already.", examples=[0])
    expired: int = Field(description="Memories whose time is over.", examples=[0])
    apart: int = Field(description="Messages left out: their conversation went another way here.", examples=[0])
    expected: int | None = Field(description="What the first line announced.", examples=[1])
    kinds: dict[str, int] = Field(description="What was stored or replaced, by kind.", examples=[{"memory": 1}])


@router.get(
    "/export",
    summary="Export the tenant",
    response_class=StreamingResponse,
    responses={
        200: {"description": "One record a line, after a header and the hierarchy.", "content": _LINES},
        **refusals(400),
    },
)
async def export_tenant(
    visitor: Caller,
    only: Annotated[
        str | None, Query(description="Some parts of it, with commas.", examples=["memories,knowledge"])
    ] = None,
) -> Response:
    """Everything the tenant knows, one record a line, as `lamina export` writes it; keys and the audit log stay behind.

    The answer is a stream, and all of it is of one moment, whatever is written meanwhile.
    """
    visitor.require_unbound(Right.ADMIN, operation="export")
    transfer = visitor.rooms.transfer
    parts = None if only is None else transfer.chosen([part.strip() for part in only.split(",")])
    headers = {"content-disposition": 'attachment; filename="lamina-export.jsonl"'}
    return StreamingResponse(_pieces(transfer.export_lines(only=parts)), media_type=MEDIA_TYPE, headers=headers)


@router.post(
    "/import",
    summary="Import what was exported",
    response_model=ImportAnswer,
    responses=refusals(409),
    openapi_extra={"requestBody": {"required": True, "content": _LINES}},
)
async def import_tenant(
    request: Request,
    visitor: Caller,
    on_conflict: Annotated[OnConflict, Query(description="What happens to a record that is there already.")] = "skip",
) -> Response:
    """Store what the lines say and embed it anew; a line with a memory needs `content` and `identifiers`.

    Lines are stored in batches as they come, so the body may be of any size. After an error, which names the line, or
    an interruption send the same again: what is there is skipped. Conversations are never replaced. A skill stays
    approved; a script that the check refuses comes in switched off.
    """
    visitor.require_unbound(Right.ADMIN, operation="import")
    try:
        report = await visitor.rooms.transfer.import_lines(
            _lines(request.stream()), on_conflict=on_conflict, actor=visitor.grant.actor
        )
    except ClientDisconnect:
        raise InvalidInputError("The lines ended before their end; send them again.", operation="import") from None
    return answer(asdict(report))


async def _pieces(lines: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in pieces that are worth sending."""
    held: list[bytes] = []
    size = 0
    async with aclosing(lines):
        async for line in lines:
            held.append(line)
            size += len(line)
            if size >= _PIECE:
                yield b"".join(held)
                held.clear()
                size = 0
    yield b"".join(held)


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a stream, each with its end; one at most is held. Raises InvalidInputError for an endless one."""
    held: list[bytes] = []
    size = number = 0
    async for piece in pieces:
        *ended, rest = piece.split(b"\n")
        for part in ended:
            number += 1
            yield b"".join((*held, part, b"\n"))
            held.clear()
            size = 0
        if rest:
            held.append(rest)
            size += len(rest)
            if size > _LONGEST_LINE:
                raise InvalidInputError(
                    f"Line {number + 1}: it has more than {_LONGEST_LINE} bytes.", details={"line": number + 1}
                )
    if held:
        yield b"".join(held)
