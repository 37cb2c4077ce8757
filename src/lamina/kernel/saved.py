"""What a room tells others after it stored a text: enough to take entities from it, nothing about how it is kept."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedText:
    """A text that is stored now; `kind` and `key` name it in its room."""

    tenant: str
    kind: str
    key: str
    text: str
    created: bool
    """False for a change of something that was there."""
    session_key: str | None = None


SavedListener = Callable[[SavedText], None]
"""Called on the event loop after the commit; must return at once and must not raise."""
