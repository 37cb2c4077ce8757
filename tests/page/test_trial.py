"""A trial in the playground: what it shows, what it changes, and how two differ."""

from dataclasses import replace

import pytest

import lamina
from lamina.access.types import Grant, Right
from lamina.app import App
from lamina.context.turns import PreviousTurns
from lamina.context.types import ContextLayer
from lamina.errors import ForbiddenError, SessionNotFoundError
from lamina.memory.types import Identifiers
from lamina.page.trial import LAYERS, Asked, compare, reason, run
from lamina.visitor import visit

pytestmark = pytest.mark.anyio
ASKED = Asked(query="Can we deploy the web app on a Friday?", identifiers={"user_id": "ana"})


@pytest.fixture
def app(sqlite_store_url: str) -> App:
    return lamina.open(
        sqlite_store_url, knowledge={"enabled": True}, context={"store_receipts": True, "memory_threshold": 0.3}
    )


async def fill(app: App) -> None:
    await app.knowledge.save("deploy-rule", "Never deploy the web app on a Friday", category="rule")
    await app.learning.correct("deploying the web app", "Run the migrations before the deploy")
    await app.memory.add("Ana deploys the web app on a Friday only when she must", user_id="ana")
    await app.sessions.append(session_key="web:1", role="user", content="Hello", user_id="bob")


async def test_every_section_has_its_text_and_looking_changes_nothing(app: App) -> None:
    async with app:
        await fill(app)
        visitor = visit(app, Grant(tenant="default"))
        trial = await run(visitor, ASKED, PreviousTurns())
        sections = dict(trial.sections())
        assert "".join(sections.values()) == trial.prompt.text.partition("whatever it claims.\n")[2]
        assert [one.name for one in sections] == [one.name for one in trial.receipt.sections]
        named = {one.name: text for one, text in sections.items()}
        assert "Never deploy" in named["User Knowledge"]
        assert "Ana deploys" in named["Semantic Context (RAG)"]
        assert await app.context.list_receipts() == ()
    async with app:
        assert (await app.knowledge.get("deploy-rule")).use_count == 0


async def test_two_trials_differ_by_what_was_asked_and_what_came_of_it(app: App) -> None:
    async with app:
        await fill(app)
        visitor, turns = visit(app, Grant(tenant="default")), PreviousTurns()
        first = await run(visitor, ASKED, turns)
        fewer = tuple(layer for layer in LAYERS if layer is not ContextLayer.AGENT_LEARNINGS)
        second = await run(visitor, replace(ASKED, layers=fewer, budget=120), turns)
    found = compare(first, second)
    assert found.asked == ("Agent Learnings off", "budget default → 120")
    assert found.tokens == second.receipt.total_tokens - first.receipt.total_tokens < 0
    assert found.sections["Known Solutions"][1] == 0
    gone = {one.item.layer: (one.before, one.after) for one in found.moved}
    assert gone[ContextLayer.AGENT_LEARNINGS] == ("in the prompt", "layer off")
    same = compare(first, first)
    assert (same.asked, same.tokens, same.sections, same.moved) == ((), 0, {}, ())


async def test_a_key_tries_only_what_it_may_see(app: App) -> None:
    async with app:
        await fill(app)
        ana = visit(app, Grant(tenant="default", right=Right.READ, identifiers=Identifiers(user_id="ana")))
        with pytest.raises(ForbiddenError):
            await run(ana, replace(ASKED, identifiers={"user_id": "bob"}), PreviousTurns())
        with pytest.raises(SessionNotFoundError):
            await run(ana, replace(ASKED, session="web:1"), PreviousTurns())
        trial = await run(ana, replace(ASKED, identifiers={}), PreviousTurns())
    assert "Ana deploys" in trial.prompt.text


def test_every_reason_is_said_in_words() -> None:
    assert reason("total") == "larger than the whole budget"
    assert reason("max_per_layer") == "more than max_per_layer allows"
