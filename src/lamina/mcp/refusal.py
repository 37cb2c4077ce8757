"""Errors as a model reads them: the house's error object, with the step that a model, or its user, can take next."""

from collections.abc import Mapping
from typing import Any, Final

from mcp import types
from pydantic import ValidationError

from lamina.errors import InvalidInputError, LaminaError
from lamina.mcp.shown import safe

_STEPS: Final[Mapping[str, str]] = {
    "INVALID_INPUT": "Correct the arguments and call the tool again.",
    "INVALID_LAYER": "Name one of the layers in the tool's schema.",
    "MISSING_IDENTIFIER": "Use a layer this connection has the identifiers of. To add one, the user gives `lamina mcp` "
    "an option such as --user or --project, or the client's configuration a header such as X-Lamina-User.",
    "CONTENT_TOO_LONG": "Split the text and store the parts one by one.",
    "QUERY_TOO_LONG": "Ask a shorter question.",
    "INVALID_FILTER": 'Write `where` like {"priority": {"gte": 2}}.',
    "INVALID_CURSOR": "List again without a cursor.",
    "MEMORY_NOT_FOUND": "Search for the memory again; it may have been deleted.",
    "SESSION_NOT_FOUND": "Leave `session` out, or take a key from the resources.",
    "SKILL_NOT_FOUND": "Call skill_list for the names there are.",
    "SKILL_NOT_ACTIVE": "Ask the user to look at the skill and approve it: `lamina skill approve NAME`.",
    "SKILL_FAILED": "Read the details, correct the arguments or the skill, and try again at most once.",
    "SCRIPT_REFUSED": "Rewrite the script without the lines named in the details.",
    "FORBIDDEN": "Do without it, or ask the user for a key with more rights.",
    "CONFIGURATION_ERROR": "Ask the user to change the setting in lamina.toml and to restart the server.",
    "RATE_LIMITED": "Wait, and call again later; do not repeat it in a loop.",
}
_RETRY: Final = "Try again once; if it fails again, tell the user."
_REPORT: Final = "Tell the user; `lamina doctor` looks for the cause."


def refusal(error: LaminaError) -> dict[str, Any]:
    """The error object: code, message, operation, retryable, details, next."""
    step = _STEPS.get(error.code) or error.details.get("next") or (_RETRY if error.retryable else _REPORT)
    details = {name: value for name, value in error.details.items() if name != "next"}
    document: dict[str, Any] = safe({**error.to_dict(), "details": details, "next": str(step)})
    return document


def protocol_error(error: LaminaError) -> types.ErrorData:
    """An error as the protocol has it, where there is no tool's answer to carry it."""
    if error.retryable or error.code == LaminaError.code:
        code = types.INTERNAL_ERROR
    elif isinstance(error, InvalidInputError) or error.code.endswith("_NOT_FOUND"):
        code = types.INVALID_PARAMS
    else:
        code = types.INVALID_REQUEST
    return types.ErrorData(code=code, message=error.message, data={"error": refusal(error)})


def invalid(error: ValidationError, *, operation: str) -> InvalidInputError:
    """Arguments that do not fit a schema, without the values themselves."""
    problems = [
        {"field": ".".join(map(str, one["loc"])) or "arguments", "problem": one["msg"]}
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    told = "; ".join(f"{one['field']}: {one['problem']}" for one in problems[:5])
    return InvalidInputError(
        f"The arguments do not fit the tool: {told}.", operation=operation, details={"problems": problems[:20]}
    )
