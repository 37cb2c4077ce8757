"""The blocking twin of conversations."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lamina.sync
from lamina.errors import SessionNotFoundError
from lamina.session.service import SessionService
from lamina.sync import SyncApp
from lamina.sync.session import SyncSessions
from tests.session.opening import said
from tests.stores import static_embedder


@pytest.fixture
def app(tmp_path: Path) -> Iterator[SyncApp]:
    with lamina.sync.open(tmp_path / "lamina.db", embedder=static_embedder()) as opened:
        yield opened


def test_the_verbs_work_without_await(app: SyncApp) -> None:
    with app.session("s"):
        app.sessions.append(role="user", content="My sister moved to Trondheim", user_id="ann")
        app.sessions.append_many(said("When?", "In March", "Why?"))
        assert [one.sequence for one in app.sessions.messages()] == [1, 2, 3, 4]
        assert app.sessions.recent(budget_tokens=10)[-1].sequence == 4
        assert app.sessions.compact_messages(up_to=1, summary="Trondheim").sequence == 1
        assert app.sessions.recall("Where is my sister?")[0].message.sequence == 1
        assert app.sessions.get().archived_count == 1
    assert [one.key for one in app.sessions.list(user_id="ann").sessions] == ["s"]
    counted = app.sessions.counting_with(lambda text: len(text)).append(role="user", content="x" * 50, session_key="s")
    assert counted.tokens > 50
    with pytest.raises(SessionNotFoundError):
        app.sessions.for_tenant("other").get("s")
    assert app.sessions.delete("s").removed["messages"] == 5


def test_no_verb_is_missing_and_none_has_another_signature() -> None:
    def verbs(kind: type) -> dict[str, Callable[..., object]]:
        return {
            name: getattr(kind, name)
            for name in dir(kind)
            if not name.startswith("_") and inspect.isfunction(getattr(kind, name))
        }

    theirs, mine = verbs(SessionService), verbs(SyncSessions)
    assert set(mine) == set(theirs)
    for name, verb in theirs.items():
        assert inspect.signature(mine[name]).parameters == inspect.signature(verb).parameters, name
