"""What goes wrong at the endpoint, in the form that clients of OpenAI's protocol read. Pure."""

import json
from typing import Final

from lamina.errors import LaminaError

_STATUS: Final = {
    "INVALID_INPUT": 400,
    "MISSING_IDENTIFIER": 400,
    "CONTENT_TOO_LONG": 413,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "SESSION_NOT_FOUND": 404,
    "RATE_LIMITED": 429,
    "TIMEOUT": 504,
}


class EndpointError(Exception):
    """A request that the endpoint answers itself, with an error; the message never repeats what was sent."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        self.message = message
        super().__init__(message)

    @property
    def body(self) -> bytes:
        """OpenAI's error object; whose error it is shows in `type`."""
        kind = "invalid_request_error" if self.status < 500 else "upstream_error"
        error = {"message": self.message, "type": kind, "param": None, "code": self.code}
        return json.dumps({"error": error}).encode()


def error_answer(error: LaminaError) -> EndpointError:
    """An error of the house as an answer."""
    return EndpointError(_STATUS.get(error.code, 502), error.code.lower(), error.message)
