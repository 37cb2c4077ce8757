"""Logging in and out: one plain form, without a script."""

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from lamina.errors import ForbiddenError, LaminaError, UnauthorizedError
from lamina.page.door import COOKIE, SCOPE, Door, require_own_origin

_LONGEST_FORM: Final = 4096
_STATUS: Final = {UnauthorizedError.code: 401, ForbiddenError.code: 403}

Handler = Callable[[Request], Awaitable[Response]]


def routes(style: str, fonts: str) -> list[Route]:
    """The routes of the login, with the addresses of its style sheets."""
    template = Environment(loader=PackageLoader("lamina.page", "static"), autoescape=select_autoescape()).get_template(
        "login.html"
    )

    def form(request: Request, *, error: str = "", status: int = 200) -> Response:
        text = template.render(style=style, fonts=fonts, next=_local(request.query_params.get("next")), error=error)
        return HTMLResponse(text, status_code=status, headers={"cache-control": "no-store"})

    async def show(request: Request) -> Response:
        door: Door = request.scope[SCOPE]
        try:
            await door.grant(request.cookies.get(COOKIE), headers=request.headers)
        except UnauthorizedError:
            return form(request)
        return RedirectResponse("/", status_code=303)

    async def log_in(request: Request) -> Response:
        door: Door = request.scope[SCOPE]
        given = await _form(request)
        token = await door.log_in(given.get("key", "").strip(), headers=request.headers)
        door.logins.close(request.cookies.get(COOKIE))
        answer = RedirectResponse(_local(request.query_params.get("next")), status_code=303)
        # TLS ends at a reverse proxy, so the browser alone knows of it, and says so.
        secure = request.headers.get("origin", "").startswith("https://")
        answer.set_cookie(COOKIE, token, httponly=True, samesite="lax", secure=secure)
        return answer

    async def log_out(request: Request) -> Response:
        door: Door = request.scope[SCOPE]
        require_own_origin(request.headers)
        door.logins.close(request.cookies.get(COOKIE))
        answer = RedirectResponse("/login", status_code=303)
        answer.delete_cookie(COOKIE)
        return answer

    def told(handle: Handler) -> Handler:
        """The same, with what goes wrong shown in the form."""

        async def handle_or_tell(request: Request) -> Response:
            try:
                return await handle(request)
            except LaminaError as error:
                return form(request, error=error.message, status=_STATUS.get(error.code, 503))

        return handle_or_tell

    return [
        Route("/login", told(show), methods=["GET"]),
        Route("/login", told(log_in), methods=["POST"]),
        Route("/logout", told(log_out), methods=["POST"]),
    ]


def _local(target: str | None) -> str:
    """A path of this service; anything else is the first page."""
    if target is None or not target.startswith("/") or target.startswith(("//", "/\\")):
        return "/"
    return target


async def _form(request: Request) -> dict[str, str]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST_FORM:
            return {}
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
