"""`Idempotency-Key`: a write that is sent twice with the same key is done once, and answered twice.

Stands before the routes, so that every one that writes has it. A route that makes something asks for `Once`, the id to
make it under: then it is made once even where the process was killed after the write and before the answer.
"""

from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.access.idempotency import Answer, request_digest
from lamina.api.caller import admitted
from lamina.api.errors import refused
from lamina.errors import LaminaError

_ID: Final = "lamina.once"
_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_READING: Final = ("/search", "/recall")  # a question may be too long for a path
_NOT_KEPT: Final = (
    "/v1/context/",  # reads too
    "/v1/import",  # a stream, which skips what is there
    "/v1/keys",  # a secret is shown once
    "/v1/chat/",  # what follows is the upstream's to answer
    "/v1/responses",
    "/v1/models",
    "/v1/embeddings",
)
_HEADER: Final = "idempotency-key"
_REPEATED: Final = {"idempotency-replayed": "true"}


def takes_key(method: str, path: str) -> bool:
    """Whether a request writes something, and its answer may be kept."""
    return (
        method in _WRITES
        and path.startswith("/v1/")
        and not path.startswith(_NOT_KEPT)
        and not (method == "POST" and path.endswith(_READING))
    )


def _once(request: Request) -> str | None:
    found: str | None = request.scope.get(_ID)
    return found


Once = Annotated[str | None, Depends(_once)]
"""The id for what the request makes; None for a request without a key, which makes its own."""


class Idempotent:
    """Does what was done before not again."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and takes_key(scope["method"], scope["path"]):
            request = Request(scope, receive)
            if (key := request.headers.get(_HEADER)) is not None:
                await (await self._answer(request, key))(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _answer(self, request: Request, key: str) -> Response:
        try:
            visitor = await admitted(request)
            body = await request.body()
            target = f"{request.url.path}?{request.url.query}".encode()
            digest = request_digest(request.method.encode(), target, body)

            async def work(id: str) -> Answer:
                return await _done(self._app, {**request.scope, _ID: id}, body)

            answer = await request.app.state.lamina.idempotency.once(visitor.grant, key, digest, work)
        except (_NothingDoneError, _MaybeDoneError) as error:
            answer = error.answer
        except LaminaError as error:
            return refused(error)
        headers = _REPEATED if answer.repeated else None
        return Response(answer.body, answer.status, headers, media_type="application/json")


class _NothingDoneError(LaminaError):
    """The request was refused."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


class _MaybeDoneError(_NothingDoneError):
    """The request failed."""

    retryable = True


async def _done(app: ASGIApp, scope: Scope, body: bytes) -> Answer:
    """What the route answers. Raises for every answer that is not a success: those are not kept."""
    status, pieces = 500, []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)
        pieces.append(message.get("body", b""))

    await app(scope, receive, send)
    answer = Answer(status=status, body=b"".join(pieces))
    if status >= 500:
        raise _MaybeDoneError(answer)
    if status >= 400:
        raise _NothingDoneError(answer)
    return answer
