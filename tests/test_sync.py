"""The blocking twin: the same verbs with the same signatures, from any thread, and no way to hang."""

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

import lamina
from lamina import sync
from lamina.access.service import KeyService
from lamina.context.service import ContextService
from lamina.embedding.types import Purpose
from lamina.errors import ConfigurationError, MissingIdentifierError
from lamina.graph.service import GraphService
from lamina.memory.hierarchy import Hierarchy
from lamina.memory.service import MemoryService
from lamina.observation.service import ObservationService
from lamina.skill.service import SkillService
from lamina.sync.access import SyncKeys
from lamina.sync.context import SyncContext
from lamina.sync.graph import SyncGraph
from lamina.sync.observation import SyncObservation
from lamina.sync.skill import SyncSkills
from tests.stores import CountingEmbedder, static_embedder


@pytest.fixture
def app(tmp_path: Path) -> Iterator[sync.SyncApp]:
    with sync.open(tmp_path / "lamina.db", embedder=static_embedder()) as opened:
        yield opened


def verbs(kind: type) -> dict[str, Callable[..., object]]:
    members = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    return {name: member for name, member in members.items() if callable(member)}


# Completing identifiers is what a search does with the hierarchy; nobody calls it. The rooms of another tenant are for
# doors that serve many; the blocking twin has `for_tenant` on each room.
@pytest.mark.parametrize(
    ("twin", "origin", "inside"),
    [
        (sync.SyncMemory, MemoryService, set()),
        (sync.SyncHierarchy, Hierarchy, {"complete"}),
        (SyncSkills, SkillService, {"toolset"}),
        (SyncGraph, GraphService, set()),
        (SyncContext, ContextService, {"tenant"}),
        (SyncObservation, ObservationService, {"appended"}),
        (SyncKeys, KeyService, set()),
        (sync.SyncApp, lamina.App, {"start", "for_tenant"}),
    ],
)
def test_the_verbs_and_their_signatures_are_those_of_the_async_ones(twin: type, origin: type, inside: set[str]) -> None:
    there = {name: verb for name, verb in verbs(origin).items() if name not in inside}
    assert set(verbs(twin)) == set(there)
    for name, verb in there.items():
        mine, theirs = inspect.signature(verbs(twin)[name]), inspect.signature(verb)
        assert mine.parameters == theirs.parameters, name
        if inspect.iscoroutinefunction(verb):
            assert not inspect.iscoroutinefunction(verbs(twin)[name])
            assert mine.return_annotation == theirs.return_annotation, name
        assert verbs(twin)[name].__doc__, name


def test_opening_takes_what_the_async_one_takes() -> None:
    assert inspect.signature(sync.open).parameters == inspect.signature(lamina.open).parameters


def test_every_verb_works(app: sync.SyncApp) -> None:
    mine = app.memory.scoped(user_id="u1")
    added = mine.add("Prefers dark mode", tags=["ui"])
    assert [hit.id for hit in mine.search("dark mode")] == [added.id]
    assert mine.get(added.id) == added.memory
    assert mine.update(added.id, content="Prefers light mode").memory.version == 2
    assert [state.version for state in mine.history(added.id)] == [1, 2]
    assert mine.list().total_count == 1
    (bulk,) = mine.bulk_add([lamina.NewMemory(content="Speaks French")])
    assert mine.bulk_delete([bulk.id]).deleted == 1
    assert mine.delete(added.id).success
    assert app.memory.for_tenant("other").list(user_id="u1").total_count == 0
    app.hierarchy.set(tenant="default", project_id="web", team_id="ui")
    assert app.hierarchy.all(tenant="default") == [{"kind": "project", "id": "web", "parent_id": "ui"}]
    assert app.hierarchy.remove(tenant="default", kind="project", id="web")
    assert app.sweep() == 0


def test_errors_are_the_same(app: sync.SyncApp) -> None:
    with pytest.raises(MissingIdentifierError) as caught:
        app.memory.add("x", layer="session", user_id="u")
    assert caught.value.details["missing"] == ["session_id"]


