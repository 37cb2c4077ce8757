"""Which fixes are being tried: what a tool's next call in a session says about the fix it was offered.

A trial begins when a call fails with an error whose fix is trusted, or when a fix for it is saved in that session. The
next call of the tool in the session decides, if it began after that: success speaks for the fix, the same error
against it; another error decides nothing. Kept in memory, for a limited time and number of sessions.
"""

from collections import OrderedDict
from dataclasses import dataclass

Key = tuple[str, str | None, str]
"""Tenant, session (calls outside of every session are one) and tool."""

_MOST_KEYS = 4096
_MOST_ERRORS = 16


@dataclass(slots=True)
class _Seen:
    """An error that was seen, when, and since which step a fix for it is known, if one is."""

    moment: float
    offered: int | None


class Trials:
    """Only for the event loop's thread, apart from `watches`."""

    def __init__(self, *, window_s: float) -> None:
        self._window_s = window_s
        self._seen: OrderedDict[Key, OrderedDict[str, _Seen]] = OrderedDict()

    def watches(self, key: Key) -> bool:
        """Whether an error of the tool was seen in the session and its next success matters; from any thread."""
        return key in self._seen

    def failed(self, key: Key, id: str, *, began: int, ended: int, now: float, offered: bool) -> bool:
        """Note an error; whether it speaks against the fix that was being tried for it."""
        errors = self._seen.setdefault(key, OrderedDict())
        self._seen.move_to_end(key)
        before = errors.pop(id, None)
        against = before is not None and self._tried(before, began, now)
        # The earliest offer counts: further failures that began before it say nothing and must not postpone it.
        since = before.offered if before is not None and before.offered is not None and not against else ended
        errors[id] = _Seen(now, since if offered else None)
        if len(errors) > _MOST_ERRORS:
            errors.popitem(last=False)
        if len(self._seen) > _MOST_KEYS:
            self._seen.popitem(last=False)
        return against

    def succeeded(self, key: Key, *, began: int, now: float) -> list[str]:
        """Note a success; the learnings whose fix it speaks for. What was tried before it is settled."""
        errors = self._seen.get(key)
        if errors is None:
            return []
        helped = [id for id, seen in errors.items() if self._tried(seen, began, now)]
        for id in [id for id, seen in errors.items() if seen.offered is None or began > seen.offered]:
            del errors[id]
        if not errors:
            del self._seen[key]
        return helped

    def offered(self, key: Key, id: str, *, step: int) -> None:
        """Note that a fix is known now for an error that was seen in the session."""
        errors = self._seen.get(key)
        if errors is not None and id in errors:
            errors[id].offered = step

    def forget(self, key: Key, id: str) -> None:
        """Settle a trial whose outcome was told."""
        errors = self._seen.get(key)
        if errors is not None:
            errors.pop(id, None)

    def _tried(self, seen: _Seen, began: int, now: float) -> bool:
        return seen.offered is not None and began > seen.offered and now - seen.moment <= self._window_s
