"""Observational memory in an app: what is on, what is off, and every verb."""

import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import pytest

import lamina
from lamina.app import App
from lamina.config import load_settings
from lamina.database.link import Link
from lamina.errors import ConfigurationError, InvalidInputError, MissingIdentifierError, SessionNotFoundError
from lamina.kernel.clock import ManualClock
from lamina.observation.opening import session_compactor
from lamina.observation.settings import ObservationSettings
from lamina.session.reading import StoredSession
from lamina.session.types import MessageKind
from tests.observation.scripted import ScriptedObserver, model_failure
from tests.stores import static_embedder

pytestmark = pytest.mark.anyio
KEY = "telegram:42:7"
SMALL = {
    "enabled": True,
    "message_token_threshold": 100,
    "observation_token_threshold": 120,
    "retained_tail_tokens": 0,
    "max_batch_tokens": 150,
}


@asynccontextmanager
async def noted_app(url: str, clock: ManualClock | None = None, **changes: object) -> AsyncIterator[App]:
    """An app that observes with the extractive observer."""
    app = lamina.open(
        url,
        embedder=static_embedder(),
        clock=clock or ManualClock(),
        observational_memory={**SMALL, **changes},
        memory={"sweep_interval_s": 0},
    )
    async with app:
        yield app


async def talk(app: App, exchanges: int, *, key: str = KEY, start: int = 0) -> None:
    for number in range(start, start + exchanges):
        user = f"I moved pier {number} to berth {number + 100} on Friday because crane {number} broke down again."
        await app.sessions.append(role="user", content=user, session_key=key)
        answer = f"Noted: pier {number} is at berth {number + 100} now, and crane {number} is in repair."
        await app.sessions.append(role="assistant", content=answer, session_key=key)


async def test_observation_happens_by_itself_after_appends(store_url: str) -> None:
    async with noted_app(store_url) as app:
        await talk(app, 12)
        await app.observation.drain()
        notes = await app.observation.notes(KEY)
        assert notes
        assert all(note.provisional and note.written_by == "extractive" for note in notes)
        live = await app.sessions.messages(KEY)
        assert live[0].kind is MessageKind.SUMMARY
        assert len(live) < 24


@pytest.mark.requirement("observation.compaction.wired", "observation.compaction.after-observation")
async def test_the_app_gives_the_sessions_compaction_to_the_observer_and_a_note_replaces_what_it_stands_for(
    store_url: str,
) -> None:
    async with noted_app(store_url) as app:
        await talk(app, 6)
        report = await app.observation.observe_now(KEY)
        assert report.sessions == 1
        session = await app.sessions.get(KEY)
        timeline = await app.observation.timeline(KEY)
        assert 0 < session.archived_count == timeline.watermark
        summary, *live = await app.sessions.messages(KEY)
        assert (summary.kind, summary.sequence) == (MessageKind.SUMMARY, timeline.watermark)
        assert summary.content == (
            f"Messages 1 to {timeline.watermark} are in Conversation Memory; recall finds their words."
        )
        assert [one.sequence for one in live] == list(range(timeline.watermark + 1, 13))
        found = await app.sessions.recall("berth 100", session_key=KEY)
        assert 1 in [hit.message.sequence for hit in found]


@pytest.mark.requirement("observation.compaction.not-set")
async def test_without_a_compactor_all_messages_stay(store_url: str) -> None:
    async with noted_app(store_url) as app:
        app.observation.set_compactor(None)
        await talk(app, 6)
        await app.observation.observe_now(KEY)
        assert await app.observation.notes(KEY)
        assert len(await app.sessions.messages(KEY)) == 12
        assert (await app.sessions.get(KEY)).archived_count == 0
    async with noted_app(store_url, compact=False) as app:
        await talk(app, 6, start=6)
        await app.observation.observe_now(KEY)
        assert len(await app.sessions.messages(KEY)) == 24


