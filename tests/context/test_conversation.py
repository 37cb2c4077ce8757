"""Thirty-five turns of a conversation: what a model is sent while notes are written, condensed and condensed again."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from lamina.app import App, open
from lamina.context.turn import Turn
from lamina.kernel.clock import ManualClock
from lamina.observability.prometheus import render_prometheus
from lamina.observation import opening
from lamina.observation.desk import Writers
from lamina.observation.service import Timeline
from tests.context.noted import BASE, KEY, memory_section
from tests.observation.scripted import ScriptedObserver, ScriptedReflector

pytestmark = pytest.mark.anyio

TURNS = 35
SMALL = {
    "enabled": True,
    "message_token_threshold": 120,
    "observation_token_threshold": 300,
    "retained_tail_tokens": 30,
    "consolidation_threshold": 3,
    "max_message_token_budget": 400,
    "memory_token_budget": 900,
    "sweep_interval_s": 0.0,
    "recalled_messages": 0,
}


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes that say for every message what it said."""
    writers = Writers(observer=ScriptedObserver(), reflector=ScriptedReflector(), model="scripted")
    monkeypatch.setattr(opening, "writers_of", lambda *_, **__: writers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One turn: what was sent, and how the conversation stood."""

    turn: Turn
    timeline: Timeline

    @property
    def memory(self) -> str:
        """Conversation Memory without its last fence, which stands after whatever comes next."""
        return memory_section(self.turn.prompt.text).removesuffix("````\n")

    @property
    def note_ids(self) -> list[str]:
        """The notes that there are, oldest first."""
        return [note.id for note in (*self.timeline.reflections, *self.timeline.observations)]

    @property
    def reflection_ids(self) -> list[str]:
        """The reflections that there are."""
        return [note.id for note in self.timeline.reflections]


def opened(url: str | Path, clock: ManualClock, *, memory_first: bool = False) -> App:
    """An app that notes conversations quickly."""
    return open(
        url,
        clock=clock,
        memory={"sweep_interval_s": 0.0},
        observational_memory=SMALL,
        context={"memory_first": memory_first},
    )


async def converse(app: App, clock: ManualClock, turns: int = TURNS) -> AsyncIterator[Seen]:
    """A conversation, turn by turn; notes are done before the next thing is said."""
    for number in range(turns):
        clock.advance(60)
        await app.sessions.append(
            role="user",
            content=f"In week {number} berth {number} of the harbour was let to the boat Albatross {number}.",
        )
        yield Seen(turn=await app.context.turn(BASE), timeline=await app.observation.timeline())
        clock.advance(60)
        await app.sessions.append(role="assistant", content=f"Noted: berth {number} is taken in week {number}. " * 2)
        await app.observation.drain()


async def test_memory_only_grows_at_its_end_until_notes_are_condensed(store_url: str, clock: ManualClock) -> None:
    grown = unchanged = condensed = 0
    async with opened(store_url, clock) as app:
        with app.session(KEY):
            seen = [one async for one in converse(app, clock)]
    for before, after in pairwise(seen):
        if before.note_ids == after.note_ids:
            assert after.memory == before.memory
            unchanged += 1
        elif before.reflection_ids == after.reflection_ids:
            assert after.memory.startswith(before.memory)
            assert len(after.memory) > len(before.memory)
            grown += 1
        else:
            condensed += 1
    assert min(grown, unchanged, condensed) >= 3
    assert max(note.generation for note in seen[-1].timeline.reflections) >= 2


async def test_every_message_is_sent_raw_or_stands_in_a_note_that_is_sent_and_never_both(
    store_url: str, clock: ManualClock
) -> None:
    async with opened(store_url, clock) as app:
        with app.session(KEY):
            async for seen in converse(app, clock):
                notes = (*seen.timeline.reflections, *seen.timeline.observations)
                covered = [number for one in notes for number in range(one.first_sequence, one.last_sequence + 1)]
                raw = [message.sequence for message in seen.turn.messages]
                assert covered + raw == list(range(1, seen.timeline.last_sequence + 1))
                placed = {line.key for line in seen.turn.prompt.receipt.injected}
                assert placed >= {one.id for one in notes}
                assert raw[-1] == seen.timeline.last_sequence


async def test_what_is_sent_stays_bounded_however_long_the_conversation_is(store_url: str, clock: ManualClock) -> None:
    sizes = []
    async with opened(store_url, clock) as app:
        with app.session(KEY):
            async for seen in converse(app, clock):
                assert seen.turn.prompt.receipt.memory_tokens <= 900
                assert sum(message.tokens for message in seen.turn.messages) <= 400
                sizes.append(seen.turn.tokens)
    assert max(sizes[TURNS // 2 :]) <= max(sizes[: TURNS // 2]) * 1.5


async def test_with_memory_first_nearly_all_of_it_is_what_the_turn_before_had(
    store_url: str, clock: ManualClock
) -> None:
    async with opened(store_url, clock, memory_first=True) as app:
        with app.session(KEY):
            receipts = [one.turn.prompt.receipt async for one in converse(app, clock)]
        carried = [one for one in receipts if one.memory_tokens]
        sent = sum(one.memory_tokens for one in carried)
        unchanged = sum(one.unchanged_memory_tokens for one in carried)
        assert 0.6 < unchanged / sent < 1
        assert "context_memory_tokens" in render_prometheus(app.metrics)
    async with opened(store_url, clock) as app:
        status = await app.observation.status(KEY)
        assert (status.turns, status.sent_tokens, status.unchanged_tokens) == (len(carried), sent, unchanged)


async def test_a_turn_of_a_deleted_session_is_counted_for_nobody(store_url: str, clock: ManualClock) -> None:
    async with opened(store_url, clock) as app:
        with app.session(KEY):
            _ = [one async for one in converse(app, clock, 8)]
            await app.context.turn(BASE)
            await app.sessions.delete()
            assert (await app.context.turn(BASE, query="harbour")).messages == ()
    async with opened(store_url, clock) as app:
        assert (await app.observation.status()).turns == 0


async def test_the_same_turn_again_is_the_same_bytes(store_url: str, clock: ManualClock) -> None:
    async with opened(store_url, clock) as app:
        with app.session(KEY):
            _ = [one async for one in converse(app, clock, 12)]
            first, second = [await app.context.turn(BASE) for _ in range(2)]
    assert first.chat() == second.chat()
    assert second.prompt.receipt.unchanged_tokens == second.prompt.receipt.total_tokens
