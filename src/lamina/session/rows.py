"""Between conversations and their rows."""

from typing import Any, cast

import sqlalchemy as sa

from lamina.database.schema import dump_json, from_micros, load_json
from lamina.index.store import ScopeKey
from lamina.session.tables import message, session
from lamina.session.types import Attachment, Message, MessageKind, Part, Role, Session, ToolCall, ToolResult

INDEXED_CHARACTERS = 20_000
"""Characters of a message that are searched by words and by vector: of a longer one the beginning and the end."""
_INDEXED_TAIL = 5_000

SESSION_COLUMNS: tuple[sa.Column[Any], ...] = (
    session.c.row,
    session.c.key,
    session.c.channel,
    session.c.user_id,
    session.c.created_at,
    session.c.updated_at,
    session.c.last_sequence,
    session.c.archived,
    session.c.total_tokens,
)
"""In the order `session_from_row` reads them."""

MESSAGE_COLUMNS: tuple[sa.Column[Any], ...] = (
    message.c.row,
    message.c.sequence,
    message.c.kind,
    message.c.id,
    message.c.role,
    message.c.author,
    message.c.content,
    message.c.parts,
    message.c.tokens,
    message.c.at,
    message.c.archived_at,
    message.c.total_tokens,
)
"""In the order `message_from_row` reads them."""

_KINDS: dict[str, type[ToolCall] | type[ToolResult] | type[Attachment]] = {
    "call": ToolCall,
    "result": ToolResult,
    "attachment": Attachment,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_ORIGINAL = "original"


def message_scope(tenant: str, session_row: int) -> ScopeKey:
    """The messages of one session are one scope. It bears a number, which says nothing once the session is deleted."""
    return ScopeKey(tenant=tenant, kind="message", key=str(session_row), label="message")


def session_from_row(row: Any) -> Session:
    """A session from a row of `SESSION_COLUMNS`; further columns are ignored."""
    return Session(
        key=row[1],
        channel=row[2],
        user_id=row[3],
        created_at=from_micros(row[4]),
        updated_at=from_micros(row[5]),
        last_sequence=row[6],
        message_count=row[6] - row[7],
        archived_count=row[7],
        total_tokens=row[8],
    )


def message_from_row(row: Any, session_key: str) -> Message:
    """A message from a row of `MESSAGE_COLUMNS`; further columns are ignored."""
    parts, original = ((), None) if row[7] == "[]" else _load(row[7])
    return Message(
        session_key=session_key,
        sequence=row[1],
        kind=MessageKind(row[2]),
        id=row[3],
        role=Role(row[4]),
        author=row[5],
        content=row[6],
        parts=parts,
        original=original,
        tokens=row[8],
        at=from_micros(row[9]),
        archived_at=None if row[10] is None else from_micros(row[10]),
    )


def dump_parts(parts: tuple[Part, ...], original: str | None = None) -> str:
    """The stored form of a message's parts, and of its original, which comes last."""
    plain = [_plain(part) for part in parts]
    if original is not None:
        plain.append({"type": _ORIGINAL, "text": original})
    return dump_json(plain) if plain else "[]"


def load_parts(value: object) -> tuple[Part, ...]:
    """The parts of a message from their stored form."""
    return _load(value)[0]


def _load(value: object) -> tuple[tuple[Part, ...], str | None]:
    found = [dict(fields) for fields in cast(list[dict[str, Any]], load_json(value))]
    original = found.pop()["text"] if found and found[-1]["type"] == _ORIGINAL else None
    return tuple(_KINDS[fields.pop("type")](**fields) for fields in found), original


def _plain(part: Part) -> dict[str, object]:
    return {"type": _NAMES[type(part)], **{name: getattr(part, name) for name in type(part).__slots__}}


def searched_text(content: str, parts: tuple[Part, ...]) -> str:
    """What terms and vectors of a message are made from: its words, then what its tools are called and gave back.

    At most `INDEXED_CHARACTERS`; of a longer text the beginning and the end. The message itself is kept whole.
    """
    told = [content] if content else []
    for part in parts:
        match part:
            case ToolCall(name=name, arguments=arguments):
                told += [name, _ends(arguments)]
            case ToolResult(name=name, content=result):
                told += [name, _ends(result)]
            case Attachment(name=name):
                told.append(name)
    return _ends("\n".join(told) if len(told) != 1 else told[0])


def _ends(text: str) -> str:
    if len(text) <= INDEXED_CHARACTERS:
        return text
    return f"{text[: INDEXED_CHARACTERS - _INDEXED_TAIL - 1]}\n{text[-_INDEXED_TAIL:]}"
