"""/v1/sessions: conversations, their messages, and finding every word again.

A session's key may hold slashes, so it stands before the name of what is asked for of it.
"""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from lamina.access.idempotency import derived_id
from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.idempotent import Once
from lamina.api.resource import resource
from lamina.api.session_shapes import (
    AppendedAnswer,
    MessagesAnswer,
    MessagesToAppend,
    MessagesToRecall,
    RecallAnswer,
    RemovalAnswer,
    SessionAnswer,
    SessionsAnswer,
)
from lamina.session.records import message_record, recall_record, removal_record, session_record

router = resource("/v1/sessions", tag="sessions")

SessionKey = Annotated[str, Path(description="The session's key.", examples=["telegram:42:7"])]


class Which(StrEnum):
    """Which messages of a conversation are meant."""

    LIVE = "live"
    ARCHIVED = "archived"
    ALL = "all"


_ARCHIVED = {Which.LIVE: False, Which.ARCHIVED: True, Which.ALL: None}


@router.get("", summary="List sessions", response_model=SessionsAnswer)
async def list_sessions(
    visitor: Caller,
    user_id: Annotated[str | None, Query(description="Only sessions of this user.", examples=["ann"])] = None,
    limit: Annotated[int | None, Query(description="Sessions on a page.")] = None,
    cursor: Annotated[str | None, Query(description="Where the page before this one ended.")] = None,
) -> Response:
    """One page of conversations, the newest first: all of the tenant's, or those of one user."""
    visitor.require(Right.READ, operation="session_list")
    user = visitor.user(user_id, operation="session_list")
    if (only := visitor.grant.identifiers.session_id) is not None:
        found = await visitor.conversation(only)
        mine = [] if found is None else [session_record(found)]
        return answer({"sessions": mine, "next_cursor": None, "total_count": len(mine)})
    page = await visitor.rooms.sessions.list(user_id=user, limit=limit, cursor=cursor)
    return answer(
        {
            "sessions": [session_record(one) for one in page.sessions],
            "next_cursor": page.next_cursor,
            "total_count": page.total_count,
        }
    )


@router.post("/recall", summary="Recall messages", response_model=RecallAnswer, responses=refusals(404))
async def recall_messages(body: MessagesToRecall, visitor: Caller) -> Response:
    """Find messages again, live and archived alike: in one session, or in all sessions of a user."""
    visitor.require(Right.READ, operation="session_recall")
    user = visitor.user(body.user_id, operation="session_recall")
    key = body.session_key or visitor.grant.identifiers.session_id
    if key is not None:
        await visitor.session(key)
    found = await visitor.rooms.sessions.recall(
        body.query,
        session_key=key,
        user_id=user,
        first=body.first,
        last=body.last,
        note=body.note,
        archived=body.archived,
        limit=body.limit,
        threshold=body.threshold,
    )
    return answer(recall_record(found))


@router.post(
    "/{session_key:path}/messages",
    status_code=201,
    summary="Append messages",
    response_model=AppendedAnswer,
    responses=refusals(404),
)
async def append_messages(session_key: SessionKey, body: MessagesToAppend, visitor: Caller, once: Once) -> Response:
    """Store what was said at the end of a conversation, which begins with it where it is not there yet.

    All messages are stored, or none. One whose id the session has already is not stored again: the stored one comes
    back.
    """
    visitor.require(Right.WRITE, operation="session_append")
    user = visitor.user(body.user_id, operation="session_append")
    if visitor.grant.bound:
        await visitor.conversation(session_key)
    messages = [one.to_message() for one in body.messages]
    if once is not None:
        messages = [replace(one, id=one.id or derived_id(once, number)) for number, one in enumerate(messages)]
    stored = await visitor.rooms.sessions.append_many(messages, session_key=session_key, user_id=user)
    return answer({"messages": [message_record(one) for one in stored]}, 201)


@router.get(
    "/{session_key:path}/messages", summary="List messages", response_model=MessagesAnswer, responses=refusals(404)
)
async def list_messages(
    session_key: SessionKey,
    visitor: Caller,
    which: Annotated[Which, Query(description="Those that are not archived, the archived ones, or all.")] = Which.LIVE,
    after: Annotated[int, Query(description="Only messages after this number.")] = 0,
    before: Annotated[int | None, Query(description="The newest messages before this number.")] = None,
    limit: Annotated[int | None, Query(description="Messages at most.")] = None,
) -> Response:
    """Messages, oldest first. The live ones begin with the summary of what is archived, where there is one."""
    visitor.require(Right.READ, operation="session_messages")
    session = await visitor.session(session_key)
    found = await visitor.rooms.sessions.messages(
        session_key, after=after, before=before, limit=limit, archived=_ARCHIVED[which]
    )
    return answer(
        {
            "messages": [message_record(one) for one in found],
            "last_sequence": session.last_sequence,
            "archived_through": session.archived_count,
        }
    )


@router.get("/{session_key:path}", summary="Get a session", response_model=SessionAnswer, responses=refusals(404))
async def get_session(session_key: SessionKey, visitor: Caller) -> Response:
    """A conversation as a whole: whose it is, how long it is, how much of it is archived."""
    visitor.require(Right.READ, operation="session_get")
    return answer(session_record(await visitor.session(session_key)))


@router.delete("/{session_key:path}", summary="Delete a session", response_model=RemovalAnswer, responses=refusals(404))
async def delete_session(session_key: SessionKey, visitor: Caller) -> Response:
    """Remove a conversation with everything made of it: messages, archive, notes, vectors, its memories, receipts."""
    visitor.require(Right.WRITE, operation="session_delete")
    return answer(removal_record(await visitor.delete_session(session_key)))
