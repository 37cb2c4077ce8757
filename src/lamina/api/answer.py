"""Answers as JSON. Routes give plain objects that are written as they are: the models beside them only document."""

import json
from collections.abc import Mapping

from starlette.responses import Response


def answer(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A document as the answer to a request; what JSON does not know is shown as text."""
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "surrogatepass")
    return Response(body, status, headers, media_type="application/json")
