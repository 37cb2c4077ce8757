"""A request that is sent twice is done once: repeated, at the same time, by two processes, after a crash."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from lamina.access.idempotency import Answer, Idempotency, derived_id, request_digest
from lamina.access.tables import idempotency
from lamina.access.types import Grant
from lamina.app import App
from lamina.database.schema import from_micros
from lamina.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    OperationTimeoutError,
    ProviderError,
)
from lamina.kernel.clock import ManualClock
from lamina.kernel.ids import is_id, new_id
from lamina.memory.settings import MemorySettings
from lamina.observability.metrics import Metrics
from tests.access.worker import DIGEST, GRANT, KEY, add_once
from tests.instruments import points
from tests.stores import app_on

ROOT = Path(__file__).resolve().parents[2]
DAY = 86_400


@pytest.fixture
async def app(store_url: str, clock: ManualClock) -> AsyncIterator[App]:
    by_hand = MemorySettings(sweep_interval_s=0)
    async with app_on(store_url, clock=clock, metrics=Metrics.collecting(), memory=by_hand) as opened:
        yield opened


async def claimed_at(app: App) -> datetime:
    """When whoever works on the only request said so last."""
    chosen = sa.select(idempotency.c.claimed_at)
    return from_micros(await app.parts.database.read(lambda link: link.execute(chosen).scalar_one()))


class Doing:
    """Work that counts how often it was done, and under which ids."""

    def __init__(self, *, failure: BaseException | None = None) -> None:
        self.ids: list[str] = []
        self.failure = failure
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def __call__(self, id: str) -> Answer:
        self.ids.append(id)
        self.begun.set()
        await self.may_end.wait()
        if self.failure is not None:
            raise self.failure
        return Answer(status=201, body=f"made {len(self.ids)} é".encode())


@pytest.mark.anyio
async def test_the_same_request_gets_the_same_answer_and_is_done_once(app: App) -> None:
    work = Doing()
    first = await app.idempotency.once(GRANT, KEY, DIGEST, work)
    again = await app.idempotency.once(GRANT, KEY, DIGEST, work)
    assert (first.status, first.body.decode(), first.repeated) == (201, "made 1 é", False)
    assert (again.status, again.body, again.repeated) == (201, first.body, True)
    assert len(work.ids) == 1
    assert is_id(work.ids[0])
    assert points(app.metrics, "memory.operations.total", "operation", "status")["idempotency", "repeated"] == 1


@pytest.mark.anyio
async def test_another_request_under_the_same_key_is_a_conflict(app: App) -> None:
    work = Doing()
    await app.idempotency.once(GRANT, KEY, DIGEST, work)
    for other in (request_digest(b"POST", b"/v1/memories", b"{} "), request_digest(b"POST", b"/v1/memories{}", b"")):
        with pytest.raises(ConflictError, match="Something else"):
            await app.idempotency.once(GRANT, KEY, other, work)
    assert len(work.ids) == 1
    assert points(app.metrics, "memory.operations.errors", "operation", "code")["idempotency", "CONFLICT"] == 2


@pytest.mark.anyio
async def test_keys_are_of_one_caller_and_one_tenant(app: App) -> None:
    work = Doing()
    callers = [GRANT, Grant(tenant="acme", key_id=GRANT.key_id), Grant(tenant="default", key_id="f" * 16)]
    answers = [await app.idempotency.once(grant, KEY, DIGEST, work) for grant in callers]
    assert [answer.repeated for answer in answers] == [False] * 3
    assert len(set(work.ids)) == 3


@pytest.mark.anyio
async def test_while_it_is_done_a_second_one_is_told_to_ask_again(app: App, clock: ManualClock) -> None:
    work = Doing()
    work.may_end.clear()
    first = asyncio.create_task(app.idempotency.once(GRANT, KEY, DIGEST, work))
    await work.begun.wait()
    with pytest.raises(ConflictError, match="at this moment") as raised:
        await app.idempotency.once(GRANT, KEY, DIGEST, work)
    assert raised.value.details == {"retry_after": 1}
    work.may_end.set()
    assert (await first).body == (await app.idempotency.once(GRANT, KEY, DIGEST, work)).body
    assert len(work.ids) == 1


@pytest.mark.anyio
async def test_work_that_takes_long_keeps_its_claim(app: App, clock: ManualClock) -> None:
    work = Doing()
    work.may_end.clear()
    first = asyncio.create_task(app.idempotency.once(GRANT, KEY, DIGEST, work))
    await work.begun.wait()
    for _ in range(12):
        clock.advance(1)
        while clock.now() - await claimed_at(app) >= timedelta(seconds=4):
            clock.advance(0.0001)  # it waits for the clock, and may begin to wait late
        with pytest.raises(ConflictError):
            await app.idempotency.once(GRANT, KEY, DIGEST, work)
    work.may_end.set()
    await first
    assert len(work.ids) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("failure", [ProviderError(), OperationTimeoutError(), RuntimeError("a bug")])
async def test_after_a_failure_that_may_have_done_something_it_begins_again_under_the_same_id(
    app: App, failure: Exception
) -> None:
    work = Doing(failure=failure)
    with pytest.raises(type(failure)):
        await app.idempotency.once(GRANT, KEY, DIGEST, work)
    with pytest.raises(ConflictError):
        await app.idempotency.once(GRANT, KEY, request_digest(b"another"), work)
    work.failure = None
    assert not (await app.idempotency.once(GRANT, KEY, DIGEST, work)).repeated
    assert (len(work.ids), len(set(work.ids))) == (2, 1)


@pytest.mark.anyio
@pytest.mark.parametrize("failure", [InvalidInputError(), ForbiddenError(), ConflictError()])
async def test_after_a_refusal_the_key_is_free(app: App, failure: Exception) -> None:
    work = Doing(failure=failure)
    with pytest.raises(type(failure)):
        await app.idempotency.once(GRANT, KEY, DIGEST, work)
    work.failure = None
    await app.idempotency.once(GRANT, KEY, request_digest(b"corrected"), work)
    assert len(set(work.ids)) == 2


@pytest.mark.anyio
async def test_a_caller_who_leaves_does_not_hold_the_key(app: App) -> None:
    work = Doing()
    work.may_end.clear()
    first = asyncio.create_task(app.idempotency.once(GRANT, KEY, DIGEST, work))
    await work.begun.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    work.may_end.set()
    await app.idempotency.once(GRANT, KEY, DIGEST, work)
    assert (len(work.ids), len(set(work.ids))) == (2, 1)


@pytest.mark.anyio
async def test_an_answer_that_cannot_be_kept_is_given_all_the_same(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object, **__: object) -> None:
        raise ProviderError("The disk is full.")

    monkeypatch.setattr("lamina.access.idempotency.keep_answer", full)
    work = Doing()
    assert (await app.idempotency.once(GRANT, KEY, DIGEST, work)).status == 201
    assert points(app.metrics, "memory.operations.errors", "operation", "code")["idempotency", "PROVIDER_ERROR"] == 1
    assert "PROVIDER_ERROR" in caplog.text


@pytest.mark.anyio
async def test_an_answer_is_kept_for_a_day_and_swept_then(app: App, clock: ManualClock) -> None:
    work = Doing()
    await app.idempotency.once(GRANT, KEY, DIGEST, work)
    await app.idempotency.once(GRANT, "another", DIGEST, work)
    clock.advance(DAY - 1)
    assert await app.idempotency.sweep() == 0
    assert (await app.idempotency.once(GRANT, KEY, DIGEST, work)).repeated
    clock.advance(1)
    assert not (await app.idempotency.once(GRANT, KEY, request_digest(b"another"), work)).repeated
    await app.sweep()
    assert await app.idempotency.sweep() == 0
    assert (await app.idempotency.once(GRANT, KEY, request_digest(b"another"), work)).repeated
    assert len(work.ids) == len(set(work.ids)) == 3


@pytest.mark.anyio
async def test_a_sweep_ends_whatever_there_is(app: App, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina.access.idempotency._BATCH", 2)
    answers = Idempotency(app.parts.database, clock=clock, metrics=Metrics())
    for number in range(5):
        await answers.once(GRANT, f"key-{number}", DIGEST, Doing())
    clock.advance(DAY)
    assert await answers.sweep() == 5


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["", " ", "a\nb", "a\0", "\ud800", "x" * 256])
async def test_what_is_no_key_is_refused_before_anything_is_done(app: App, key: str) -> None:
    work = Doing()
    with pytest.raises(InvalidInputError, match="Idempotency-Key"):
        await app.idempotency.once(GRANT, key, DIGEST, work)
    assert work.ids == []


def test_more_ids_of_a_request_are_always_the_same() -> None:
    one, other = new_id(), new_id()
    ids = [derived_id(id, number) for id in (one, other) for number in range(3)]
    assert len(set(ids)) == 6
    assert all(map(is_id, ids))
    assert ids[:3] == [derived_id(one, number) for number in range(3)]


@contextmanager
def worker(url: str, mode: str) -> "Iterator[subprocess.Popen[str]]":
    """A process that is ready to send the request; a line lets it begin."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.access.worker", url, mode]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT, "env": environment}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.anyio
