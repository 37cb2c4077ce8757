"""What an endpoint's refusal means for the caller: the typed error, and how long it asks to wait."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from lamina.errors import (
    ConfigurationError,
    ContentTooLongError,
    LaminaError,
    OperationTimeoutError,
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
class Service:
    """What is asked of endpoints, in the words of its errors."""

    noun: str
    """`embedding` in "The embedding endpoint at ..."."""
    offers: str
    """What an endpoint without it lacks, such as `embeddings`."""
    failed: type[LaminaError]
    """The error for a service that failed."""
    smaller: str
    """What to do about a request that is too large."""
    settings: str
    """What to check when a request is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """What an error may say about where a request went."""

    service: Service
    host: str
    model: str

    @property
    def where(self) -> str:
        """The beginning of a sentence about it."""
        return f"The {self.service.noun} endpoint at {self.host}"

    @property
    def details(self) -> dict[str, object]:
        """The same for an error's details."""
        return {"host": self.host, "model": self.model}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer with a status that is not success."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: object
    """The decoded error object, or the text, as it came."""


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


def refusal_error(
    refusal: Refusal,
    *,
    endpoint: Endpoint,
    secret: str,
    now: datetime,
    too_long: type[LaminaError] = ContentTooLongError,
) -> LaminaError:
    """What a refusal means for the caller; `too_long` is raised for a text that the model cannot read.

    The endpoint's own words are left out: some repeat the text or parts of the key. Its error code is kept,
    unless the secret is in it.
    """
    status, where = refusal.status, endpoint.where
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
        return too_long(f"The text is longer than the model {endpoint.model} reads.", details=details)
    if status >= 500 or status < 400 or status in _PASSING:
        return endpoint.service.failed(f"{where} failed (status {status}).", details=details)
    return ConfigurationError(f"{where} {_advice(status, endpoint)}", details=details)


def _advice(status: int, endpoint: Endpoint) -> str:
    service = endpoint.service
    if status == 404:
        return (
            f"does not know the model {endpoint.model} or has no {service.offers} (status 404): "
            "check model and base_url."
        )
    if status == 413:
        return f"takes only smaller requests (status 413): {service.smaller}."
    return f"refused the request (status {status}): check {service.settings}."


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
