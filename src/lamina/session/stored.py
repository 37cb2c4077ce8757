"""Messages as texts for the graph: what people and the assistant said, seen within its session only.

What a tool printed is left out: nobody vouches for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.texts import StoredText
from lamina.kernel.saved import SavedText
from lamina.session.rows import INDEXED_CHARACTERS
from lamina.session.tables import message, session
from lamina.session.types import Message, MessageKind, Role

KIND = "message"
_TOLD = (Role.USER, Role.ASSISTANT)
_TEXT = (
    sa.select(message.c.row, message.c.tenant, sa.func.substr(message.c.content, 1, INDEXED_CHARACTERS), session.c.key)
    .join_from(message, session, message.c.session_row == session.c.row)
    .where(message.c.kind == "message", message.c.role.in_(_TOLD), message.c.content != "")
)


def is_told(one: Message) -> bool:
    """Whether the graph reads a message."""
    return one.role in _TOLD and bool(one.content) and one.kind is MessageKind.MESSAGE


def saved_text(tenant: str, row: int, one: Message) -> SavedText:
    """What a listener hears of a new message."""
    text = one.content[:INDEXED_CHARACTERS]
    return SavedText(tenant=tenant, kind=KIND, key=str(row), text=text, created=True, session_key=one.session_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessages:
    """Messages as `StoredTexts`. The key of a message is its row, since its id is unique in its session only."""

    scope_of: Callable[[str], str]
    """Who may see what was said in the session of a key."""

    @property
    def kind(self) -> str:
        """What these texts are called."""
        return KIND

    def after(self, link: Link, row: int, *, limit: int, tenant: str | None = None) -> list[StoredText]:
        """Messages above a row, ascending; of every tenant unless one is named."""
        statement = _TEXT.where(message.c.row > row).order_by(message.c.row).limit(limit)
        if tenant is not None:
            statement = statement.where(message.c.tenant == tenant)
        return [self._stored(found) for found in link.execute(statement)]

    def read(self, link: Link, tenant: str, keys: Sequence[str], *, hold: bool = False) -> list[StoredText]:
        """Those of the messages that exist; `hold` keeps them until the commit, and passes over what others hold."""
        rows = [int(key) for key in keys if key.isascii() and key.isdecimal()]
        statement = _TEXT.where(message.c.tenant == tenant, message.c.row.in_(rows)).order_by(message.c.row)
        if hold and link.name == "postgresql":
            statement = statement.with_for_update(of=message, read=True, skip_locked=True)
        return [self._stored(found) for found in link.execute(statement)]

    def _stored(self, row: Any) -> StoredText:
        return StoredText(row=row[0], tenant=row[1], key=str(row[0]), text=row[2], scope=self.scope_of(row[3]))
