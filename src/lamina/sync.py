"""The blocking twin, for scripts and notebooks: the same verbs, no `await`.

One event loop runs in a thread of its own for as long as the app is open; every call is handed to it. The verbs are
the async ones, wrapped: their signatures, types and docstrings are the same by construction.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, Unpack

from lamina import app as asynchronous
from lamina.config import Settings
from lamina.context.quarantine import Quarantine
from lamina.context.service import ContextService
from lamina.context.tools import Tool
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError
from lamina.kernel.clock import Clock
from lamina.knowledge.audit import AuditLog
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from lamina.learning.service import LearningService
from lamina.learning.types import EngineCounters
from lamina.memory.hierarchy import Hierarchy
from lamina.memory.service import MemoryService
from lamina.memory.types import IdentifierArguments
from lamina.observability.metrics import Metrics

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
Inner = TypeVar("Inner")


class _Loop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._gate = threading.Lock()
        self._ending = False
        self._thread = threading.Thread(target=self._serve, name="lamina-sync", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether nothing runs here any more."""
        return not self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run to the end and hand back what it returns or raises; an interrupt cancels it.

        Raises ConfigurationError when the loop has ended or ends meanwhile, and on the loop's own thread, which
        would wait for itself.
        """
        future = self._submit(work)
        try:
            return future.result()
        except CancelledError:
            if self._ending:
                raise _closed() from None
            raise
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _submit(self, work: Coroutine[Any, Any, R]) -> "Future[R]":
        with self._gate:  # what is taken here is taken before the end, and the end finishes it
            if self._ending:
                work.close()
                raise _closed()
            if threading.current_thread() is self._thread:
                work.close()
                raise ConfigurationError("A blocking call was made from inside another one; use the async API there.")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel what still runs, and end; idempotent."""
        with self._gate:
            if not self._ending:
                self._ending = True
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        with closing(self._loop):
            self._loop.run_forever()
            self._loop.run_until_complete(_cancel_others())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _closed() -> ConfigurationError:
    return ConfigurationError("The app is closed; open it again.")


class _Twin(Generic[Inner]):
    """Holds an async object and the loop it lives on."""

    def __init__(self, inner: Inner, loop: _Loop) -> None:
        self._inner = inner
        self._loop = loop


class _HasTwin(Protocol[S]):
    _inner: S
    _loop: _Loop


