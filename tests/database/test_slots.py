"""Counted slots, on both engines."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone

import anyio
import anyio.lowlevel
import pytest

from lamina.database.engine import Database
from lamina.database.settings import DatabaseSettings
from lamina.database.slots import RateLimiter, Slot
from lamina.errors import RateLimitedError

pytestmark = pytest.mark.anyio

SLOT = Slot(tenant="t", name="skill.max_per_day")


@pytest.fixture
async def database(store_url: str) -> AsyncIterator[Database]:
    opened = Database(DatabaseSettings(url=store_url))
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def limiter(database: Database) -> RateLimiter:
    return RateLimiter(database)


@pytest.mark.requirement("knowledge.limits.reserve")
@pytest.mark.parametrize("most", [1, 5, 64])
async def test_so_many_callers_as_there_are_slots_get_one(limiter: RateLimiter, most: int) -> None:
    answers = await asyncio.gather(*(limiter.reserve(SLOT, most=most) for _ in range(64)), return_exceptions=True)
    taken = sorted(answer for answer in answers if isinstance(answer, int))
    assert taken == list(range(1, most + 1))
    assert sum(isinstance(answer, RateLimitedError) for answer in answers) == 64 - most
    assert limiter.refused_count == 64 - most
    assert await limiter.taken(SLOT) == most


@pytest.mark.requirement("knowledge.limits.reserve")
async def test_of_many_callers_exactly_one_gets_the_last_slot(limiter: RateLimiter) -> None:
    for _ in range(4):
        await limiter.reserve(SLOT, most=5)
    answers = await asyncio.gather(*(limiter.reserve(SLOT, most=5) for _ in range(64)), return_exceptions=True)
    assert [answer for answer in answers if isinstance(answer, int)] == [5]


@pytest.mark.requirement("knowledge.limits.release")
async def test_failed_work_gives_its_slot_back_and_successful_work_keeps_it(limiter: RateLimiter) -> None:
    async with limiter.holding(SLOT, most=1):
        assert await limiter.taken(SLOT) == 1
    assert await limiter.taken(SLOT) == 1
    await limiter.release(SLOT)
    with pytest.raises(ValueError, match="broken"):
        async with limiter.holding(SLOT, most=1):
            raise ValueError("broken")
    assert await limiter.taken(SLOT) == 0


@pytest.mark.requirement("knowledge.limits.release")
async def test_cancelled_work_gives_its_slot_back(limiter: RateLimiter) -> None:
    started = asyncio.Event()

    async def work() -> None:
        async with limiter.holding(SLOT, most=1):
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await limiter.taken(SLOT) == 0


@pytest.mark.requirement("knowledge.limits.release")
async def test_a_cancelled_scope_gives_its_slot_back(limiter: RateLimiter) -> None:
    with anyio.CancelScope() as scope:
        async with limiter.holding(SLOT, most=1):
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    assert await limiter.taken(SLOT) == 0


@pytest.mark.requirement("knowledge.limits.release")
@pytest.mark.parametrize("steps", range(4))
async def test_a_caller_cancelled_while_it_reserves_holds_nothing(limiter: RateLimiter, steps: int) -> None:
    async def work() -> None:
        async with limiter.holding(SLOT, most=1):
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await limiter.taken(SLOT) == 0


async def test_a_release_without_a_reservation_does_nothing(limiter: RateLimiter) -> None:
    await limiter.release(SLOT)
    assert await limiter.taken(SLOT) == 0
    await limiter.reserve(SLOT, most=1)
    await limiter.release(SLOT)
    await limiter.release(SLOT)
    assert await limiter.reserve(SLOT, most=1) == 1


@pytest.mark.requirement("knowledge.limits.settings")
async def test_zero_is_unlimited_and_counts_nothing(limiter: RateLimiter) -> None:
    for _ in range(3):
        assert await limiter.reserve(SLOT, most=0) == 0
        async with limiter.holding(SLOT, most=0):
            pass
    assert await limiter.taken(SLOT) == 0


@pytest.mark.requirement("knowledge.limits.refused")
async def test_a_refusal_names_the_limit_and_what_to_do(limiter: RateLimiter) -> None:
    day = Slot.daily(tenant="t", name="skill.max_per_day", now=datetime(2025, 3, 1, tzinfo=UTC))
    await limiter.reserve(day, most=1)
    with pytest.raises(RateLimitedError, match=r"skill\.max_per_day = 1 of 2025-03-01") as refused:
        await limiter.reserve(day, most=1)
    assert refused.value.details["limit"] == "skill.max_per_day"
    assert "skill.max_per_day" in str(refused.value.details["next"])


async def test_a_day_ends_at_midnight_in_utc(limiter: RateLimiter) -> None:
    evening = datetime(2025, 3, 1, 23, 59, tzinfo=UTC)
    east = datetime(2025, 3, 2, 1, 59, tzinfo=timezone(timedelta(hours=2)))
    days = [Slot.daily(tenant="t", name="n", now=now) for now in (evening, east, evening + timedelta(minutes=1))]
    assert [day.period for day in days] == ["2025-03-01", "2025-03-01", "2025-03-02"]
    await limiter.reserve(days[0], most=1)
    with pytest.raises(RateLimitedError):
        await limiter.reserve(days[1], most=1)
    assert await limiter.reserve(days[2], most=1) == 1


async def test_tenants_names_and_holders_have_their_own_slots(limiter: RateLimiter) -> None:
    slots = [
        SLOT,
        Slot(tenant="other", name=SLOT.name),
        Slot(tenant="t", name="another"),
        Slot(tenant="t", name=SLOT.name, holder="s"),
        Slot(tenant="t", name=SLOT.name, period="p"),
    ]
    for slot in slots:
        assert await limiter.reserve(slot, most=1) == 1
    await limiter.reset(SLOT)
    assert [await limiter.taken(slot) for slot in slots] == [0, 1, 1, 1, 1]


async def test_what_was_taken_survives_a_restart(store_url: str) -> None:
    for expected in (1, 2):
        database = Database(DatabaseSettings(url=store_url))
        await database.open()
        assert await RateLimiter(database).reserve(SLOT, most=2) == expected
        await database.close()


async def test_a_lowered_limit_refuses_until_enough_is_released(limiter: RateLimiter) -> None:
    for _ in range(3):
        await limiter.reserve(SLOT, most=3)
    for _ in range(2):
        with pytest.raises(RateLimitedError):
            await limiter.reserve(SLOT, most=2)
        await limiter.release(SLOT)
    assert await limiter.reserve(SLOT, most=2) == 2
