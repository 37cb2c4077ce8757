"""Every resource of the API, under /v1."""

from fastapi import APIRouter

from lamina.api import memories
from lamina.api.errors import refusals

RESOURCES = (memories,)


def api_router() -> APIRouter:
    """The routes of every resource."""
    router = APIRouter(prefix="/v1", responses=refusals(400, 401, 403, 413, 429, 503, 504))
    for resource in RESOURCES:
        router.include_router(resource.router)
    return router