def _blocking(
    verb: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate["_HasTwin[S]", P], R]:
    @functools.wraps(verb)
    def call(self: "_HasTwin[S]", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(verb(self._inner, *args, **kwargs))

    return call


class SyncMemory(_Twin[MemoryService]):
    """`app.memory`, blocking."""

    add = _blocking(MemoryService.add)
    bulk_add = _blocking(MemoryService.bulk_add)
    search = _blocking(MemoryService.search)
    get = _blocking(MemoryService.get)
    history = _blocking(MemoryService.history)
    update = _blocking(MemoryService.update)
    delete = _blocking(MemoryService.delete)
    bulk_delete = _blocking(MemoryService.bulk_delete)
    list = _blocking(MemoryService.list)

    def for_tenant(self, tenant: str) -> "SyncMemory":
        """The same memory for another tenant."""
        return SyncMemory(self._inner.for_tenant(tenant), self._loop)

    def scoped(self, **identifiers: Unpack[IdentifierArguments]) -> "SyncMemory":
        """The same memory with identifiers filled in."""
        return SyncMemory(self._inner.scoped(**identifiers), self._loop)


class SyncKnowledge(_Twin[KnowledgeService]):
    """`app.knowledge`, blocking."""

    save = _blocking(KnowledgeService.save)
    get = _blocking(KnowledgeService.get)
    history = _blocking(KnowledgeService.history)
    delete = _blocking(KnowledgeService.delete)
    list = _blocking(KnowledgeService.list)
    search = _blocking(KnowledgeService.search)
    used = _blocking(KnowledgeService.used)
    boost = _blocking(KnowledgeService.boost)
    decay = _blocking(KnowledgeService.decay)
    saves_taken = _blocking(KnowledgeService.saves_taken)
    reset_saves = _blocking(KnowledgeService.reset_saves)

    def for_tenant(self, tenant: str) -> "SyncKnowledge":
        """The same knowledge for another tenant."""
        return SyncKnowledge(self._inner.for_tenant(tenant), self._loop)

    def acting_as(self, actor: str) -> "SyncKnowledge":
        """The same knowledge with another name in the audit log."""
        return SyncKnowledge(self._inner.acting_as(actor), self._loop)


class SyncLearning(_Twin[LearningService]):
    """`app.learning`, blocking."""

    save = _blocking(LearningService.save)
    correct = _blocking(LearningService.correct)
    set_fix = _blocking(LearningService.set_fix)
    record_outcome = _blocking(LearningService.record_outcome)
    fix_for = _blocking(LearningService.fix_for)
    get = _blocking(LearningService.get)
    list = _blocking(LearningService.list)
    search = _blocking(LearningService.search)
    delete = _blocking(LearningService.delete)
    clean_up = _blocking(LearningService.clean_up)
    statistics = _blocking(LearningService.statistics)
    drain = _blocking(LearningService.drain)
    saves_taken = _blocking(LearningService.saves_taken)
    reset_saves = _blocking(LearningService.reset_saves)

    def wrap(self, tool: T, *, name: str | None = None) -> T:
        """The tool, watched; a wrapped tool is called as before, on any thread."""
        return self._inner.wrap(tool, name=name)

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


class SyncReferences(_Twin[ReferenceService]):
    """`app.references`, blocking."""

    save = _blocking(ReferenceService.save)
    get = _blocking(ReferenceService.get)
    delete = _blocking(ReferenceService.delete)
    list = _blocking(ReferenceService.list)
    search = _blocking(ReferenceService.search)

    def for_tenant(self, tenant: str) -> "SyncReferences":
        """The same references for another tenant."""
        return SyncReferences(self._inner.for_tenant(tenant), self._loop)

    def acting_as(self, actor: str) -> "SyncReferences":
        """The same references with another name in the audit log."""
        return SyncReferences(self._inner.acting_as(actor), self._loop)


class SyncAudit(_Twin[AuditLog]):
    """`app.audit`, blocking."""

    record = _blocking(AuditLog.record)
    list = _blocking(AuditLog.list)


class SyncQuarantine(_Twin[Quarantine]):
    """`app.context.quarantine`, blocking."""

    list = _blocking(Quarantine.list)
    release = _blocking(Quarantine.release)
    purge = _blocking(Quarantine.purge)


class SyncContext(_Twin[ContextService]):
    """`app.context`, blocking."""

    retrieve = _blocking(ContextService.retrieve)
    assemble = _blocking(ContextService.assemble)
    list_receipts = _blocking(ContextService.list_receipts)
    get_receipt = _blocking(ContextService.get_receipt)
    store_receipt = _blocking(ContextService.store_receipt)

    @property
    def quarantine(self) -> SyncQuarantine:
        """Texts held back from prompts."""
        return SyncQuarantine(self._inner.quarantine, self._loop)

    def with_tools(self, tools: Iterable[Tool]) -> "SyncContext":
        """The same context with these tools to offer."""
        return SyncContext(self._inner.with_tools(tools), self._loop)

    def for_tenant(self, tenant: str) -> "SyncContext":
        """The same context for another tenant."""
        return SyncContext(self._inner.for_tenant(tenant), self._loop)


class SyncHierarchy(_Twin[Hierarchy]):
    """`app.hierarchy`, blocking."""

    set = _blocking(Hierarchy.set)
    remove = _blocking(Hierarchy.remove)
    all = _blocking(Hierarchy.all)


class SyncApp:
    """An app to be used without `await`; a context manager, open from the start."""

    def __init__(self, inner: asynchronous.App) -> None:
        self._loop = _Loop()
        self._inner = inner
        self._closing = threading.Lock()
        try:
            self._loop.run(inner.start())
        except BaseException:  # boundary: whatever went wrong, the thread ends
            self._loop.stop()
            raise
        self.memory = SyncMemory(inner.memory, self._loop)
        self.hierarchy = SyncHierarchy(inner.hierarchy, self._loop)
        self.knowledge = SyncKnowledge(inner.knowledge, self._loop)
        self.learning = SyncLearning(inner.learning, self._loop)
        self.references = SyncReferences(inner.references, self._loop)
        self.audit = SyncAudit(inner.audit, self._loop)
        self.context = SyncContext(inner.context, self._loop)

    sweep = _blocking(asynchronous.App.sweep)

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


def open(
    target: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
    **overrides: object,
) -> SyncApp:
    """Like `lamina.open`, but open when it returns and blocking: `with lamina.sync.open("lamina.db") as app:`."""
    return SyncApp(
        asynchronous.open(target, settings=settings, embedder=embedder, clock=clock, metrics=metrics, **overrides)
    )
