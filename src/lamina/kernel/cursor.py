"""The opaque cursor of a listing: where the last page ended, and of which listing.

It carries a check over the position and the listing's fingerprint, so that a damaged cursor, or one of
another scope or filter, is refused instead of starting somewhere else. It is no secret: access is checked on
every page.
"""

import base64
import binascii
import hashlib
import json

from lamina.errors import InvalidCursorError

_VERSION = 1
_MAX_LENGTH = 200
_MAX_SEQUENCE = 2**63 - 1


def fingerprint(listing: object) -> str:
    """The same for the same description of a listing, a JSON value whose order of keys does not count."""
    return hashlib.sha256(_compact(listing).encode()).hexdigest()


def encode_cursor(sequence: int, fingerprint: str) -> str:
    """The cursor after the row with this sequence number."""
    content = _compact({"v": _VERSION, "s": sequence, "c": _check(sequence, fingerprint)})
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def decode_cursor(cursor: object, fingerprint: str, *, operation: str | None = None) -> int:
    """The sequence number of the last row seen; raises InvalidCursorError for what is no cursor of this listing."""
    sequence = _sequence(cursor)
    if sequence is None or cursor != encode_cursor(sequence, fingerprint):
        raise InvalidCursorError(operation=operation)
    return sequence


def _sequence(cursor: object) -> int | None:
    if not isinstance(cursor, str) or not cursor.isascii() or len(cursor) > _MAX_LENGTH:
        return None
    try:
        content = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError):
        return None
    sequence = content.get("s") if isinstance(content, dict) else None
    if not isinstance(sequence, int) or isinstance(sequence, bool) or not 0 <= sequence <= _MAX_SEQUENCE:
        return None
    return sequence


def _check(sequence: int, fingerprint: str) -> str:
    return hashlib.sha256(f"{_VERSION}:{sequence}:{fingerprint}".encode()).hexdigest()[:24]


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