@pytest.mark.requirement("observation.compaction.position")
async def test_after_compaction_a_restart_and_a_reflection_the_position_is_the_first_unobserved_message(
    store_url: str,
) -> None:
    seen: list[int] = []

    def watch(app: App) -> None:
        assert app.observation.desk is not None
        observer = app.observation.desk.writers.observer
        observe = observer.observe

        async def watched(request: object) -> object:
            seen.extend(one.sequence for one in request.messages)  # type: ignore[attr-defined]
            return await observe(request)  # type: ignore[arg-type]

        observer.observe = watched  # type: ignore[method-assign, assignment]

    for start in (0, 8, 16, 24):
        async with noted_app(store_url) as app:
            watch(app)
            await talk(app, 8, start=start)
            await app.observation.observe_now(KEY)
            await app.observation.drain()
            watermark = (await app.observation.timeline(KEY)).watermark
            assert seen == list(range(1, watermark + 1))
            live = [one for one in await app.sessions.messages(KEY) if one.kind is MessageKind.MESSAGE]
            assert live[0].sequence == watermark + 1
            assert (await app.sessions.get(KEY)).archived_count == watermark
    async with noted_app(store_url) as app:
        assert any(note.generation for note in await app.observation.notes(KEY))


async def test_a_compactor_of_ones_own_is_called_in_the_same_transaction(store_url: str) -> None:
    called: list[int] = []

    def failing(link: Link, held: StoredSession, *, up_to: int, summary: str, now: datetime) -> None:
        called.append(up_to)
        if len(called) == 1:
            raise InvalidInputError("not now")
        session_compactor()(link, held, up_to=up_to, summary=summary, now=now)

    async with noted_app(store_url, sweep_interval_s=0) as app:
        app.observation.set_compactor(failing)
        await talk(app, 3)
        with pytest.raises(InvalidInputError):
            await app.observation.observe_now(KEY, force=True)
        assert await app.observation.notes(KEY) == ()
        assert (await app.observation.timeline(KEY)).watermark == 0
        await app.observation.observe_now(KEY, force=True)
        assert (await app.observation.timeline(KEY)).watermark == called[-1]


@pytest.mark.requirement("observation.settings.structure")
def test_everything_the_specification_names_can_be_configured() -> None:
    given = {
        "enabled": True,
        "provider": "openai",
        "model": "small",
        "message_token_threshold": 11,
        "observation_token_threshold": 12,
        "max_message_token_budget": 13,
        "max_reflections_in_context": 3,
        "max_observations_in_context": 0,
    }
    settings = load_settings(environ={}, observational_memory=given).settings.observational_memory
    assert {name: getattr(settings, name) for name in given} == given
    assert (settings.reflections_shown, settings.observations_shown) == (3, 0)


@pytest.mark.requirement("observation.settings.thresholds")
def test_thresholds_have_the_defaults_of_the_specification() -> None:
    settings = load_settings(environ={}, observational_memory={"enabled": True}).settings.observational_memory
    assert settings.message_token_threshold == 1000
    assert settings.observation_token_threshold == 2000
    assert settings.max_message_token_budget == 8000
    assert settings.memory_token_budget == 4000
    assert settings.consolidation_threshold == 5


def test_a_value_that_cannot_work_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="message_token_threshold"):
        load_settings(environ={}, observational_memory={"message_token_threshold": 0})


@pytest.mark.requirement("observation.settings.disabled")
async def test_without_configuration_nothing_is_observed_no_task_runs_and_no_table_is_touched(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("lamina.observation.")]:
        if name.rpartition(".")[2] in ("worker", "pipeline", "service", "opening"):
            monkeypatch.delitem(sys.modules, name)
    async with lamina.open(store_url, embedder=static_embedder(), memory={"sweep_interval_s": 0}) as app:
        assert not ObservationSettings().enabled
        before = threading.active_count()
        seen: list[str] = []
        run = Link.run

        def watched(link: Link, statement: object, params: object) -> object:
            seen.append(str(statement.statement))  # type: ignore[attr-defined]
            return run(link, statement, params)  # type: ignore[arg-type]

        monkeypatch.setattr(Link, "run", watched)
        await talk(app, 60)
        assert threading.active_count() <= before + app.settings.database.pool_size
        assert not any("observation_state" in text or "note" in text.split() for text in seen)
        assert "lamina.observation.worker" not in sys.modules
        assert len(await app.sessions.messages(KEY, limit=1000)) == 120
        assert app.observation.trigger(KEY) is False
        assert await app.observation.notes(KEY) == ()
        assert app.observation.worker is None
        with pytest.raises(ConfigurationError, match=r"observational_memory\.enabled"):
            await app.observation.observe_now(KEY)
        with pytest.raises(ConfigurationError):
            app.observation.set_compactor(None)


