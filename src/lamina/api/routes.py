"""Every resource of the API, under /v1."""

from fastapi import APIRouter

from lamina.api import (
    audit,
    context,
    graph,
    hierarchy,
    keys,
    knowledge,
    learnings,
    memories,
    notes,
    quarantine,
    references,
    sessions,
    skills,
    transfer,
)
from lamina.api.errors import refusals

# Notes come before sessions, whose keys may hold slashes and would swallow what follows them.
RESOURCES = (
    memories,
    knowledge,
    references,
    learnings,
    skills,
    notes,
    sessions,
    context,
    graph,
    quarantine,
    audit,
    hierarchy,
    keys,
    transfer,
)


def api_router() -> APIRouter:
    """The routes of every resource."""
    router = APIRouter(prefix="/v1", responses=refusals(400, 401, 403, 413, 429, 502, 503, 504))
    for resource in RESOURCES:
        router.include_router(resource.router)
    return router
