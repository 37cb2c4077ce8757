"""The invocation that a model or a tool is called in, carried by a context variable beside the session key.

ADK tells a model nothing about the session it answers in; the plugin does, here. Two invocations that run at the same
time never see each other's.
"""

import hashlib
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from google.adk.sessions.session import Session

from lamina.kernel.session_key import enter_session
from lamina.memory.types import Identifiers


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Which session an invocation belongs to, for whom it is, and what the user said to begin it."""

    session_key: str
    identifiers: Identifiers
    query: str = ""
    in_tool: bool = False
    """Whether a tool runs; an agent that starts inside of it works for this turn."""


_LONGEST_KEY: Final = 256
_turn: ContextVar[Turn | None] = ContextVar("lamina_adk_turn", default=None)


def current_turn() -> Turn | None:
    """The invocation this code runs in; None where no plugin said so."""
    return _turn.get()


def enter_turn(turn: Turn) -> Callable[[], None]:
    """Bind an invocation and its session key for the rest of this context; what comes back undoes it."""
    before = _turn.get()
    leave_session = enter_session(turn.session_key)
    _turn.set(turn)

    def leave() -> None:
        _turn.set(before)
        leave_session()

    return leave


def session_key_of(session: Session) -> str:
    """The key of an ADK session, `app:user:session`; different sessions have different keys, whatever their names."""
    key = ":".join(map(_escaped, (session.app_name, session.user_id, session.id)))
    if len(key) <= _LONGEST_KEY:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"{key[: _LONGEST_KEY - len(digest) - 1]}:{digest}"


def _escaped(part: str) -> str:
    return "".join(one if one not in ":%" and one.isprintable() else _percent(one) for one in part)


def _percent(one: str) -> str:
    return "".join(f"%{byte:02X}" for byte in one.encode(errors="surrogatepass"))
