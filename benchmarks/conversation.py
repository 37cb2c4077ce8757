"""Conversations that go on: one of very many messages, and very many at once. What matters is that nothing grows.

Costs are CPU time of this process, all threads included, so that a busy machine does not show; each is compared with
itself at the beginning of the same run. The database server of PostgreSQL is a process of its own and not counted.
"""

import asyncio
import time
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import fmean
from typing import TypeVar

from benchmarks.report import Line, Target
from benchmarks.talk import messages
from benchmarks.timing import resident_bytes
from benchmarks.world import World
from lamina.app import App
from lamina.config import Settings
from lamina.context.settings import ContextSettings
from lamina.database.settings import DatabaseSettings
from lamina.observation.settings import ObservationSettings
from lamina.session.types import NewMessage

T = TypeVar("T")

BASE = "You are a helpful assistant. Answer briefly and say so when you do not know."
_KEY = "cli:1:long"
_PARTS = 10
_LOOKS = 200  # prompts and recalls in each tenth of the long conversation
_AT_ONCE = 32
_MB = 1024 * 1024


@dataclass(slots=True)
class _Course:
    """What one kind of step took, and after how many messages."""

    at: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, number: int, value: float) -> None:
        self.at.append(number)
        self.values.append(value)

    def tenth(self, which: int, count: int) -> float:
        """The mean of a tenth of the course, counted from 0; of all that is earlier where nothing is in it."""
        low, high = which * count / _PARTS, (which + 1) * count / _PARTS
        found = [value for at, value in zip(self.at, self.values, strict=True) if low <= at < high]
        return fmean(found or self.values)


async def measure_conversation(world: World) -> list[Line]:
    """One long conversation, then many, each in a store of its own."""
    lines = []
    url = world.engine.new_store("conversation")
    async with _open(url) as app:
        lines += await _Long(world, app, url).measure()
    url = world.engine.new_store("conversations")
    async with _open(url) as app:
        lines += await _Many(world, app).measure()
    return lines


def _open(url: str) -> App:
    # No deadlines: a busy machine must not change what a prompt is made of.
    return App(
        Settings(
            database=DatabaseSettings(url=url),
            observational_memory=ObservationSettings(enabled=True),
            context=ContextSettings(deadline_s=0, turn_deadline_s=0),
        )
    )


async def _cpu_ms(step: Awaitable[object]) -> float:
    started = time.process_time()
    await step
    return (time.process_time() - started) * 1000


