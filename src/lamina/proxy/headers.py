"""Which headers pass the endpoint, in both directions. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

RawHeaders = Sequence[tuple[bytes, bytes]]

SESSION: Final = "x-lamina-session"
"""The header that names a session; an answer says in it which session it was."""
USER: Final = "x-lamina-user"
"""The header that names the user."""
RECEIPT: Final = "x-lamina-receipt"
"""The header of an answer with the id of the receipt of its prompt."""
WITHOUT: Final = "x-lamina-without-context"
"""The header of an answer that says why there is no context in its prompt."""

_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OURS: Final = b"x-lamina-"
# Of the connection to us: where it went, how long it is, and encodings, which we read answers without.
_NOT_PASSED: Final = _HOP_BY_HOP | {b"host", b"content-length", b"accept-encoding", b"expect"}
_CREDENTIALS: Final = (b"authorization", b"api-key", b"x-api-key")
_MAY_BE_OURS: Final = (*_CREDENTIALS, b"cookie")


def to_upstream(headers: RawHeaders, *, length: int, key: str | None, keep_key: bool) -> list[tuple[bytes, bytes]]:
    """What the upstream is sent for a body of `length` bytes; `key` takes the place of the client's credentials.

    Without one they pass where `keep_key` says so.
    """
    dropped = _NOT_PASSED | _named_in_connection(headers)
    if key is not None or not keep_key:
        dropped = dropped | set(_CREDENTIALS)
    passed = [(name, value) for name, value in headers if name.lower() not in dropped and not _is_ours(name)]
    passed.append((b"accept-encoding", b"identity"))
    if length:
        passed.append((b"content-length", str(length).encode()))
    if key is not None:
        passed.append((b"authorization", f"Bearer {key}".encode()))
    return passed


def without_keys(headers: RawHeaders, *, prefix: str) -> RawHeaders:
    """The headers less the credentials that are ours, keys and the page's cookie: those are for nobody behind us."""
    mark = prefix.encode()
    return [(name, value) for name, value in headers if name.lower() not in _MAY_BE_OURS or mark not in value]


def to_client(headers: RawHeaders, added: Iterable[tuple[str, str]] = ()) -> list[tuple[bytes, bytes]]:
    """What the client is sent of an answer's headers, and what we say about it."""
    dropped = _HOP_BY_HOP | _named_in_connection(headers)
    passed = [(name.lower(), value) for name, value in headers if name.lower() not in dropped and not _is_ours(name)]
    return [*passed, *((name.encode(), _visible(value)) for name, value in added)]


def credentials(headers: RawHeaders) -> bytes:
    """Who the client says it is: all of its credentials, or nothing."""
    return b"\n".join(value for name, value in headers if name.lower() in _CREDENTIALS)


def text_of(headers: RawHeaders, name: str) -> str | None:
    """A header's value; clients send names outside of Latin-1 in UTF-8."""
    wanted = name.encode()
    value = next((value for key, value in headers if key.lower() == wanted), None)
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _is_ours(name: bytes) -> bool:
    return name.lower().startswith(_OURS)


def _named_in_connection(headers: RawHeaders) -> set[bytes]:
    """Headers that the sender declared to be of this connection only."""
    listed = (value for name, value in headers if name.lower() == b"connection")
    return {one.strip().lower() for value in listed for one in value.split(b",")}


def _visible(value: str) -> bytes:
    """A value that every client can read: UTF-8, control characters left out."""
    return "".join(one for one in value if one.isprintable()).encode(errors="replace")
