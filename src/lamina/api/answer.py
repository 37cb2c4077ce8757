"""Answers as JSON. Routes give plain objects that are written as they are: the models beside them only document."""

import json
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


def answer(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A document as the answer to a request; what JSON does not know is shown as text."""
    body = _ENCODER.encode(document).encode("utf-8", "surrogatepass")
    return Response(body, status, headers, media_type="application/json")
