"""Whether the service lives, whether it can work, and what it counted."""

import asyncio
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller
from lamina.api.errors import refusals
from lamina.api.resource import operation_id
from lamina.app import App
from lamina.database.link import Link
from lamina.database.migrate import HEAD
from lamina.errors import ForbiddenError, LaminaError
from lamina.observability.prometheus import CONTENT_TYPE, render_prometheus

router = APIRouter(tags=["service"], generate_unique_id_function=operation_id)


class Alive(BaseModel):
    """The process answers."""

    status: Literal["alive"]


class Ready(BaseModel):
    """Whether requests can be answered."""

    status: Literal["ready", "not_ready"]
    store: str = Field(description="`ok`, or what is wrong with it.", examples=["ok"])
    schema_version: str | None = Field(description="The version of the store's tables.", examples=[HEAD])


@router.get("/healthz", summary="Is it alive?", response_model=Alive)
async def healthz() -> Response:
    """Answers whenever the process can answer at all; nothing is looked at. Needs no key."""
    return answer({"status": "alive"})


@router.get("/readyz", summary="Can it work?", response_model=Ready, responses={503: {"model": Ready}})
async def readyz(request: Request) -> Response:
    """Whether the store can be reached and its tables are those of this version. Needs no key."""
    app: App = request.app.state.lamina
    store, found = "ok", None
    database = app.parts.database

    def look(link: Link) -> str | None:
        database.refuse_another_file()
        return _schema_version(link)

    try:
        found = await database.read(look)
    except LaminaError as error:
        store = error.code
    ready = found == HEAD
    if store == "ok" and not ready:
        store = f"its tables are of version {found}, not {HEAD}"
    document = {"status": "ready" if ready else "not_ready", "store": store, "schema_version": found}
    return answer(document, 200 if ready else 503)


def _schema_version(link: Link) -> str | None:
    row = link.raw.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])


@router.get(
    "/metrics",
    summary="What was counted",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"example": "memory_operations_total 12\n"}}}, **refusals(401, 403)},
)
async def metrics(request: Request, visitor: Caller) -> Response:
    """Counters and latencies as Prometheus reads them; every tenant's, so a key must be of the configured tenant."""
    visitor.require_unbound(Right.READ, operation="metrics")
    app: App = request.app.state.lamina
    if visitor.grant.tenant != app.settings.memory.tenant:
        raise ForbiddenError("Metrics count what every tenant does; this key is for one.", operation="metrics")
    page = await asyncio.to_thread(render_prometheus, app.metrics)
    return Response(page, media_type=CONTENT_TYPE)
