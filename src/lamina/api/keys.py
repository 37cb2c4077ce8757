"""/v1/keys: who may call the service, and what they may do."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from lamina.access.records import key_record
from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.resource import resource
from lamina.api.shapes import NOBODY, Body, IdentifiersBody

router = resource("/v1/keys", tag="keys")


class KeyToCreate(Body):
    """A key to be made."""

    name: str = Field(description="What it is for.", examples=["support bot"])
    right: Right = Field(default=Right.WRITE, description="What its bearer may do; each includes those before it.")
    identifiers: IdentifiersBody = Field(
        default=NOBODY, description="Whom it is for; the whole tenant without.", examples=[{"user_id": "ann"}]
    )
    expires_at: datetime | None = Field(default=None, description="When it ends; never without.")


class KeyAnswer(BaseModel):
    """A key as it can be shown."""

    id: str = Field(examples=["4f9a2c1b7d3e"])
    name: str = Field(examples=["support bot"])
    right: Right = Field(examples=["write"])
    identifiers: dict[str, str] = Field(examples=[{"user_id": "ann"}])
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute.")


class NewKeyAnswer(BaseModel):
    """A key that was just made."""

    key: KeyAnswer
    secret: str = Field(
        description="What to send as `Authorization: Bearer`. It is shown this once and stored nowhere.",
        examples=["lamina_4f9a2c1b7d3e_…"],
    )


class KeysAnswer(BaseModel):
    """Keys, the newest first."""

    keys: list[KeyAnswer]


@router.post("", status_code=201, summary="Create a key", response_model=NewKeyAnswer)
async def create_key(body: KeyToCreate, visitor: Caller) -> Response:
    """Make a key of the caller's tenant. The first key closes the service to callers without one."""
    visitor.require_unbound(Right.ADMIN, operation="key_create")
    keys = visitor.rooms.keys.acting_as(visitor.grant.actor)
    whose = visitor.identifiers(body.identifiers.given(), operation="key_create")
    made = await keys.create(body.name, right=body.right, expires_at=body.expires_at, **whose)
    return answer({"key": key_record(made.key), "secret": made.secret}, 201, {"cache-control": "no-store"})


@router.get("", summary="List keys", response_model=KeysAnswer)
async def list_keys(
    visitor: Caller, revoked: Annotated[bool, Query(description="Also keys that were revoked.")] = True
) -> Response:
    """The tenant's keys with their last use, never their secrets."""
    visitor.require_unbound(Right.ADMIN, operation="key_list")
    return answer({"keys": [key_record(one) for one in await visitor.rooms.keys.list(revoked=revoked)]})


@router.get("/{id}", summary="Get a key", response_model=KeyAnswer, responses=refusals(404))
async def get_key(id: str, visitor: Caller) -> Response:
    """One key of the tenant."""
    visitor.require_unbound(Right.ADMIN, operation="key_get")
    return answer(key_record(await visitor.rooms.keys.get(id)))


@router.delete("/{id}", summary="Revoke a key", response_model=KeyAnswer, responses=refusals(404))
async def revoke_key(id: str, visitor: Caller) -> Response:
    """Take a key's rights away for good. Every process refuses it within a second."""
    visitor.require_unbound(Right.ADMIN, operation="key_revoke")
    return answer(key_record(await visitor.rooms.keys.acting_as(visitor.grant.actor).revoke(id)))