def test_many_threads_share_an_app(app: sync.SyncApp) -> None:
    def work(number: int) -> str:
        added = app.memory.add(f"thread {number} was here", user_id="u")
        assert app.memory.get(added.id, user_id="u") == added.memory
        return added.id

    with ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(work, range(40)))
    assert len(set(ids)) == app.memory.list(user_id="u").total_count == 40


@pytest.mark.anyio
async def test_it_works_inside_a_running_loop(tmp_path: Path) -> None:
    with sync.open(tmp_path / "lamina.db", embedder=static_embedder()) as app:
        added = app.memory.add("Called from a notebook", user_id="u")
        inside = await asyncio.to_thread(app.memory.get, added.id, user_id="u")
    assert inside == added.memory


def lamina_threads() -> list[str]:
    """Threads of stores and their loops; the one that integrations share stays as long as the process."""
    names = (thread.name for thread in threading.enumerate())
    return [name for name in names if name.startswith("lamina") and name != "lamina-integrations"]


def test_closing_ends_every_thread_and_is_idempotent(app: sync.SyncApp) -> None:
    assert lamina_threads()
    app.memory.add("x", user_id="u")
    memory = app.memory
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: app.close(), range(4)))
    app.close()
    assert lamina_threads() == []
    for call in (lambda: memory.add("x", user_id="u"), app.sweep, lambda: app.hierarchy.all(tenant="default")):
        with pytest.raises(ConfigurationError, match="closed"):
            call()


def test_a_failed_opening_leaves_no_thread(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        sync.open(tmp_path / "nowhere" / "lamina.db", embedder=static_embedder())
    assert lamina_threads() == []


class Hanging(CountingEmbedder):
    """Answers the calibration, and then never again."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs = False
        self.asked = threading.Event()

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        if self.hangs:
            self.asked.set()
            await anyio.sleep_forever()
        return await super().embed(texts, purpose=purpose)


def test_closing_releases_a_caller_that_still_waits(tmp_path: Path) -> None:
    embedder = Hanging()
    app = sync.open(tmp_path / "lamina.db", embedder=embedder)
    embedder.hangs = True
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(app.memory.add, "never embedded", user_id="u")
        assert embedder.asked.wait(30)
        app.close()
        with pytest.raises(ConfigurationError, match="closed"):
            waiting.result(30)


def test_calls_that_race_with_closing_end_one_way_or_the_other(tmp_path: Path) -> None:
    for _ in range(5):
        app = sync.open(tmp_path / "lamina.db", embedder=static_embedder())
        started = threading.Barrier(5)

        def call(app: sync.SyncApp = app, started: threading.Barrier = started) -> int:
            started.wait(30)
            done = 0
            try:
                while True:
                    app.memory.get("x", user_id="u")
                    done += 1
            except ConfigurationError:
                return done

        with ThreadPoolExecutor(4) as threads:
            calls = [threads.submit(call) for _ in range(4)]
            started.wait(30)
            app.close()
            assert all(each.result(30) >= 0 for each in calls)


class Reentrant(CountingEmbedder):
    """Calls the blocking API from inside a blocking call."""

    app: sync.SyncApp | None = None

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        if self.app is not None:
            self.app.memory.get("x", user_id="u")
        return await super().embed(texts, purpose=purpose)


def test_a_blocking_call_inside_a_blocking_call_is_refused_instead_of_waiting_for_itself(tmp_path: Path) -> None:
    embedder = Reentrant()
    with sync.open(tmp_path / "lamina.db", embedder=embedder) as app:
        embedder.app = app
        with pytest.raises(ConfigurationError, match="inside another"):
            app.memory.add("x", user_id="u")
        embedder.app = None
        assert app.memory.add("x", user_id="u").embedding_generated


def test_an_interpreter_that_ends_without_closing_does_not_hang_and_has_lost_nothing(tmp_path: Path) -> None:
    store = tmp_path / "lamina.db"
    script = "import sys, lamina\napp = lamina.sync.open(sys.argv[1])\nprint(app.memory.add('kept', user_id='u').id)"
    command = [sys.executable, "-W", "error", "-c", script, str(store)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    with sync.open(store, embedder=static_embedder()) as app:
        assert app.memory.get(ended.stdout.strip(), user_id="u") is not None
