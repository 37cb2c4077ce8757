"""Tenants never see, change, count or match each other's learnings."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lamina.app import App
from lamina.errors import LearningNotFoundError
from lamina.learning.service import LearningService
from tests.learning.opening import learning_app

pytestmark = pytest.mark.anyio

Verb = Callable[[LearningService, str], Awaitable[Any]]

BY_ID: dict[str, Verb] = {
    "get": lambda learning, id: learning.get(id),
    "set_fix": lambda learning, id: learning.set_fix(id, "mine now"),
    "record_outcome": lambda learning, id: learning.record_outcome(id, success=False),
    "history": lambda learning, id: learning.history(id),
    "delete": lambda learning, id: learning.delete(id),
}
READING: dict[str, Verb] = {
    "search": lambda learning, _: learning.search("harbour gate closed", unsolved=True),
    "list": lambda learning, _: learning.list(),
    "fix_for": lambda learning, _: learning.fix_for("gate", "the harbour gate is closed"),
    "clean_up": lambda learning, _: learning.clean_up(tool="gate", dry_run=False),
    "statistics": lambda learning, _: learning.statistics(),
    "saves_taken": lambda learning, _: learning.saves_taken("s"),
}
ELSEWHERE = {
    "save": "test_the_same_error_of_two_tenants_is_two_learnings",
    "correct": "the fixture of every test here",
    "wrap": "test_the_same_error_of_two_tenants_is_two_learnings",
    "watch": "notes what `wrap` notes, of a tool that cannot be wrapped",
    "drain": "waits for the engine, which is one for all",
    "counters": "numbers of the process",
    "reset_saves": "test_slots_are_counted_by_tenant",
    "for_tenant": "chooses the tenant",
    "acting_as": "names the actor",
}


@pytest.fixture
async def owned(learning: LearningService) -> str:
    saved = await learning.correct(
        "harbour gate closed", "Ring.", tool="gate", error="the harbour gate is closed", session_key="s"
    )
    return saved.learning.id


def test_every_verb_is_tried() -> None:
    verbs = {name for name, _ in inspect.getmembers(LearningService) if not name.startswith("_")}
    verbs -= set(LearningService.__dataclass_fields__)
    assert verbs == {*BY_ID, *READING, *ELSEWHERE}


@pytest.mark.parametrize("verb", BY_ID)
async def test_a_learning_of_another_tenant_reads_as_absent(learning: LearningService, owned: str, verb: str) -> None:
    before = await learning.get(owned)
    with pytest.raises(LearningNotFoundError) as absent:
        await BY_ID[verb](learning.for_tenant("other"), owned)
    with pytest.raises(LearningNotFoundError) as never:
        await BY_ID[verb](learning.for_tenant("other"), "00000000-0000-7000-8000-000000000000")
    assert absent.value.message == never.value.message
    assert await learning.get(owned) == before


@pytest.mark.parametrize("verb", READING)
async def test_a_verb_of_another_tenant_finds_nothing(learning: LearningService, owned: str, verb: str) -> None:
    before = await learning.get(owned)
    other = await READING[verb](learning.for_tenant("other"), owned)
    assert owned not in repr(other)
    assert other in (0, (), None) or other == await READING[verb](learning.for_tenant("empty"), owned)
    assert await learning.get(owned) == before
    assert owned in repr(await learning.search("harbour gate closed"))


async def test_the_same_error_of_two_tenants_is_two_learnings(app: App, learning: LearningService) -> None:
    def gate() -> None:
        raise ValueError("the harbour gate is closed")

    others = learning.for_tenant("other")
    mine, theirs = learning.wrap(gate), others.wrap(gate)
    for tool in (mine, mine, theirs):
        with pytest.raises(ValueError, match="harbour"):
            tool()
    await learning.drain()
    (one,), (two,) = (await learning.list()).learnings, (await others.list()).learnings
    assert one.id != two.id
    assert (one.occurrence_count, two.occurrence_count) == (2, 1)
    assert {row.action for row in (await app.audit.list(tenant="other")).rows} == {"tool_call", "learning_save"}
    saved = await others.save("Ring.", tool="gate", error="the harbour gate is closed", origin="user")
    assert saved.learning.id == two.id
    assert await learning.fix_for("gate", "the harbour gate is closed") is None


async def test_slots_are_counted_by_tenant(store_url: str) -> None:
    async with learning_app(store_url, max_learnings_per_session=1) as app:
        others = app.learning.for_tenant("other")
        await app.learning.save("f", trigger="one", session_key="s")
        await others.save("f", trigger="one", session_key="s")
        await others.reset_saves("s")
        assert await app.learning.saves_taken("s") == 1
        assert await others.saves_taken("s") == 0
