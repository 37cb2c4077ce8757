"""The verbs of learning, on both engines."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from lamina.app import App
from lamina.errors import (
    ConfigurationError,
    ContentTooLongError,
    InvalidCursorError,
    InvalidInputError,
    LearningNotFoundError,
    ProviderError,
    QueryTooLongError,
    RateLimitedError,
)
from lamina.kernel.clock import ManualClock
from lamina.knowledge.types import Origin
from lamina.learning.service import LearningService
from lamina.learning.types import LearningCategory
from tests.learning.opening import learning_app, loose_ends

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("knowledge.learning.fix-offered")
async def test_a_trusted_fix_is_offered_for_the_same_tool_and_pattern_and_to_no_other(
    learning: LearningService,
) -> None:
    saved = await learning.save("Use port 1.", tool="connect", error="nothing listens on port 80")
    assert await learning.fix_for("connect", "nothing listens on port 81") is None, "0.5 is not enough"
    for _ in range(2):
        await learning.record_outcome(saved.learning.id, success=True)
    offered = await learning.fix_for("connect", ConnectionError("nothing listens on port 81"))
    assert offered is not None
    assert (offered.fix, offered.confidence) == ("Use port 1.", 0.75)
    assert await learning.fix_for("dial", "nothing listens on port 81") is None
    assert await learning.fix_for("connect", "somebody listens on port 81") is None
    assert await learning.fix_for("connect", "nothing listens on port") is None
    (hit,) = await learning.search("nothing listens on the port")
    assert hit.learning.id == saved.learning.id


@pytest.mark.requirement("knowledge.learning.user-correction")
async def test_a_correction_is_trusted_and_found_at_once(learning: LearningService) -> None:
    result = await learning.correct("deploying the web app", "Run the migrations first, then restart.")
    one = result.learning
    assert result.outcome == "created"
    assert one.category is LearningCategory.USER_CORRECTION
    assert one.origin is Origin.USER
    assert one.confidence == 0.9
    (hit,) = await learning.search("how do I deploy the web app?")
    assert hit.learning == one


async def test_a_correction_of_a_known_error_takes_its_place(learning: LearningService) -> None:
    first = await learning.save("Try again.", tool="connect", error="nothing listens on port 80")
    await learning.record_outcome(first.learning.id, success=True)
    corrected = await learning.correct("connecting", "Use port 1.", tool="connect", error="nothing listens on port 443")
    assert corrected.learning.id == first.learning.id
    assert corrected.outcome == "changed"
    assert corrected.learning.confidence == 0.9
    assert corrected.learning.category is LearningCategory.USER_CORRECTION
    assert corrected.learning.success_count == 1
    kept = await learning.save("Try again.", tool="connect", error="nothing listens on port 80")
    assert (kept.outcome, kept.learning.fix) == ("kept", "Use port 1.")
    for _ in range(9):
        await learning.record_outcome(first.learning.id, success=False)
    taken = await learning.save("Try again.", tool="connect", error="nothing listens on port 80")
    assert (taken.outcome, taken.learning.fix, taken.learning.confidence) == ("changed", "Try again.", 0.5)


async def test_the_user_who_says_what_an_agent_said_makes_it_trusted(learning: LearningService) -> None:
    await learning.save("Use port 1.", tool="connect", error="refused")
    said = await learning.save("Use port 1.", tool="connect", error="refused", origin="user")
    assert (said.outcome, said.learning.origin, said.learning.confidence) == ("changed", Origin.USER, 0.9)


async def test_the_same_fix_again_changes_nothing_and_another_starts_afresh(
    learning: LearningService, clock: ManualClock
) -> None:
    first = await learning.save("Use port 1.", tool="connect", error="refused", tags=["net"])
    await learning.record_outcome(first.learning.id, success=True)
    clock.advance(10)
    same = await learning.save("Use port 1.", tool="connect", error="refused")
    assert same.outcome == "unchanged"
    assert same.learning.tags == ("net",)
    other = await learning.save("Use port 2.", tool="connect", error="refused")
    assert other.outcome == "changed"
    assert (other.learning.confidence, other.learning.success_count) == (0.5, 1)
    assert other.learning.updated_at > first.learning.updated_at
    assert other.learning.created_at == first.learning.created_at


async def test_a_fix_is_set_by_id_and_found_by_its_words(app: App, learning: LearningService) -> None:
    saved = await learning.save("Wait.", tool="connect", error="refused")
    changed = await learning.set_fix(saved.learning.id, "Restart the broker with systemctl.", origin="user")
    assert changed.outcome == "changed"
    (hit,) = await learning.search("how to restart the broker")
    assert hit.learning == changed.learning
    assert await loose_ends(app) == {}
    with pytest.raises(LearningNotFoundError):
        await learning.set_fix("00000000-0000-7000-8000-000000000000", "x")


async def test_a_hit_carries_what_a_known_solution_needs(learning: LearningService) -> None:
    saved = await learning.correct(
        "calling the API", "Send the version header.", tool="http", error="HTTP 400: bad request"
    )
    (hit,) = await learning.search("the API says bad request")
    one = hit.learning
    assert (one.trigger, one.tool, one.pattern) == ("calling the API", "http", "HTTP <number>: bad request")
    assert (one.fix, one.confidence, one.occurrence_count) == ("Send the version header.", 0.9, 0)
    assert 0 < hit.score <= 1
    assert hit.explain["confidence"] == 0.9
    parts = sum(value for name, value in hit.explain.items() if name != "confidence")
    assert parts == pytest.approx(hit.score, abs=1e-3)
    assert saved.learning == one


async def test_a_search_shows_only_solutions_unless_asked_for_more(learning: LearningService) -> None:
    for number in range(40):
        await learning.save(f"Guess {number}.", tool=f"tool{number}", error="the harbour gate is closed")
    trusted = await learning.correct("harbour gate closed", "Ask the harbour master.", tool="gate")
    hits = await learning.search("the harbour gate is closed", limit=3)
    assert [hit.learning.id for hit in hits] == [trusted.learning.id]
    everything = await learning.search("the harbour gate is closed", limit=30, unsolved=True)
    assert len(everything) == 30
    by_tool = await learning.search("the harbour gate is closed", tool="tool7", unsolved=True)
    assert [hit.learning.tool for hit in by_tool] == ["tool7"]
    least = await learning.search("the harbour gate is closed", min_confidence=0.5, limit=30)
    assert len(least) == 30
    of_kind = await learning.search("harbour gate", category="user_correction", unsolved=True)
    assert [hit.learning.id for hit in of_kind] == [trusted.learning.id]
    assert await learning.search("quantum chromodynamics") == ()


async def test_listing_filters_and_pages(learning: LearningService, clock: ManualClock) -> None:
    for number in range(7):
        await learning.save(f"fix {number}", tool="a" if number % 2 else "b", error=f"error {chr(97 + number)}")
        clock.advance(60)
    await learning.correct("greeting", "Say hello.")
    page = await learning.list(limit=3)
    assert page.total_count == 8
    seen = [one.id for one in page.learnings]
    while page.next_cursor:
        page = await learning.list(limit=3, cursor=page.next_cursor)
        seen += [one.id for one in page.learnings]
    assert len(set(seen)) == 8
    assert (await learning.list(tool="a")).total_count == 3
    assert (await learning.list(category="user_correction")).total_count == 1
    assert (await learning.list(min_confidence=0.7)).total_count == 1
    assert (await learning.list(max_confidence=0.5)).total_count == 7
    assert (await learning.list(has_fix=False)).total_count == 0
    assert (await learning.list(not_seen_since=clock.now() - timedelta(seconds=250))).total_count == 3
    with pytest.raises(InvalidCursorError):
        await learning.list(limit=3, cursor="nonsense")


async def test_statistics(learning: LearningService) -> None:
    empty = await learning.statistics()
    assert (empty.total_count, empty.average_confidence, empty.oldest_at) == (0, None, None)
    saved = await learning.save("a", tool="t", error="request timed out")
    await learning.correct("greeting", "Say hello.")
    await learning.record_outcome(saved.learning.id, success=True)
    await learning.record_outcome(saved.learning.id, success=False)
    found = await learning.statistics()
    assert found.total_count == 2
    assert {category.value: count for category, count in found.by_category.items() if count} == {
        "timeout": 1,
        "user_correction": 1,
    }
    assert (found.fix_count, found.solution_count) == (2, 1)
    assert found.average_confidence == pytest.approx((0.5 + 0.9) / 2)
    assert (found.total_successes, found.total_failures) == (1, 1)


async def test_deleting_removes_the_learning_and_its_index_rows(app: App, learning: LearningService) -> None:
    saved = await learning.correct("greeting", "Say hello.")
    await learning.delete(saved.learning.id)
    assert await learning.search("greeting hello") == ()
    assert await loose_ends(app) == {}
    with pytest.raises(LearningNotFoundError):
        await learning.get(saved.learning.id)
    with pytest.raises(LearningNotFoundError):
        await learning.delete(saved.learning.id)
    with pytest.raises(LearningNotFoundError):
        await learning.record_outcome(saved.learning.id, success=True)


async def test_concurrent_saves_of_one_error_make_one_learning(app: App, learning: LearningService) -> None:
    results = await asyncio.gather(*(learning.save(f"fix {number}", tool="t", error="refused") for number in range(16)))
    assert len({result.learning.id for result in results}) == 1
    assert [result.outcome for result in results].count("created") == 1
    assert (await learning.list()).total_count == 1
    assert await loose_ends(app) == {}


async def test_concurrent_saves_of_a_session_get_exactly_the_limit(store_url: str) -> None:
    async with learning_app(store_url, max_learnings_per_session=10) as app:
        results = await asyncio.gather(
            *(app.learning.save("f", trigger=f"case {number}", session_key="s") for number in range(64)),
            return_exceptions=True,
        )
        refused = [one for one in results if isinstance(one, RateLimitedError)]
        assert len(refused) == 54
        assert (await app.learning.list()).total_count == 10


async def test_a_limit_of_zero_is_unlimited(store_url: str) -> None:
    async with learning_app(store_url, max_learnings_per_session=0) as app:
        for number in range(12):
            await app.learning.save("f", trigger=f"case {chr(97 + number)}", session_key="s")
        assert (await app.learning.list()).total_count == 12


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"fix": " "}, InvalidInputError),
        ({"fix": "x" * 4001}, ContentTooLongError),
        ({"fix": "a\0b"}, InvalidInputError),
        ({"fix": "a\ud800b"}, InvalidInputError),
        ({"trigger": None, "error": None}, InvalidInputError),
        ({"error": "  "}, InvalidInputError),
        ({"category": "nonsense"}, InvalidInputError),
        ({"origin": "nobody"}, InvalidInputError),
        ({"tool": ""}, InvalidInputError),
        ({"tags": "abc"}, InvalidInputError),
        ({"session_key": "a\0"}, InvalidInputError),
    ],
)
async def test_bad_input_is_an_error_and_stores_nothing(
    learning: LearningService, changes: dict[str, object], kind: type[InvalidInputError]
) -> None:
    given = {"fix": "f", "trigger": "t", **changes}
    with pytest.raises(kind) as refused:
        await learning.save(**given)  # type: ignore[arg-type]
    assert refused.value.operation == "learning_save"
    assert (await learning.list()).total_count == 0


async def test_bad_questions_are_errors(learning: LearningService) -> None:
    with pytest.raises(QueryTooLongError):
        await learning.search("x" * 10_001)
    with pytest.raises(InvalidInputError):
        await learning.search("x", limit=0)
    with pytest.raises(InvalidInputError):
        await learning.list(min_confidence=2)
    with pytest.raises(InvalidInputError, match="no fix"):
        await learning.record_outcome((await _unfixed(learning)), success=True)


async def _unfixed(learning: LearningService) -> str:
    def tool() -> None:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        learning.wrap(tool)()
    await learning.drain()
    return (await learning.list()).learnings[0].id


async def test_while_knowledge_is_off_nothing_is_learned_and_nothing_found(store_url: str) -> None:
    async with learning_app(store_url) as app:
        saved = await app.learning.correct("greeting", "Say hello.", tool="t", error="refused")
    async with learning_app(store_url, enabled=False) as app:
        learning = app.learning

        def tool() -> None:
            raise ValueError("refused")

        assert learning.wrap(tool) is tool
        assert await learning.search("greeting") == ()
        assert (await learning.list()).total_count == 0
        assert await learning.fix_for("t", "refused") is None
        with pytest.raises(ConfigurationError, match=r"knowledge\.enabled"):
            await learning.get(saved.learning.id)
        with pytest.raises(ConfigurationError, match=r"knowledge\.enabled"):
            await learning.correct("a", "b")
        with pytest.raises(ConfigurationError, match=r"knowledge\.enabled"):
            await learning.clean_up(tool="t", dry_run=False)
    async with learning_app(store_url) as app:
        assert await app.learning.get(saved.learning.id) == saved.learning


async def test_changes_leave_audit_rows(app: App, learning: LearningService) -> None:
    saved = await learning.acting_as("ann").correct("greeting", "Say hello.", session_key="s")
    await learning.set_fix(saved.learning.id, "Say good morning.", origin="user")
    await learning.record_outcome(saved.learning.id, success=True)
    await learning.clean_up(category="timeout", dry_run=False)
    await learning.delete(saved.learning.id)
    rows = (await app.audit.list()).rows
    assert [row.action for row in reversed(rows)] == [
        "learning_save",
        "learning_fix",
        "learning_outcome",
        "learning_clean_up",
        "learning_delete",
    ]
    assert (rows[-1].actor, rows[-1].session_key, rows[-1].target) == ("ann", "s", "greeting")


async def test_the_history_of_a_fix_tells_how_confidence_moved(learning: LearningService, clock: ManualClock) -> None:
    saved = await learning.save("Wait a minute.", tool="t", error="busy")
    other = await learning.save("Ask again.", tool="u", error="busy")
    assert await learning.history(saved.learning.id) == ()
    began = clock.now()
    for number, success in enumerate((True, True, False)):
        clock.advance(60)
        await learning.record_outcome(saved.learning.id, success=success)
        await learning.record_outcome(other.learning.id, success=number == 0)
    trials = await learning.history(saved.learning.id)
    assert [(one.successes, one.failures) for one in trials] == [(1, 0), (1, 0), (0, 1)]
    assert [one.confidence for one in trials] == pytest.approx([2 / 3, 3 / 4, 3 / 5])
    assert [(one.at - began).total_seconds() for one in trials] == [60, 120, 180]


async def test_a_change_that_fails_leaves_no_audit_row(app: App, learning: LearningService) -> None:
    def broken(*_: object) -> None:
        raise ProviderError("the graph is gone")

    saved = await learning.correct("greeting", "Say hello.")
    failing = replace(learning, saver=replace(learning.saver, on_removed=broken))
    with pytest.raises(ProviderError):
        await failing.delete(saved.learning.id)
    assert await learning.get(saved.learning.id) == saved.learning
    assert [row.action for row in (await app.audit.list()).rows] == ["learning_save"]
    assert await loose_ends(app) == {}
