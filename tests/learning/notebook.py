"""An engine that only keeps the notes it is given, for tests of the wrapper alone."""

from lamina.learning.observation import Call
from lamina.learning.trial import Key


class Notebook:
    """Stands where the engine stands; `broken` makes taking a note fail."""

    def __init__(self, *, broken: bool = False) -> None:
        self.calls: list[Call] = []
        self.failures: list[Exception] = []
        self.broken = broken
        self._step = 0

    def step(self) -> int:
        self._step += 1
        return self._step

    def wants(self, key: Key) -> bool:
        if self.broken:
            raise RuntimeError("the engine is broken")
        return True

    def note(self, call: Call) -> None:
        if self.broken:
            raise RuntimeError("the engine is broken")
        self.calls.append(call)

    def broke(self, error: Exception, tool: str) -> None:
        self.failures.append(error)

    @property
    def seen(self) -> list[tuple[str, str, str | None]]:
        """Tool, status and error of every note."""
        return [(call.tool, call.status, call.error) for call in self.calls]
