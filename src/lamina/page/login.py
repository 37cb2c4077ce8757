"""Logging in and out: one plain form, without a script."""

from typing import Final
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from lamina.errors import LaminaError, UnauthorizedError
from lamina.page.door import COOKIE, SCOPE, Door, require_own_origin

_LONGEST_FORM: Final = 4096


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
        require_own_origin(request.headers)
        given = await _form(request)
        token = door.logins.open(given.get("key", "").strip())
        try:
            await door.grant(token, headers=request.headers)
        except LaminaError as error:
            door.logins.close(token)
            return form(request, error=error.message, status=401)
        answer = RedirectResponse(_local(request.query_params.get("next")), status_code=303)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, token, httponly=True, samesite="lax", secure=secure)
        return answer

    async def log_out(request: Request) -> Response:
        door: Door = request.scope[SCOPE]
        require_own_origin(request.headers)
        door.logins.close(request.cookies.get(COOKIE))
        answer = RedirectResponse("/login", status_code=303)
        answer.delete_cookie(COOKIE)
        return answer

    return [
        Route("/login", show, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
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