def _batches(several: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(several)
    while batch := list(islice(rest, size)):
        yield batch


class _Long:
    """One conversation from its first message to its last: appended, observed by the worker, prompted, recalled."""

    def __init__(self, world: World, app: App, url: str) -> None:
        self._world = world
        self._app = app
        self._url = url
        self._count = world.sizes.talk
        self._appended, self._observed, self._whole = _Course(), _Course(), _Course()
        self._assembled, self._recalled = _Course(), _Course()
        self._noted, self._memory, self._stored = _Course(), _Course(), _Course()
        self._found: list[bool] = []

    async def measure(self) -> list[Line]:
        early: list[str] = []
        every = max(1, self._count // (_PARTS * _LOOKS))
        worker = self._app.observation.worker
        assert worker is not None
        self._stored.add(0, self._world.engine.store_bytes(self._url))
        for number, new in enumerate(messages(self._world.language, self._count, seed=51)):
            added = await _cpu_ms(self._app.sessions.append_many([new], session_key=_KEY))
            turns = worker.turn_count
            noted = await _cpu_ms(self._app.observation.drain())
            self._appended.add(number, added)
            self._whole.add(number, added + noted)
            if worker.turn_count > turns:
                self._observed.add(number, noted)
            if new.content and len(early) < _LOOKS:
                early.append(new.content)
            if number % every == every - 1:
                await self._look(number, early)
            if (number + 1) % max(1, self._count // _PARTS) == 0:
                self._stored.add(number, self._world.engine.store_bytes(self._url))
        return await self._lines()

    async def _look(self, number: int, early: Sequence[str]) -> None:
        """A prompt and a recall, both about what was said at the very beginning."""
        asked = early[number % len(early)]
        query = " ".join(asked.split()[:12])
        started = time.process_time()
        prompt = await self._app.context.assemble(BASE, query=query, session_key=_KEY)
        self._assembled.add(number, (time.process_time() - started) * 1000)
        started = time.process_time()
        hits = (await self._app.sessions.recall(query, session_key=_KEY)).hits
        self._recalled.add(number, (time.process_time() - started) * 1000)
        self._found.append(any(hit.message.content == asked for hit in hits))
        self._noted.add(number, prompt.receipt.memory_tokens)
        self._memory.add(number, resident_bytes() - self._app.parts.engine.nbytes)

    async def _lines(self) -> list[Line]:
        status = await self._app.observation.status(_KEY)
        count, index = self._count, self._app.parts.engine.nbytes
        stored = [after - before for before, after in zip(self._stored.values, self._stored.values[1:], strict=False)]
        per_part = count / max(1, len(stored))
        notes = {"notes now": status.observations + status.reflections, "their tokens": status.memory_tokens}
        grown = (self._memory.tenth(9, count) - self._memory.tenth(4, count)) / (count / 2)
        return [
            self._flat("append", self._appended, 1.2),
            self._flat("an observation", self._observed, 1.2, {**notes, "in all": len(self._observed.values)}),
            self._flat("append and observe, by message", self._whole, 1.2),
            self._flat("retrieve and assemble", self._assembled, 2),
            self._flat("recall the beginning", self._recalled, 3, {"found, share": fmean(self._found)}),
            Line(
                engine=self._world.engine.name,
                bench="conversation",
                case=f"{count:,} messages: largest Conversation Memory",
                unit="tokens",
                value=max(self._noted.values),
                floor_name="its budget",
                floor=float(self._app.context.memory_token_budget),
                target=Target(bound=1, sense="<="),
                detail={"mean, last tenth": self._noted.tenth(9, count), "tokens said": status.raw_tokens},
            ),
            self._line(
                "process memory beside the index",
                "MB",
                self._memory.tenth(9, count) / _MB,
                self._memory.tenth(4, count) / _MB,
                Target(bound=1.1, sense="<="),
                {"growth, bytes a message": grown, "index, bytes a message": index / count},
                floor_name="fifth tenth",
            ),
            self._line(
                "store, bytes a message",
                "B",
                stored[-1] / per_part,
                max(1.0, stored[0] / per_part),
                Target(bound=1.1, sense="<="),
            ),
        ]

    def _flat(self, case: str, course: _Course, bound: float, detail: dict[str, float] | None = None) -> Line:
        last, first = course.tenth(_PARTS - 1, self._count), course.tenth(0, self._count)
        return self._line(case, "ms CPU", last, first, Target(bound=bound, sense="<="), detail)

    def _line(
        self,
        case: str,
        unit: str,
        last: float,
        first: float,
        target: Target,
        detail: dict[str, float] | None = None,
        floor_name: str = "first tenth",
    ) -> Line:
        return Line(
            engine=self._world.engine.name,
            bench="conversation",
            case=f"{self._count:,} messages, last tenth: {case}",
            unit=unit,
            value=last,
            floor_name=floor_name,
            floor=first,
            target=target,
            detail=detail or {},
        )


class _Many:
    """Waves of conversations, all of a wave talking at once; then every conversation goes on at the same moment."""

    def __init__(self, world: World, app: App) -> None:
        self._world = world
        self._app = app
        self._sessions = world.sizes.talks
        self._each = world.sizes.talk_each
        self._keys = [f"cli:{number}:many" for number in range(self._sessions)]

    async def measure(self) -> list[Line]:
        costs, prompts, memory = [], [], []
        for wave in _batches(self._keys, max(1, self._sessions // _PARTS)):
            costs.append(await _cpu_ms(self._talk(wave)) / (len(wave) * self._each))
            prompts.append(await _cpu_ms(self._ask(wave)) / len(wave))
            memory.append((resident_bytes() - self._app.parts.engine.nbytes) / _MB)
        dropped = await self._all_at_once()
        late = await self._unobserved()
        one_wave = f"{self._sessions:,} sessions of {self._each}, last wave"
        beside = {"growth, bytes a message": self._growth(memory)}
        return [
            self._line(f"{one_wave}: append and observe, by message", "ms CPU", costs[-1], costs[0], 1.2),
            self._line(f"{one_wave}: first prompt of a session", "ms CPU", prompts[-1], prompts[0], 1.2),
            self._line(
                f"{one_wave}: process memory beside the index",
                "MB",
                memory[-1],
                memory[len(memory) // 2],
                1.1,
                beside,
                "middle wave",
            ),
            self._line(
                f"{self._sessions:,} sessions at once, after the sweep: most unobserved tokens of one",
                "tokens",
                max(late),
                fmean(late),
                3,
                {"triggers dropped": dropped, "overdue": float(sum(self._is_overdue(tokens) for tokens in late))},
                floor_name="mean session",
            ),
        ]

    async def _talk(self, keys: Sequence[str]) -> None:
        """Everybody says a message and gets an answer, in turn, several at once."""
        talks = [messages(self._world.language, self._each, seed=1000 + self._keys.index(key)) for key in keys]
        for _ in range(0, self._each, 2):
            pairs = [list(islice(talk, 2)) for talk in talks]
            await self._append(zip(keys, pairs, strict=True))
        await self._app.observation.drain()

    async def _append(self, said: Iterable[tuple[str, list[NewMessage]]]) -> None:
        for several in _batches(said, _AT_ONCE):
            await asyncio.gather(*(self._app.sessions.append_many(new, session_key=key) for key, new in several))

    async def _ask(self, keys: Sequence[str]) -> None:
        for key, words in zip(keys, self._world.language.notes(len(keys), seed=52), strict=True):
            await self._app.context.assemble(BASE, query=words, session_key=key)

    async def _all_at_once(self) -> int:
        """Everybody says much without a pause, more than the queue holds; how many triggers were dropped."""
        worker = self._app.observation.worker
        assert worker is not None
        before = worker.dropped_count
        much = list(messages(self._world.language, self._each * 2 // 3, seed=53))
        await self._append((key, much) for key in self._keys)
        await worker.drain()
        while await worker.sweep():  # finds what was dropped
            await worker.drain()
        return worker.dropped_count - before

    async def _unobserved(self) -> list[int]:
        return [(await self._app.observation.status(key)).pending_tokens for key in self._keys]

    def _is_overdue(self, tokens: int) -> bool:
        settings = self._app.observation.settings
        return tokens > settings.message_token_threshold + settings.retained_tail_tokens

    def _growth(self, memory: Sequence[float]) -> float:
        half = len(memory) // 2
        grown = (memory[-1] - memory[half]) * _MB
        return grown / max(1, (len(memory) - 1 - half) * self._sessions // _PARTS * self._each)

    def _line(
        self,
        case: str,
        unit: str,
        value: float,
        floor: float,
        bound: float,
        detail: dict[str, float] | None = None,
        floor_name: str = "first wave",
    ) -> Line:
        return Line(
            engine=self._world.engine.name,
            bench="conversation",
            case=case,
            unit=unit,
            value=value,
            floor_name=floor_name,
            floor=floor,
            target=Target(bound=bound, sense="<="),
            detail=detail or {},
        )
