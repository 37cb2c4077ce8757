"""Which session a request belongs to, and whose it is. Pure.

A client names the session, or its user, or says nothing; then the conversation's own first messages name it. What is
worked out here has the caller's credentials in its digest: nobody reaches a session of another caller by saying the
same words, and no key can be read back from it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lamina.errors import InvalidInputError
from lamina.kernel.checks import check_name
from lamina.memory.types import Identifiers
from lamina.proxy.error import EndpointError
from lamina.proxy.headers import SESSION, USER, RawHeaders, credentials, text_of
from lamina.session.checked import check_session_key

_PREFIX: Final = "openai"
_DIGEST: Final = 16
_SHOWN: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, and in which session."""

    session_key: str | None
    """None where a conversation has no beginning to tell it from others: then there is no memory of it."""
    user_id: str | None = None
    named: bool = False
    """Whether the client named the session or the user, so that one session may hold several conversations."""
    bound_to: Identifiers = field(default_factory=Identifiers)
    """Whom the caller's key is for, where it is for somebody: that decides what is known to them."""
    credential: bytes = b""
    """A digest of the caller's credentials, for this process only."""


def caller_of(
    headers: RawHeaders, body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], *, tenant: str
) -> Caller:
    """The caller of a request whose conversation, in the form of chat completions, is `messages`.

    Raises EndpointError for a header that names no session or user.
    """
    said = body.get("user")
    user = said if isinstance(said, str) and _is_name(said) else None
    try:
        named = text_of(headers, SESSION)
        key = None if named is None else check_session_key(named)
        header_user = text_of(headers, USER)
        user = user if header_user is None else check_name("user", header_user)
    except InvalidInputError as error:
        raise EndpointError(400, "invalid_header", f"{SESSION} and {USER}: {error.message}") from None
    who = (tenant.encode(), credentials(headers))
    credential = _digest(*who)
    if key is not None:
        return Caller(session_key=key, user_id=user, named=True, credential=credential)
    conversation = _conversation(body)
    for kind, name in (("conversation", conversation), ("user", user)):
        if name is not None:
            digest = _digest(*who, kind.encode(), name.encode())
            key = f"{_PREFIX}:{name[:_SHOWN]}:{digest.hex()}"
            return Caller(session_key=key, user_id=user, named=True, credential=credential)
    beginning = _beginning(messages)
    if beginning is None:
        return Caller(session_key=None, credential=credential)
    return Caller(session_key=f"{_PREFIX}:{_digest(*who, b'words', beginning).hex()}", credential=credential)


def _is_name(value: str) -> bool:
    try:
        check_name("user", value)
    except InvalidInputError:
        return False
    return True


def _conversation(body: Mapping[str, Any]) -> str | None:
    """The id of a conversation that the upstream keeps itself."""
    found = body.get("conversation")
    id = found.get("id") if isinstance(found, dict) else found
    return id if isinstance(id, str) and _is_name(id) else None


def _beginning(messages: Sequence[Mapping[str, Any]]) -> bytes | None:
    """The instructions and the first message of the user; None where there is no such message."""
    kept: list[Any] = []
    for one in messages:
        kept.append([one.get("role"), one.get("content")])
        if one.get("role") == "user":
            return json.dumps(kept, sort_keys=True).encode()
    return None


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST, person=b"lamina caller")
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
