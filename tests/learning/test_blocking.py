"""Learning without `await`, and tools that run on threads of their own."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import lamina
from lamina.learning.service import LearningService
from lamina.sync.learning import SyncLearning


def connect(port: int) -> str:
    """Connect; only port 1 answers."""
    if port != 1:
        raise ConnectionError(f"nothing listens on port {port}")
    return "connected"


def test_tools_on_many_threads_teach_one_learning(sqlite_url: str) -> None:
    with lamina.sync.open(sqlite_url, knowledge={"enabled": True}) as app:
        tool = app.learning.wrap(connect)
        with ThreadPoolExecutor(16) as threads:
            outcomes = list(threads.map(lambda port: _outcome(tool, port), range(64)))
        assert outcomes.count("connected") == 1
        app.learning.drain()
        (one,) = app.learning.list().learnings
        assert one.occurrence_count == 63
        assert app.learning.counters.handled_count == 64


def _outcome(tool: object, port: int) -> str:
    try:
        return tool(port)  # type: ignore[operator, no-any-return]
    except ConnectionError:
        return "refused"


def test_a_session_bound_by_the_caller_is_the_tools_session(sqlite_url: str) -> None:
    with lamina.sync.open(sqlite_url, knowledge={"enabled": True}) as app:
        tool = app.learning.wrap(connect)
        with app.session("telegram:42:7"):
            with pytest.raises(ConnectionError):
                tool(80)
            app.learning.drain()
            saved = app.learning.save("Use port 1.", tool="connect", error="nothing listens on port 80")
            tool(1)
            app.learning.drain()
        assert app.learning.get(saved.learning.id).success_count == 1
        assert app.learning.saves_taken("telegram:42:7") == 1


def test_the_blocking_twin_has_every_verb() -> None:
    def verbs(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert verbs(LearningService) - set(LearningService.__dataclass_fields__) == verbs(SyncLearning)
