"""Computes everything about new messages that needs no transaction: tokens, terms, vectors."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from lamina.embedding.cached import Vector
from lamina.embedding.query import QueryEmbedder
from lamina.errors import LaminaError
from lamina.index.store import indexable
from lamina.kernel.ids import new_id
from lamina.kernel.tokens import TokenCounter
from lamina.session.appending import PreparedMessage
from lamina.session.counting import message_tokens
from lamina.session.rows import dump_parts, searched_text
from lamina.session.types import Message, NewMessage, Part, ToolCall, ToolResult

_log = logging.getLogger("lamina.session")

_INLINE_CHARACTERS = 10_000
_WEIGHED_WORDS = 200  # what a tool printed is long, and one of its words must still find it


async def prepare_messages(
    checked: Sequence[NewMessage],
    *,
    key: str,
    now: datetime,
    count: TokenCounter,
    tenant: str,
    embedder: QueryEmbedder | None,
    failed: Callable[[str], None],
) -> tuple[tuple[PreparedMessage, ...], int | None]:
    """Messages ready to be stored, and the model of their vectors, None where there are none.

    An embedder that fails is told to `failed`: words are enough to find a message, and a back-fill finds what has no
    vector. Much text is worked through on a thread, so that the event loop goes on.
    """
    texts = [searched_text(one.content, one.parts) for one in checked]
    vectors, model_id = await _vectors(texts, tenant, embedder, failed)

    def prepare() -> tuple[PreparedMessage, ...]:
        prepared = zip(checked, texts, vectors, strict=True)
        return tuple(_prepared(one, text, vector, key, now, count) for one, text, vector in prepared)

    if sum(_length(one) for one in checked) > _INLINE_CHARACTERS:
        return await asyncio.to_thread(prepare), model_id
    return prepare(), model_id


async def _vectors(
    texts: Sequence[str], tenant: str, embedder: QueryEmbedder | None, failed: Callable[[str], None]
) -> tuple[Sequence[Vector | None], int | None]:
    if embedder is not None:
        try:
            found = await embedder.cache.embed(texts, purpose="document", tenant=tenant, model_id=embedder.model_id)
        except LaminaError as error:
            failed(error.code)
            _log.warning("session_append: stored without a vector (%s)", error.code)
        else:
            return [one.vector for one in found], embedder.model_id
    return [None] * len(texts), None


def _prepared(
    one: NewMessage, text: str, vector: Vector | None, key: str, now: datetime, count: TokenCounter
) -> PreparedMessage:
    at = now if one.at is None else one.at
    message = Message(
        session_key=key,
        sequence=0,
        id=one.id or new_id(),
        role=one.role,
        content=one.content,
        parts=one.parts,
        author=one.author,
        at=at,
        tokens=message_tokens(count, one.content, one.parts, one.author),
        original=one.original,
    )
    terms = indexable(text, vector, **ranked_by(key, one.author, at))
    parts = dump_parts(one.parts, one.original)
    return PreparedMessage(message=message, given_id=one.id is not None, parts=parts, text=text, indexable=terms)


def ranked_by(key: str, author: str | None, at: datetime) -> dict[str, Any]:
    """What ranking knows of a message beside its text."""
    # A session goes on for months; what was said on one day belongs together.
    return {"conversation": f"{key} {at:%Y-%m-%d}", "author": author, "said_at": at, "longest": _WEIGHED_WORDS}


def _length(one: NewMessage) -> int:
    return len(one.content) + len(one.original or "") + sum(map(_part_length, one.parts))


def _part_length(part: Part) -> int:
    match part:
        case ToolCall(arguments=arguments):
            return len(arguments)
        case ToolResult(content=content):
            return len(content)
    return 0
