"""Sessions and messages as plain JSON objects, for doors. Not for storage: rows have their own form."""

from lamina.kernel.text import moment_text
from lamina.session.types import Attachment, Message, Part, Recall, RecallHit, Session, SessionRemoval, ToolCall

Record = dict[str, object]


def session_record(session: Session) -> Record:
    """Every field of a session; moments in UTC."""
    return {
        "key": session.key,
        "channel": session.channel,
        "user_id": session.user_id,
        "created_at": moment_text(session.created_at),
        "updated_at": moment_text(session.updated_at),
        "last_sequence": session.last_sequence,
        "message_count": session.message_count,
        "archived_count": session.archived_count,
        "total_tokens": session.total_tokens,
    }


def message_record(message: Message) -> Record:
    """Every field of a message."""
    return {
        "session_key": message.session_key,
        "sequence": message.sequence,
        "kind": message.kind.value,
        "id": message.id,
        "role": message.role.value,
        "author": message.author,
        "content": message.content,
        "parts": [part_record(part) for part in message.parts],
        "tokens": message.tokens,
        "at": moment_text(message.at),
        "archived_at": None if message.archived_at is None else moment_text(message.archived_at),
    }


def part_record(part: Part) -> Record:
    """A tool call, a tool result or an attachment."""
    if isinstance(part, ToolCall):
        return {"type": "call", "id": part.id, "name": part.name, "arguments": part.arguments}
    if isinstance(part, Attachment):
        return {
            "type": "attachment",
            "media_type": part.media_type,
            "name": part.name,
            "size_bytes": part.size_bytes,
        }
    return {
        "type": "result",
        "call_id": part.call_id,
        "content": part.content,
        "name": part.name,
        "is_error": part.is_error,
    }


def hit_record(hit: RecallHit) -> Record:
    """A message that was found, its score and the parts of it."""
    return {"score": hit.score, "signals": dict(hit.signals), **message_record(hit.message)}


def recall_record(recall: Recall) -> Record:
    """What a recall found, and how far it looked."""
    return {
        "results": [hit_record(hit) for hit in recall],
        "total_count": recall.total_count,
        "searched_sessions": recall.searched_sessions,
        "left_out_sessions": recall.left_out_sessions,
    }


def removal_record(removal: SessionRemoval) -> Record:
    """What a deletion removed."""
    return {"deleted": removal.session_key, "removed": dict(removal.removed)}
