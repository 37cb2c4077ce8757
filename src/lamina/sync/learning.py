"""Learning without `await`."""

from typing import TypeVar

from lamina.learning.service import LearningService
from lamina.learning.types import EngineCounters
from lamina.learning.wrapper import Watch
from lamina.sync.loop import Twin, blocking

T = TypeVar("T")


class SyncLearning(Twin[LearningService]):
    """`app.learning`, blocking."""

    save = blocking(LearningService.save)
    correct = blocking(LearningService.correct)
    set_fix = blocking(LearningService.set_fix)
    record_outcome = blocking(LearningService.record_outcome)
    fix_for = blocking(LearningService.fix_for)
    get = blocking(LearningService.get)
    history = blocking(LearningService.history)
    list = blocking(LearningService.list)
    search = blocking(LearningService.search)
    delete = blocking(LearningService.delete)
    clean_up = blocking(LearningService.clean_up)
    statistics = blocking(LearningService.statistics)
    drain = blocking(LearningService.drain)
    saves_taken = blocking(LearningService.saves_taken)
    reset_saves = blocking(LearningService.reset_saves)

    def wrap(self, tool: T, *, name: str | None = None) -> T:
        """The tool, watched; a wrapped tool is called as before, on any thread."""
        return self._inner.wrap(tool, name=name)

    def watch(self, tool: str) -> Watch | None:
        """Notes the calls of a tool that a framework runs; None while knowledge is off."""
        return self._inner.watch(tool)

    @property
    def counters(self) -> EngineCounters:
        """What the engine did, dropped and missed in this process."""
        return self._inner.counters

    def for_tenant(self, tenant: str) -> "SyncLearning":
        """The same learning for another tenant."""
        return SyncLearning(self._inner.for_tenant(tenant), self._loop)

    def acting_as(self, actor: str) -> "SyncLearning":
        """The same learning with another name in the audit log."""
        return SyncLearning(self._inner.acting_as(actor), self._loop)
