"""What goes wrong, as answers: the error object of the house under `error`, with a fitting status."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lamina.api.answer import answer
from lamina.errors import InvalidInputError, LaminaError
from lamina.visitor import VISITOR

STATUS: Final = {
    "CONTENT_TOO_LONG": 413,
    "QUERY_TOO_LONG": 413,
    "REQUEST_TOO_LARGE": 413,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "CONFLICT": 409,
    "SKILL_NOT_ACTIVE": 409,
    "SKILL_FAILED": 424,
    "RATE_LIMITED": 429,
    "MODEL_FAILED": 502,
    "EMBEDDING_FAILED": 502,
    "PROVIDER_ERROR": 503,
    "CONFIGURATION_ERROR": 503,
    "TIMEOUT": 504,
}
"""The statuses by error code; what is not here is 400 for bad input, 404 for what is not found, and 500."""

_REASONS: Final = {
    400: ("INVALID_INPUT", "The request is not valid; `details` says where."),
    401: ("UNAUTHORIZED", "A key is needed, or the one that was sent is not good."),
    403: ("FORBIDDEN", "The key is good, but not for this."),
    404: ("NOT_FOUND", "There is no such thing within the caller's reach."),
    409: ("CONFLICT", "Something else was done, or is being done, under this name."),
    413: ("CONTENT_TOO_LONG", "The request, or a text in it, is too long."),
    424: ("SKILL_FAILED", "The skill ran and failed; `details` says where."),
    429: ("RATE_LIMITED", "Too many requests; `Retry-After` says when to come back."),
    502: ("EMBEDDING_FAILED", "The embedder or the model behind the service failed."),
    503: ("PROVIDER_ERROR", "The store cannot be reached, the service is full, or what is asked for is switched off."),
    504: ("TIMEOUT", "It took too long."),
}
_BY_STATUS: Final = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 413: "REQUEST_TOO_LARGE"}

_BY_ROUTER: Final = {
    "Not Found": "There is nothing at this path; /docs shows the paths there are.",
    "Method Not Allowed": "This path takes other methods; /docs shows which.",
}


class ErrorObject(BaseModel):
    """What went wrong."""

    code: str = Field(description="One word for programs.", examples=["MISSING_IDENTIFIER"])
    message: str = Field(description="A sentence for people.", examples=["The user layer needs user_id."])
    operation: str | None = Field(description="What was being done.", examples=["add"])
    retryable: bool = Field(description="Whether the same request may work later.", examples=[False])
    details: dict[str, Any] = Field(description="What is known beyond that.", examples=[{"missing": ["user_id"]}])


class ErrorAnswer(BaseModel):
    """Every answer that is not a success."""

    error: ErrorObject


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documentation of errors, for `responses=` of a route."""
    documented: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        code, text = _REASONS[status]
        shown = {"code": code, "message": text, "operation": "search", "retryable": status in (429, 502, 503, 504)}
        content: dict[str, Any] = {"application/json": {"example": {"error": {**shown, "details": {}}}}}
        documented[status] = {"model": ErrorAnswer, "description": text, "content": content}
    return documented


def status_of(error: LaminaError) -> int:
    """The status of an error of the house."""
    if error.code in STATUS:
        return STATUS[error.code]
    if isinstance(error, InvalidInputError):
        return 400
    return 404 if error.code.endswith("_NOT_FOUND") else 500


def refused(error: LaminaError, status: int | None = None) -> Response:
    """An error as an answer."""
    headers: dict[str, str] = {}
    wait = error.details.get("retry_after")
    if isinstance(wait, int | float):
        headers["retry-after"] = str(max(1, math.ceil(wait)))
    status = status or status_of(error)
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return answer({"error": error.to_dict()}, status, headers)


def handle_errors(service: FastAPI) -> None:
    """Have every error of the routes answered in one form."""
    service.add_exception_handler(LaminaError, _of_the_house)
    service.add_exception_handler(RequestValidationError, _invalid)
    service.add_exception_handler(HTTPException, _of_http)


def _of_the_house(request: Request, error: Any) -> Response:
    status = status_of(error)
    if status == 401 and VISITOR in request.scope:
        status = 502  # the caller was let in: it is a provider that refused our credentials
    return refused(error, status)


def _invalid(request: Request, error: Any) -> Response:
    """What pydantic found, without what was sent: that may be a secret."""
    problems = [_problem(one) for one in error.errors()]
    first = problems[0]
    message = f"{first['field']}: {first['message']}" if first["field"] else first["message"]
    if not first["field"] and "json" not in request.headers.get("content-type", ""):
        message = "The body must be JSON; send it with `Content-Type: application/json`."
    return refused(InvalidInputError(message, details={"problems": problems}))


def _problem(found: Mapping[str, Any]) -> dict[str, str]:
    if found["type"] == "json_invalid":  # its place is a number of characters, and no field
        reason = str(found["ctx"]["error"]).lower()
        return {"field": "", "message": f"The body is not valid JSON: {reason}, at character {found['loc'][-1]}."}
    return {"field": _place(found["loc"]), "message": found["msg"]}


def _place(location: Sequence[str | int]) -> str:
    """Where in the request it stands: `identifiers.user_id`, `memories.3.content`."""
    return ".".join(str(part) for part in location[1:])


def _of_http(request: Request, error: Any) -> Response:
    """What the router refuses: unknown paths, wrong methods, bodies that cannot be read."""
    status = error.status_code
    code = _BY_STATUS.get(status, "INVALID_INPUT" if status < 500 else "INTERNAL_ERROR")
    message = _BY_ROUTER.get(str(error.detail), str(error.detail))
    document: dict[str, Any] = {"code": code, "message": message, "operation": None}
    document |= {"retryable": False, "details": {}}
    return answer({"error": document}, status, error.headers)
