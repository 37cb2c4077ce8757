"""The invocation that a model or a tool is called in, carried by a context variable beside the session key.

ADK tells a model nothing about the session it answers in; the plugin does, here. Two invocations that run at the same
time never see each other's.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from google.adk.sessions.session import Session

from lamina.kernel.session_key import enter_session
from lamina.memory.types import Identifiers


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Which session an invocation belongs to, for whom it is, and what the user said to begin it."""

    session_key: str
    identifiers: Identifiers
    query: str = ""


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
    return ":".join(map(_escaped, (session.app_name, session.user_id, session.id)))


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")