async def test_a_process_that_is_killed_between_the_write_and_the_answer_leaves_one_order(store_url: str) -> None:
    with worker(store_url, "hang") as dying:
        assert dying.stdout is not None
        assert dying.stdin is not None
        assert dying.stdout.readline() == "ready\n"
        dying.stdin.write("\n")
        dying.stdin.flush()
        written = dying.stdout.readline().split()[1]
        dying.kill()
    async with app_on(store_url) as app:
        later = Idempotency(app.parts.database, clock=app.sessions.clock, metrics=app.metrics, lease_s=0.0)
        answer = await later.once(GRANT, KEY, DIGEST, lambda id: add_once(app, id))
        assert (answer.body.decode(), answer.repeated) == (written, False)
        assert [one.id for one in (await app.memory.list(user_id="ann")).memories] == [written]


@pytest.mark.anyio
async def test_two_processes_that_are_sent_the_same_request_do_it_once(store_url: str) -> None:
    with ExitStack() as stack:
        both = [stack.enter_context(worker(store_url, "once")) for _ in range(2)]
        assert [one.stdout.readline() for one in both if one.stdout is not None] == ["ready\n"] * 2
        for one in both:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        answers = [one.stdout.readline().split() for one in both if one.stdout is not None]
    assert sorted(how for how, _ in answers) == ["done", "repeated"]
    assert len({id for _, id in answers}) == 1
    async with app_on(store_url) as app:
        assert [one.id for one in (await app.memory.list(user_id="ann")).memories] == [answers[0][1]]
