"""Where the routes of a resource are gathered."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from lamina.api.caller import admitted
from lamina.api.errors import refusals


class GuardedRoute(APIRoute):
    """A route whose caller is let in before anything that they send is read, let alone parsed."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            await admitted(request)
            return await handle(request)

        return guarded


def resource(path: str, *, tag: str, also: tuple[int, ...] = ()) -> APIRouter:
    """A router for the routes below a path; what any of them may answer is documented, and `also` these statuses.

    An operation is named after its function: that stays when paths move.
    """
    common = (400, 401, 403, 413, 429, 502, 503, 504)
    return APIRouter(
        prefix=path,
        tags=[tag],
        responses=refusals(*common, *also),
        generate_unique_id_function=operation_id,
        route_class=GuardedRoute,
    )


def operation_id(route: APIRoute) -> str:
    """The name of an operation in the OpenAPI document."""
    return route.name
