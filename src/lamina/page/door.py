"""Who is at the page: a browser's session is a random token in a cookie, and every look through it asks the gate anew.

The key that somebody logged in with stays in this process and never returns to the browser. A restart of the service
therefore ends every session, and so does a key that is revoked.
"""

import secrets
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lamina.access.gate import Gate
from lamina.access.types import Grant
from lamina.app import App
from lamina.errors import ForbiddenError
from lamina.kernel.clock import Clock, SystemClock
from lamina.visitor import Visitor, visit

COOKIE: Final = "lamina_session"
SCOPE: Final = "lamina.door"
"""Where a request carries the door it came through."""

_LONGEST_S: Final = 12 * 3600.0
_MOST: Final = 1000


class Logins:
    """Who has logged in, by token: at most a thousand, for half a day.

    Beyond that the key that is logged in most often gives way, so that nobody's key puts out the others.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self._keys: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def open(self, key: str) -> str:
        """A new token that stands for a key."""
        now = self._clock.monotonic()
        while self._keys and next(iter(self._keys.values()))[1] <= now:
            self._keys.popitem(last=False)
        token = secrets.token_urlsafe(32)
        self._keys[token] = (key, now + _LONGEST_S)
        if len(self._keys) > _MOST:
            ((most, _),) = Counter(held for held, _ in self._keys.values()).most_common(1)
            del self._keys[next(token for token, (held, _) in self._keys.items() if held == most)]
        return token

    def key(self, token: str | None) -> str | None:
        """The key a token stands for, None for a token that is unknown or too old."""
        key, until = self._keys.get(token or "", (None, 0.0))
        return key if self._clock.monotonic() < until else None

    def close(self, token: str | None) -> None:
        """Forget a token."""
        self._keys.pop(token or "", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """An open app, the gate before it, and who has come in."""

    app: App
    gate: Gate
    logins: Logins = field(default_factory=Logins)

    async def log_in(self, key: str, *, headers: Mapping[str, str]) -> str:
        """A session for whoever has this key. Raises UnauthorizedError, and ForbiddenError for a foreign page."""
        require_own_origin(headers)
        await self.gate.admit_headers({**headers, "authorization": f"Bearer {key}"})
        return self.logins.open(key)

    async def grant(self, token: str | None, *, headers: Mapping[str, str]) -> Grant:
        """What the holder of a session may do now. Raises UnauthorizedError, and ForbiddenError for a foreign page."""
        require_own_origin(headers)
        key = self.logins.key(token)
        return await self.gate.admit_headers(headers if key is None else {**headers, "authorization": f"Bearer {key}"})

    async def visitor(self, token: str | None, *, headers: Mapping[str, str]) -> Visitor:
        """The same as somebody who can be let into the rooms."""
        return visit(self.app, await self.grant(token, headers=headers))


def require_own_origin(headers: Mapping[str, str]) -> None:
    """Raise ForbiddenError for what a page of another place sends: a cookie goes along with it, the person does not."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        raise ForbiddenError("The page answers no page of another place.", details={"header": "origin"})
