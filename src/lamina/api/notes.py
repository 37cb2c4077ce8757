"""/v1/sessions/…: the notes on a conversation, what they save, and writing them now."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.note_shapes import (
    NotesAnswer,
    ObservedAnswer,
    ReflectionsAnswer,
    StatusAnswer,
    TimelineAnswer,
    ToObserve,
)
from lamina.api.resource import resource
from lamina.api.sessions import SessionKey
from lamina.observation.records import note_record, report_record, status_record, timeline_record

router = resource("/v1/sessions", tag="sessions", also=(404,))

_Newest = Annotated[int, Query(description="Only so many, the newest; 0 for all.")]


@router.get("/{session_key:path}/notes", summary="List notes", response_model=NotesAnswer)
async def list_notes(session_key: SessionKey, visitor: Caller, limit: _Newest = 0) -> Response:
    """The observations of a conversation, oldest first, each entry with the messages it comes from."""
    visitor.require(Right.READ, operation="observation_list")
    await visitor.session(session_key)
    found = await visitor.rooms.observation.observations(session_key, limit=limit)
    return answer({"notes": [note_record(one) for one in found]})


@router.get("/{session_key:path}/reflections", summary="List reflections", response_model=ReflectionsAnswer)
async def list_reflections(session_key: SessionKey, visitor: Caller, limit: _Newest = 0) -> Response:
    """The reflections of a conversation, oldest first: what became of its older observations."""
    visitor.require(Right.READ, operation="observation_list")
    await visitor.session(session_key)
    found = await visitor.rooms.observation.reflections(session_key, limit=limit)
    return answer({"reflections": [note_record(one) for one in found]})


@router.get("/{session_key:path}/timeline", summary="Show the timeline", response_model=TimelineAnswer)
async def show_timeline(session_key: SessionKey, visitor: Caller) -> Response:
    """What became of a conversation's messages: archived, observed, condensed, or still raw."""
    visitor.require(Right.READ, operation="observation_timeline")
    await visitor.session(session_key)
    return answer(timeline_record(await visitor.rooms.observation.timeline(session_key)))


@router.get("/{session_key:path}/status", summary="Show what notes save", response_model=StatusAnswer)
async def show_status(session_key: SessionKey, visitor: Caller) -> Response:
    """What the notes on a conversation save and what they cost."""
    visitor.require(Right.READ, operation="observation_status")
    await visitor.session(session_key)
    return answer(status_record(await visitor.rooms.observation.status(session_key)))


@router.post("/{session_key:path}/observe", summary="Observe now", response_model=ObservedAnswer)
async def observe_now(session_key: SessionKey, body: ToObserve, visitor: Caller) -> Response:
    """Write the notes that are due on a conversation now, and say what was done."""
    visitor.require(Right.WRITE, operation="observation_observe")
    await visitor.session(session_key)
    return answer(report_record(await visitor.rooms.observation.observe_now(session_key, force=body.force)))