async def test_an_app_that_starts_observes_what_an_earlier_one_left(store_url: str) -> None:
    async with lamina.open(store_url, embedder=static_embedder(), memory={"sweep_interval_s": 0}) as app:
        await talk(app, 10)
    async with noted_app(store_url) as app:
        while not await app.observation.notes(KEY):
            await app.observation.drain()
        await app.observation.drain()
        assert (await app.observation.timeline(KEY)).watermark > 0


async def test_observing_now_works_on_one_session_or_all_and_says_what_it_did(store_url: str) -> None:
    async with noted_app(store_url, message_token_threshold=100_000) as app:
        for key in ("direct:1", "direct:2"):
            await talk(app, 3, key=key)
        report = await app.observation.observe_now()
        assert (report.sessions, report.observed) == (0, 0)
        report = await app.observation.observe_now("direct:1", force=True)
        assert (report.sessions, report.failures, report.busy) == (1, (), ())
        assert report.observed >= 1
        assert await app.observation.notes("direct:2") == ()
        report = await app.observation.observe_now(force=True)
        assert await app.observation.notes("direct:2")
        assert report.sessions == 2
        with pytest.raises(SessionNotFoundError):
            await app.observation.observe_now("direct:nobody")


async def test_observing_now_waits_for_the_turn_that_the_worker_takes(store_url: str) -> None:
    async with noted_app(store_url) as app:
        await talk(app, 12)
        report = await app.observation.observe_now(KEY)
        assert report.busy == ()
        timeline = await app.observation.timeline(KEY)
        assert timeline.pending_tokens <= 100 + 60


async def test_notes_reads_and_deletions_belong_to_one_session_and_one_tenant(store_url: str) -> None:
    async with noted_app(store_url, observation_token_threshold=40) as app:
        await talk(app, 12)
        await app.observation.observe_now(KEY, force=True)
        notes = await app.observation.notes(KEY)
        observations, reflections = await app.observation.observations(KEY), await app.observation.reflections(KEY)
        assert reflections
        assert {*observations, *reflections} == set(notes)
        assert await app.observation.reflections(KEY, limit=1) == reflections[-1:]
        other = app.observation.for_tenant("other")
        assert await other.notes(KEY) == ()
        assert await other.delete_reflections(KEY) == 0
        assert await other.delete_observations("direct:nobody") == 0
        assert await app.observation.delete_reflections(KEY) == len(reflections)
        assert await app.observation.delete_reflections(KEY) == 0
        assert await app.observation.notes(KEY) == observations
        assert await app.observation.delete_observations(KEY) == len(observations)
        status = await app.observation.status(KEY)
        assert (status.observations, status.reflections, status.provisional) == (0, 0, 0)
        watermark = (await app.observation.timeline(KEY)).watermark
        await app.observation.observe_now(KEY)
        assert (await app.observation.timeline(KEY)).watermark == watermark
        with pytest.raises(InvalidInputError):
            await app.observation.observations(KEY, limit=-1)


async def test_the_session_is_the_bound_one_unless_one_is_named(store_url: str) -> None:
    async with noted_app(store_url) as app:
        await talk(app, 12)
        await app.observation.observe_now(KEY)
        with pytest.raises(MissingIdentifierError):
            await app.observation.notes()
        with app.session(KEY):
            assert await app.observation.notes()
            assert app.observation.trigger()
            assert (await app.observation.timeline()).session_key == KEY
        with pytest.raises(SessionNotFoundError):
            await app.observation.timeline("direct:nobody")


