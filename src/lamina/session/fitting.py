"""Storing what came from somewhere else: what is refused must not keep the rest out, nor stand in its way for ever."""

from collections.abc import Callable, Sequence

from lamina.errors import InvalidInputError
from lamina.session.service import SessionService
from lamina.session.types import Message, NewMessage


async def append_what_fits(
    sessions: SessionService,
    messages: Sequence[NewMessage],
    *,
    session_key: str,
    user_id: str | None,
    refused: Callable[[str], None],
) -> list[Message | None]:
    """Store messages in their order, together where that goes; None for one that is refused, whose code is told.

    Raises what a store that fails raises.
    """
    try:
        return list(await sessions.append_many(messages, session_key=session_key, user_id=user_id))
    except InvalidInputError as error:
        if len(messages) == 1:
            refused(error.code)
            return [None]
    stored: list[Message | None] = []
    for message in messages:
        stored += await append_what_fits(sessions, [message], session_key=session_key, user_id=user_id, refused=refused)
    return stored
