"""/v1/context: from a query to a prompt, and the receipts of prompts."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.context_shapes import (
    ContextAnswer,
    ContextToRetrieve,
    PromptAnswer,
    PromptToAssemble,
    ReceiptAnswer,
    ReceiptsAnswer,
    TurnAnswer,
    TurnToAssemble,
)
from lamina.api.errors import refusals
from lamina.api.resource import resource
from lamina.api.shapes import IdentifiersBody
from lamina.context.receipt import Receipt
from lamina.context.records import item_record, retrieval_record
from lamina.context.types import TURN_LAYERS
from lamina.errors import ReceiptNotFoundError, SessionNotFoundError
from lamina.session.checked import check_session_key
from lamina.visitor import Visitor

router = resource("/v1/context", tag="context")


@router.post("/retrieve", summary="Retrieve context", response_model=ContextAnswer, responses=refusals(404))
async def retrieve_context(body: ContextToRetrieve, visitor: Caller) -> Response:
    """What the layers of context have for a query. A layer that fails is left out and named under `failures`."""
    visitor.require(Right.READ, operation="context_retrieve")
    session, whose = await _asked(visitor, body.session_key, body.identifiers, "context_retrieve")
    found = await visitor.rooms.context.retrieve(
        body.query, body.layers, max_per_layer=body.max_per_layer, session_key=session, **whose
    )
    return answer(retrieval_record(found))


@router.post("/assemble", summary="Assemble a prompt", response_model=PromptAnswer, responses=refusals(404))
async def assemble_prompt(body: PromptToAssemble, visitor: Caller) -> Response:
    """The prompt of the application with everything that is known for the query, within a budget, and its receipt."""
    visitor.require(Right.READ, operation="context_assemble")
    session, whose = await _asked(visitor, body.session_key, body.identifiers, "context_assemble")
    prompt = await visitor.rooms.context.assemble(
        body.base,
        query=body.query,
        layers=TURN_LAYERS if body.layers is None else body.layers,
        budget_tokens=body.budget_tokens,
        memory_budget_tokens=body.memory_budget_tokens,
        max_per_layer=body.max_per_layer,
        session_key=session,
        **whose,
    )
    items = [item_record(one) for one in prompt.items]
    return answer({"text": prompt.text, "items": items, "receipt": prompt.receipt.to_dict()})


@router.post("/turn", summary="Assemble a turn", response_model=TurnAnswer, responses=refusals(404))
async def assemble_turn(body: TurnToAssemble, visitor: Caller) -> Response:
    """The prompt and what was said last in a conversation, ready to be sent to a model."""
    visitor.require(Right.READ, operation="context_turn")
    session, whose = await _asked(visitor, body.session_key, body.identifiers, "context_turn")
    turn = await visitor.rooms.context.turn(
        body.base,
        query=body.query,
        session_key=session,
        budget_tokens=body.budget_tokens,
        memory_budget_tokens=body.memory_budget_tokens,
        message_budget_tokens=body.message_budget_tokens,
        **whose,
    )
    return answer({"messages": turn.chat(), "tokens": turn.tokens, "receipt": turn.prompt.receipt.to_dict()})


@router.get("/receipts", summary="List receipts", response_model=ReceiptsAnswer, responses=refusals(404))
async def list_receipts(
    visitor: Caller,
    session_key: Annotated[str | None, Query(description="Only prompts of this conversation.")] = None,
    limit: Annotated[int, Query(description="Receipts at most.")] = 20,
) -> Response:
    """The receipts of the newest prompts; a key for somebody has to name a conversation of theirs."""
    visitor.require(Right.READ, operation="receipts")
    if session_key is None:
        visitor.require_unbound(Right.READ, operation="receipts")
    elif visitor.grant.bound:
        await visitor.session(session_key)
    found = await visitor.rooms.context.list_receipts(session_key=session_key, limit=limit)
    return answer({"receipts": [one.to_dict() for one in found if _is_for(visitor, one)]})


@router.get("/receipts/{id}", summary="Get a receipt", response_model=ReceiptAnswer, responses=refusals(404))
async def get_receipt(id: str, visitor: Caller) -> Response:
    """What one prompt was made of; the beginning of its id is enough."""
    visitor.require(Right.READ, operation="receipts")
    found = await visitor.rooms.context.get_receipt(id)
    if visitor.grant.bound and not (_is_for(visitor, found) and await _is_theirs(visitor, found.session_key)):
        raise ReceiptNotFoundError(operation="receipts", details={"id": id})
    return answer(found.to_dict())


def _is_for(visitor: Visitor, receipt: Receipt) -> bool:
    """Whether a prompt was not for another user, who gave the session's name to it first."""
    return visitor.grant.identifiers.user_id in (None, receipt.user_id)


async def _is_theirs(visitor: Visitor, session_key: str | None) -> bool:
    """Whether a prompt was of a conversation of the caller's own."""
    try:
        return session_key is not None and visitor.owns(await visitor.session(session_key))
    except SessionNotFoundError:
        return False


async def _asked(
    visitor: Visitor, session_key: str | None, identifiers: IdentifiersBody, operation: str
) -> tuple[str | None, dict[str, str]]:
    """The conversation and the identifiers of a request, within what the key allows.

    A conversation is named by `session_key`, or by `session_id` among the identifiers.
    """
    whose = visitor.identifiers(identifiers.given(), operation=operation)
    key = session_key or whose.get("session_id")
    if key is None:
        return None, whose
    if visitor.grant.bound:
        await visitor.conversation(key)
    return check_session_key(key), whose
