"""Callers of the service who write, read what they wrote, change their minds, and remember what they were told.

Every caller owns some memories and one conversation at a time and replaces the oldest, so that the store stays as large
as it is however long they go on. What was acknowledged is in the ledger; what was under way when a server died is not.
"""

import asyncio
import random
import time
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx2

_PLACES = ("kitchen", "garage", "attic", "cellar", "garden", "hall", "study", "porch", "shed", "pantry")
_THINGS = ("ladder", "bicycle", "kettle", "drill", "lantern", "sofa", "violin", "compass", "blanket", "toolbox")
OWNED = 3
"""Memories of each caller."""
SAID = 4
"""Messages of a conversation before the caller begins another."""
USERS = 20
"""Users that callers speak for; few, because an index closes the gaps of deleted entries 64 at a time."""


@dataclass(slots=True)
class Ledger:
    """What the service acknowledged, and how it answered."""

    memories: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The user and the text of every memory that should be there, by its id."""
    deleted: dict[str, str] = field(default_factory=dict)
    """The user of every memory that should be gone, by its id."""
    messages: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The ids of what was said, by session."""
    unanswered: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Memories whose adding was not answered, by the idempotency key they were sent with."""
    statuses: Counter[int] = field(default_factory=Counter)
    took_ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Milliseconds by what was asked for."""
    unseen: list[str] = field(default_factory=list)
    """What a caller wrote and then did not find."""
    failures: list[str] = field(default_factory=list)
    """The beginnings of answers that were no success."""

    @property
    def requests(self) -> int:
        """How many were answered."""
        return sum(self.statuses.values())

    @property
    def faults(self) -> int:
        """How many answers were a fault of the service's."""
        return sum(count for status, count in self.statuses.items() if status >= 500)


Ask = Callable[..., Awaitable[httpx2.Response]]
"""Sends a request: method, path, and options of the client."""


