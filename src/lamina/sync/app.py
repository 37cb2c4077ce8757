"""An app without `await`. Its rooms are opened on the loop when they are first asked for."""

import threading
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lamina import app as asynchronous
from lamina.config import Settings
from lamina.embedding.types import Embedder
from lamina.kernel.clock import Clock
from lamina.kernel.crew import Queue
from lamina.llm.types import ChatModel
from lamina.observability.metrics import Metrics
from lamina.sync.loop import Loop, blocking
from lamina.sync.memory import SyncHierarchy, SyncMemory

if TYPE_CHECKING:
    from lamina.sync.access import SyncKeys
    from lamina.sync.context import SyncContext
    from lamina.sync.graph import SyncGraph
    from lamina.sync.knowledge import SyncAudit, SyncKnowledge, SyncReferences
    from lamina.sync.learning import SyncLearning
    from lamina.sync.observation import SyncObservation
    from lamina.sync.session import SyncSessions
    from lamina.sync.skill import SyncSkills


class SyncApp:
    """An app to be used without `await`; a context manager, open from the start."""

    def __init__(self, inner: asynchronous.App) -> None:
        self._loop = Loop()
        self._inner = inner
        self._closing = threading.Lock()
        try:
            self._loop.run(inner.start())
        except BaseException:  # boundary: whatever went wrong, the thread ends
            self._loop.stop()
            raise
        self.memory = SyncMemory(inner.memory, self._loop)
        self.hierarchy = SyncHierarchy(inner.hierarchy, self._loop)

    sweep = blocking(asynchronous.App.sweep)

    @cached_property
    def knowledge(self) -> "SyncKnowledge":
        """Versioned knowledge."""
        from lamina.sync.knowledge import SyncKnowledge

        return SyncKnowledge(self._room("knowledge"), self._loop)

    @cached_property
    def references(self) -> "SyncReferences":
        """External references."""
        from lamina.sync.knowledge import SyncReferences

        return SyncReferences(self._room("references"), self._loop)

    @cached_property
    def audit(self) -> "SyncAudit":
        """What was done, by whom, to what."""
        from lamina.sync.knowledge import SyncAudit

        return SyncAudit(self._room("audit"), self._loop)

    @cached_property
    def learning(self) -> "SyncLearning":
        """Learning from tools."""
        from lamina.sync.learning import SyncLearning

        return SyncLearning(self._room("learning"), self._loop)

    @cached_property
    def skills(self) -> "SyncSkills":
        """Skills."""
        from lamina.sync.skill import SyncSkills

        return SyncSkills(self._room("skills"), self._loop)

    @cached_property
    def graph(self) -> "SyncGraph":
        """The graph."""
        from lamina.sync.graph import SyncGraph

        return SyncGraph(self._room("graph"), self._loop)

    @cached_property
    def sessions(self) -> "SyncSessions":
        """Conversations."""
        from lamina.sync.session import SyncSessions

        return SyncSessions(self._room("sessions"), self._loop)

    @cached_property
    def observation(self) -> "SyncObservation":
        """Notes on conversations."""
        from lamina.sync.observation import SyncObservation

        return SyncObservation(self._room("observation"), self._loop)

    @cached_property
    def context(self) -> "SyncContext":
        """From a query to a prompt."""
        from lamina.sync.context import SyncContext

        return SyncContext(self._room("context"), self._loop)

    @cached_property
    def keys(self) -> "SyncKeys":
        """The keys that let callers of a service in."""
        from lamina.sync.access import SyncKeys

        return SyncKeys(self._room("keys"), self._loop)

    def queues(self) -> tuple[Queue, ...]:
        """What waits to be done in the background, by worker."""
        return self._inner.queues()

    def session(self, key: str | None) -> AbstractContextManager[None]:
        """Bind a session for every call inside the block."""
        return self._inner.session(key)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._inner.settings

    @property
    def metrics(self) -> Metrics:
        """The app's instruments."""
        return self._inner.metrics

    def close(self) -> None:
        """Finish accepted writes and close; idempotent."""
        with self._closing:
            if not self._loop.ended:
                try:
                    self._loop.run(self._inner.close())
                finally:
                    self._loop.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _room(self, name: str) -> Any:
        async def enter() -> Any:
            return getattr(self._inner, name)

        return self._loop.run(enter())


def open(
    target: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
    **overrides: object,
) -> SyncApp:
    """Like `lamina.open`, but open when it returns and blocking: `with lamina.sync.open("lamina.db") as app:`."""
    return SyncApp(
        asynchronous.open(
            target, settings=settings, embedder=embedder, model=model, clock=clock, metrics=metrics, **overrides
        )
    )
