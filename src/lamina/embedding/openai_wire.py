"""The embeddings protocol without the network: reading answers, refusals and waits. Not for sending."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.embedding.types import Purpose
from lamina.errors import (
    ConfigurationError,
    ContentTooLongError,
    EmbeddingFailedError,
    LaminaError,
    OperationTimeoutError,
    QueryTooLongError,
    RateLimitedError,
    UnauthorizedError,
)

_TOO_LONG: Final = re.compile(
    r"context.?(length|size|window)|input length exceeds|too (long|many tokens|large to process)"
    r"|must have less than \d+ tokens|max_tokens_per_request",
    re.IGNORECASE,
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z]+(_[A-Za-z]+){0,7}")
_PASSING: Final = frozenset({409, 421, 425})


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer with a status that is not success."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: object
    """The decoded error object, or the text, as it came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """What an error may say about where a request went."""

    host: str
    model: str

    @property
    def details(self) -> dict[str, object]:
        """The same for an error's details."""
        return {"host": self.host, "model": self.model}


def read_vectors(body: bytes, *, count: int) -> NDArray[np.float64]:
    """The vectors of an answer, one row per text in the order of the request.

    Rows are ordered by `index`; where no item has one, by position. Raises EmbeddingFailedError when the body
    is not an answer to a request of `count` texts.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise EmbeddingFailedError("The endpoint answered something that is not JSON.") from None
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise EmbeddingFailedError("The endpoint answered JSON that is not a list of embeddings.")
    if len(data) != count:
        raise EmbeddingFailedError(f"The endpoint gave {len(data)} embeddings for {count} texts.")
    indexes = [item.get("index", position) for position, item in enumerate(data)]
    if any(type(index) is not int for index in indexes) or sorted(indexes) != list(range(count)):
        raise EmbeddingFailedError("The endpoint's embeddings cannot be matched to the texts by index.")
    rows = [_numbers(item.get("embedding")) for item in data]
    if len({len(row) for row in rows}) > 1:
        raise EmbeddingFailedError("The endpoint gave embeddings of different lengths.")
    ordered = np.empty((count, len(rows[0]) if rows else 0), dtype=np.float64)
    ordered[indexes] = rows
    return ordered


def _numbers(value: object) -> NDArray[np.float64]:
    try:
        row = np.asarray(value)
    except ValueError:  # nested lists of uneven lengths
        row = np.empty(0)
    if row.ndim != 1 or row.size == 0 or row.dtype.kind not in "fiu":
        raise EmbeddingFailedError("The endpoint gave an embedding that is not a list of numbers.")
    return row.astype(np.float64)


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Seconds the endpoint asks to wait: from `retry-after-ms`, or `retry-after` in seconds or as a date.

    A date is compared with the answer's own `date` where it has one, because clocks differ. None where
    nothing usable was said; never negative.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    seconds = _seconds(said)
    if seconds is not None:
        return seconds
    until = _moment(said)
    if until is None:
        return None
    return max(0.0, (until - (_moment(headers.get("date")) or now)).total_seconds())


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _moment(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def refusal_error(refusal: Refusal, *, endpoint: Endpoint, purpose: Purpose, secret: str, now: datetime) -> LaminaError:
    """What a refusal means for the caller.

    The endpoint's own words are left out: some repeat the text or parts of the key. Its error code is kept,
    unless the secret is in it.
    """
    status, where = refusal.status, f"The embedding endpoint at {endpoint.host}"
    details = endpoint.details | {"status": status} | _vendor_codes(refusal.body, secret)
    wait = retry_after(refusal.headers, now=now)
    if wait is not None:
        details["retry_after"] = wait
    if status in (401, 403):
        return UnauthorizedError(f"{where} refused the credentials (status {status}).", details=details)
    if status == 429:
        return RateLimitedError(f"{where} asks for fewer requests.", details=details)
    if status == 408:
        return OperationTimeoutError(f"{where} gave up waiting (status 408).", details=details)
    if status in (400, 413, 422, 500) and _TOO_LONG.search(_words(refusal.body)):
        kind = QueryTooLongError if purpose == "query" else ContentTooLongError
        return kind(f"The text is longer than the model {endpoint.model} reads.", details=details)
    if status >= 500 or status < 400 or status in _PASSING:
        return EmbeddingFailedError(f"{where} failed (status {status}).", details=details)
    return ConfigurationError(f"{where} {_advice(status, endpoint.model)}", details=details)


def _advice(status: int, model: str) -> str:
    if status == 404:
        return f"does not know the model {model} or has no embeddings (status 404): check model and base_url."
    if status == 413:
        return "takes only smaller requests (status 413): lower batch_size."
    return f"refused the request (status {status}): check model, dimensions and base_url."


def _vendor_codes(body: object, secret: str) -> dict[str, object]:
    """The endpoint's error code and parameter, where they are plain identifiers."""
    if not isinstance(body, Mapping):
        return {}
    found = {f"vendor_{key}": body.get(key) for key in ("code", "type", "param")}
    return {
        key: value
        for key, value in found.items()
        if isinstance(value, str) and len(value) <= 64 and _IDENTIFIER.fullmatch(value) and secret not in value
    }


def _words(body: object) -> str:
    if isinstance(body, Mapping):
        return " ".join(str(body.get(key, "")) for key in ("code", "message", "detail", "error"))
    return str(body)
