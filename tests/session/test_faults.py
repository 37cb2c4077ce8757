"""A failure at any statement of a verb leaves the store as it was, and the next attempt works."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from lamina.app import App
from lamina.database.link import Link
from lamina.kernel.clock import ManualClock
from lamina.session.service import SessionService
from lamina.session.types import NewMessage, Role
from tests.session.opening import answering, calling, every_row, loose_ends, said, talking_app

pytestmark = pytest.mark.anyio

_FIRST = 40


class LostError(Exception):
    """The power goes."""


class Fuse:
    """Lets so many statements pass and then blows, once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        for name in ("run", "run_many", "execute"):
            monkeypatch.setattr(Link, name, self._fused(getattr(Link, name)))

    def _fused(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(link: Link, *given: Any) -> Any:
            if self.left is not None:
                if self.left == 0:
                    self.left = None
                    raise LostError
                self.left -= 1
            return original(link, *given)

        return call


Verb = Callable[[SessionService], Awaitable[object]]

VERBS: dict[str, Verb] = {
    "append": lambda it: it.append(role="user", content="one more", session_key="s"),
    "append with an id": lambda it: it.append(role="user", content="one more", id="mine", session_key="s"),
    "append to a new session": lambda it: it.append(role="user", content="hello", session_key="new", user_id="ann"),
    "append many": lambda it: it.append_many([calling("d"), answering("d"), *said("x", "y")], session_key="s"),
    "compact": lambda it: it.compact_messages("s", up_to=5, summary="up to five"),
    "delete": lambda it: it.delete("s"),
}


@pytest.fixture
async def talk(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    async with talking_app(store_url, clock=clock, graph={"enabled": True}) as app:
        new = [*said("a", "b"), calling("c"), answering("c"), *said("d", "e"), NewMessage(role=Role.USER, content="f")]
        await app.sessions.append_many(new, session_key="s", user_id="ann")
        await app.sessions.compact_messages("s", up_to=2, summary="a and b")
        await app.memory.add("of the session", layer="session", user_id="ann", session_id="s")
        assert app.graph.buffer is not None
        await app.graph.buffer.drain()
        yield app


@pytest.mark.parametrize("name", VERBS)
async def test_a_verb_that_is_cut_off_anywhere_changes_nothing(
    talk: App, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = await every_row(talk)
    fuse = Fuse(monkeypatch)
    cuts = 0
    for allowed in range(_FIRST):
        fuse.left = allowed
        try:
            await VERBS[name](talk.sessions)
        except LostError:
            cuts += 1
            assert await every_row(talk) == before, f"cut off before statement {allowed + 1}"
            continue
        assert fuse.left is not None, "the fuse was not reached"
        break
    fuse.left = None
    assert 3 <= cuts < _FIRST
    assert await every_row(talk) != before
    assert await loose_ends(talk) == {}
