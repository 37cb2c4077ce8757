"""Where the routes of a resource are gathered."""

from fastapi import APIRouter
from fastapi.routing import APIRoute

from lamina.api.errors import refusals


def resource(path: str, *, tag: str, also: tuple[int, ...] = ()) -> APIRouter:
    """A router for the routes below a path; what any of them may answer is documented, and `also` these statuses.

    An operation is named after its function: that stays when paths move.
    """
    common = (400, 401, 403, 413, 429, 502, 503, 504)
    return APIRouter(
        prefix=path, tags=[tag], responses=refusals(*common, *also), generate_unique_id_function=operation_id
    )


def operation_id(route: APIRoute) -> str:
    """The name of an operation in the OpenAPI document."""
    return route.name