class Caller:
    """One of many who use the service at the same time."""

    def __init__(self, number: int, ask: Ask, ledger: Ledger, *, seed: int = 0) -> None:
        """`ask` reaches a server; which one is its business."""
        self.name = f"caller-{seed}-{number}"
        self.user = f"user-{seed}-{number % USERS}"
        self._ask = ask
        self._ledger = ledger
        self._random = random.Random(f"{seed}/{number}")
        self._owned: deque[str] = deque()
        self._added = 0
        self._conversations = 0
        self._said = 0
        self._doings: Sequence[tuple[int, Callable[[], Awaitable[None]]]] = (
            (30, self._add),
            (30, self._search),
            (10, self._read_back),
            (15, self._say),
            (10, self._listen),
            (5, self._assemble),
        )

    async def go_on(self, until: Callable[[], bool]) -> None:
        """Do one thing after the other; ends when told to, or when the server is gone."""
        weights, doings = zip(*self._doings, strict=True)
        await self._add()
        await self._say()
        while not until():
            await self._random.choices(doings, weights)[0]()

    async def _add(self) -> None:
        self._added += 1
        # No more numbers than this: words that nobody ever says again would fill caches for minutes.
        thing, place = f"{self._random.choice(_THINGS)} {self._added % 100}", self._random.choice(_PLACES)
        body = {"content": f"{self.name} keeps the {thing} in the {place}", "identifiers": {"user_id": self.user}}
        key = str(UUID(int=self._random.getrandbits(128)))
        self._ledger.unanswered[key] = body
        answer = await self._timed("add", "POST", "/v1/memories", json=body, headers={"idempotency-key": key})
        if answer.status_code == 201:
            id = answer.json()["memory"]["id"]
            self._ledger.memories[id] = (self.user, str(body["content"]))
            self._owned.append(id)
        del self._ledger.unanswered[key]
        if len(self._owned) > OWNED:
            await self._delete(self._owned.popleft())

    async def _delete(self, id: str) -> None:
        kept = self._ledger.memories.pop(id)  # until it is acknowledged, it may be there or not
        answer = await self._timed("delete", "DELETE", f"/v1/memories/{id}", params={"user_id": self.user})
        if answer.is_success:
            self._ledger.deleted[id] = kept[0]

    async def _search(self) -> None:
        query = f"Where is the {self._random.choice(_THINGS)}?"
        body = {"query": query, "identifiers": {"user_id": self.user}}
        await self._timed("search", "POST", "/v1/memories/search", json=body)

    async def _read_back(self) -> None:
        if not self._owned:
            return
        id = self._owned[-1]
        answer = await self._timed("get", "GET", f"/v1/memories/{id}", params={"user_id": self.user})
        if not (answer.is_success and answer.json()["content"] == self._ledger.memories[id][1]):
            self._ledger.unseen.append(id)

    async def _say(self) -> None:
        if self._said >= SAID:
            self._ledger.messages.pop(self._session)  # until it is acknowledged, it may be there or not
            await self._timed("delete", "DELETE", f"/v1/sessions/{self._session}")
            self._conversations, self._said = self._conversations + 1, 0
        id = str(UUID(int=self._random.getrandbits(128)))
        message = {"role": "user", "content": f"Take the {self._random.choice(_THINGS)} along.", "id": id}
        body = {"messages": [message], "user_id": self.user}
        answer = await self._timed("say", "POST", f"/v1/sessions/{self._session}/messages", json=body)
        if answer.status_code == 201:
            self._said += 1
            self._ledger.messages[self._session].append(id)

    async def _listen(self) -> None:
        heard = await self._timed("listen", "GET", f"/v1/sessions/{self._session}/messages", params={"which": "all"})
        told = self._ledger.messages[self._session]
        if heard.is_success and [one["id"] for one in heard.json()["messages"]] != told:
            self._ledger.unseen.append(self._session)

    async def _assemble(self) -> None:
        body = {"query": "What should I take along?", "base": "You help.", "session_key": self._session}
        body["identifiers"] = {"user_id": self.user}  # type: ignore[assignment]
        await self._timed("assemble", "POST", "/v1/context/assemble", json=body)

    @property
    def _session(self) -> str:
        return f"load:{self.name}:{self._conversations}"

    async def _timed(self, what: str, method: str, path: str, **options: Any) -> httpx2.Response:
        started = time.perf_counter()
        answer = await self._ask(method, path, **options)
        self._ledger.took_ms[what].append((time.perf_counter() - started) * 1000)
        self._ledger.statuses[answer.status_code] += 1
        if not answer.is_success:
            self._ledger.failures.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return answer


async def drive(ask: Ask, *, callers: int, until: Callable[[Ledger], bool], seed: int = 0) -> Ledger:
    """Let so many callers go on at the same time until the ledger is as wanted, or the server is gone."""
    ledger = Ledger()

    async def live(number: int) -> None:
        try:
            await Caller(number, ask, ledger, seed=seed).go_on(lambda: until(ledger))
        except httpx2.TransportError:
            return  # the server is gone, and with it the answer to what was under way

    async with asyncio.TaskGroup() as group:
        for number in range(callers):
            group.create_task(live(number))
    return ledger


async def missing(ask: Ask, ledger: Ledger, *, at_once: int = 32) -> list[str]:
    """What was acknowledged and is not so: memories and messages that are gone, and deleted ones that are back."""
    gate = asyncio.Semaphore(at_once)

    async def memory(id: str, user: str, content: str | None) -> str | None:
        async with gate:
            answer = await ask("GET", f"/v1/memories/{id}", params={"user_id": user})
        if content is None:
            return None if answer.status_code == 404 else f"{id} is back"
        return None if answer.is_success and answer.json()["content"] == content else f"memory {id} is gone"

    async def session(key: str, ids: Sequence[str]) -> str | None:
        async with gate:
            answer = await ask("GET", f"/v1/sessions/{key}/messages", params={"which": "all"})
        there: Mapping[str, Any] = answer.json() if answer.is_success else {"messages": []}
        found = {one["id"] for one in there["messages"]}
        return None if found >= set(ids) else f"messages of {key} are gone"

    looks = [memory(id, user, content) for id, (user, content) in ledger.memories.items()]
    looks += [memory(id, user, None) for id, user in ledger.deleted.items()]
    looks += [session(key, ids) for key, ids in ledger.messages.items()]
    return [one for one in await asyncio.gather(*looks) if one is not None]