async def test_the_timeline_has_every_message_archived_noted_or_raw(store_url: str) -> None:
    async with noted_app(store_url) as app:
        await talk(app, 20)
        await app.observation.observe_now(KEY)
        timeline = await app.observation.timeline(KEY)
        assert timeline.last_sequence == 40
        assert timeline.archived_through == timeline.watermark
        assert timeline.pending_tokens > 0
        for notes in (timeline.reflections, timeline.observations):
            places = [note.last_sequence for note in notes]
            assert places == sorted(places)
        last = max(note.last_sequence for note in (*timeline.reflections, *timeline.observations))
        assert last <= timeline.watermark


async def test_figures_say_what_notes_save_and_cost(store_url: str) -> None:
    async with noted_app(store_url) as app:
        empty = await app.observation.status()
        assert (empty.sessions, empty.raw_tokens, empty.compression) == (0, 0, None)
        await talk(app, 20)
        await talk(app, 1, key="direct:2")
        await app.observation.observe_now()
        session = await app.sessions.get(KEY)
        one, total = await app.observation.status(KEY), await app.observation.status()
        assert one.raw_tokens == session.total_tokens
        assert one.memory_tokens == sum(note.tokens for note in await app.observation.notes(KEY))
        assert one.compression == one.observed_tokens / one.memory_tokens
        assert one.pending_tokens == one.raw_tokens - one.observed_tokens
        assert (total.sessions, total.session_key, one.session_key) == (2, None, KEY)
        assert total.raw_tokens == one.raw_tokens + (await app.sessions.get("direct:2")).total_tokens
        assert total.observed_tokens == one.observed_tokens
        assert (await app.observation.for_tenant("other").status()).raw_tokens == 0
        with pytest.raises(SessionNotFoundError):
            await app.observation.status("direct:nobody")


async def test_a_failing_observer_shows_in_the_figures(store_url: str) -> None:
    async with noted_app(store_url, fallback_after_failures=0) as app:
        assert app.observation.desk is not None
        broken = ScriptedObserver()
        broken.failing = model_failure()
        app.observation.desk.writers.observer.observe = broken.observe  # type: ignore[method-assign]
        await talk(app, 6)
        await app.observation.drain()
        status = await app.observation.status(KEY)
        assert (status.failing, status.last_error) == (1, "MODEL_FAILED: The model answered nonsense.")
        assert (await app.observation.status()).failing == 1
        assert (await app.observation.status()).last_error is None
        assert len(await app.sessions.messages(KEY)) == 12


async def test_deleting_a_session_in_the_app_takes_its_notes_along(store_url: str) -> None:
    async with noted_app(store_url) as app:
        await talk(app, 12)
        await app.observation.observe_now(KEY)
        notes = await app.observation.notes(KEY)
        removed = (await app.sessions.delete(KEY)).removed
        assert removed["observations"] + removed["reflections"] == len(notes)
        assert await app.observation.notes(KEY) == ()
        assert (await app.observation.status()).memory_tokens == 0


async def test_a_note_and_each_of_its_entries_lead_to_the_messages_they_rest_on(store_url: str) -> None:
    async with noted_app(store_url, observation_token_threshold=40) as app:
        await talk(app, 12)
        await app.observation.observe_now(KEY)
        for note in await app.observation.notes(KEY):
            wanted = sorted({sequence for entry in note.entries for sequence in entry.sources})
            found = await app.sessions.recall(note=note.id, session_key=KEY)
            assert [hit.message.sequence for hit in found] == wanted
            entry = note.entries[0]
            found = await app.sessions.recall(note=entry.id, session_key=KEY)
            assert tuple(hit.message.sequence for hit in found) == entry.sources


async def test_sessions_of_another_tenant_are_observed_for_that_tenant(store_url: str) -> None:
    async with noted_app(store_url) as app:
        theirs = app.sessions.for_tenant("other")
        for number in range(12):
            await theirs.append(role="user", content=f"Pier {number} is closed until Monday.", session_key=KEY)
            await theirs.append(role="assistant", content=f"I will avoid pier {number}.", session_key=KEY)
        await app.observation.drain()
        assert await app.observation.for_tenant("other").notes(KEY)
        assert await app.observation.notes(KEY) == ()
