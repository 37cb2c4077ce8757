"""How often somebody may come. Pure, apart from the clock."""

from collections import OrderedDict
from collections.abc import Hashable

from lamina.kernel.clock import Clock

_REMEMBERED = 10_000
_INSTANT = 1e-6  # what rounding may add


class Rate:
    """A steady rate for each caller, with one second's worth at once."""

    def __init__(self, per_s: float, *, clock: Clock) -> None:
        """`per_s` of 0 is unlimited."""
        self._interval = 1 / per_s if per_s else 0.0
        self._burst_s = max(1.0 - self._interval, 0.0)
        self._clock = clock
        self._due: OrderedDict[Hashable, float] = OrderedDict()

    def wait(self, caller: Hashable) -> float:
        """Count one request of a caller, and give 0; or, where it is one too many, the seconds until the next may come.

        Who has not come for longest is forgotten first, and could then only come sooner than a strict count allows.
        """
        if not self._interval:
            return 0.0
        now = self._clock.monotonic()
        due = max(self._due.pop(caller, now), now)
        early = due - now - self._burst_s
        if early < _INSTANT:
            early, due = 0.0, due + self._interval
        self._due[caller] = due
        if len(self._due) > _REMEMBERED:
            self._due.popitem(last=False)
        return early
