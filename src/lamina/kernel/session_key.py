"""The session a request belongs to, carried by a context variable, and what its key says about the channel.

A task started inside `using_session` inherits the key; two requests that run at the same time never see each
other's. "No session" can be bound too, so that a request without one does not inherit what somebody else set.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Final

CHANNELS: Final = ("telegram", "discord", "slack")
"""The prefixes of a session key that name a channel."""
DIRECT: Final = "direct"
"""The channel of every other session."""


class _Unbound(Enum):
    """Nothing was said about the session."""

    UNBOUND = "unbound"


_session_key: ContextVar[str | _Unbound | None] = ContextVar("lamina_session_key", default=_Unbound.UNBOUND)


def current_session_key(otherwise: str | None = None) -> str | None:
    """The key bound by the nearest `using_session` (None: no session), or `otherwise` when nothing was bound."""
    bound = _session_key.get()
    return otherwise if isinstance(bound, _Unbound) else bound


@contextmanager
def using_session(key: str | None) -> Iterator[None]:
    """Bind the session key for everything that runs or is started inside the block."""
    token = _session_key.set(key)
    try:
        yield
    finally:
        _session_key.reset(token)


def enter_session(key: str | None) -> Callable[[], None]:
    """Bind the session key for the rest of this context, for callers that cannot hold a block open.

    What comes back binds again what was bound before, wherever it is called.
    """
    before = _session_key.get()
    _session_key.set(key)

    def leave() -> None:
        _session_key.set(before)

    return leave


def channel_of(key: str | None) -> str:
    """The channel of a key in the form `channel:id:subid`: telegram, discord or slack, else direct."""
    prefix, colon, _ = (key or "").partition(":")
    return prefix if colon and prefix in CHANNELS else DIRECT
