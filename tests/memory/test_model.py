"""Memory against a dictionary: whatever is done in whatever order, on two open apps, both say the same."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)

from lamina.errors import MemoryNotFoundError
from lamina.kernel.clock import ManualClock
from lamina.memory.settings import MemorySettings
from lamina.sync import SyncApp, SyncMemory
from tests.loose_ends import loose_ends
from tests.stores import app_on

TENANTS = count()
USERS = ("ann", "bob")
CONTENTS = ("green tea", "Green tea!", "black coffee", "2 cats", "3 cats", "no cats", "the harbour at night", "a b c")
users = st.sampled_from(USERS)
contents = st.sampled_from(CONTENTS)
tags = st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True)
lifetimes = st.none() | st.sampled_from([10, 100])


@dataclass
class Known:
    """What must be true of one memory."""

    user: str
    tags: tuple[str, ...]
    metadata: dict[str, int]
    expires_at: datetime | None
    states: list[str] = field(default_factory=list)


class Memories(RuleBasedStateMachine):
    """The machine: one tenant of a store that two apps have open."""

    apps: tuple[SyncApp, SyncApp]
    clock: ManualClock
    ids = Bundle("ids")

    @initialize()
    def begin(self) -> None:
        self.tenant = f"t{next(TENANTS)}"
        self.known: dict[str, Known] = {}
        self.turn = 0

    @property
    def memory(self) -> SyncMemory:
        """The next app's: each call is made on the other one."""
        self.turn += 1
        return self.apps[self.turn % 2].memory.for_tenant(self.tenant)

    def live(self, id: str) -> Known | None:
        known = self.known.get(id)
        gone = known is None or (known.expires_at is not None and known.expires_at <= self.clock.now())
        return None if gone else known

    def moment(self, seconds: int | None) -> datetime | None:
        return None if seconds is None else self.clock.now() + timedelta(seconds=seconds)

    @rule(target=ids, user=users, content=contents, tags=tags, lives=lifetimes)
    def add(self, user: str, content: str, tags: list[str], lives: int | None) -> str:
        expires_at = self.moment(lives)
        added = self.memory.add(content, user_id=user, tags=tags, metadata={"a": 1}, expires_at=expires_at)
        self.known[added.id] = Known(user, tuple(tags), {"a": 1}, expires_at, [content])
        return added.id

    @rule(id=ids, content=st.none() | contents, value=st.none() | st.integers(0, 3), tags=st.none() | tags)
    def update(self, id: str, content: str | None, value: int | None, tags: list[str] | None) -> None:
        known = self.live(id)
        user = known.user if known else "ann"
        patch = None if value is None else {"b": value}
        if known is None:
            with pytest.raises(MemoryNotFoundError):
                self.memory.update(id, content=content, metadata=patch, tags=tags, user_id=user)
            return
        self.memory.update(id, content=content, metadata=patch, tags=tags, user_id=user)
        known.states.append(known.states[-1] if content is None else content)
        known.metadata |= patch or {}
        known.tags = known.tags if tags is None else tuple(tags)

    @rule(id=ids, lives=lifetimes)
    def move_expiry(self, id: str, lives: int | None) -> None:
        if known := self.live(id):
            known.expires_at = self.moment(lives)
            self.memory.update(id, expires_at=known.expires_at, user_id=known.user)
            known.states.append(known.states[-1])

    @rule(id=consumes(ids))
    def delete(self, id: str) -> None:
        known = self.known.pop(id)
        assert self.memory.delete(id, user_id=known.user).success
        assert self.memory.get(id, user_id=known.user) is None

    @rule(target=ids, id=consumes(ids))
    def delete_as_a_stranger(self, id: str) -> object:
        other = "bob" if self.known[id].user == "ann" else "ann"
        assert self.memory.delete(id, user_id=other).success
        assert self.memory.bulk_delete([id], user_id=other).deleted == 0
        return multiple(id)

    @rule(seconds=st.sampled_from([1, 10, 100]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(tombstones=st.booleans())
    def tidy(self, tombstones: bool) -> None:
        self.apps[0].sweep()
        if tombstones:
            app = self.apps[1]
            app._loop.run(app._inner.parts.provider.drop_tombstones(self.tenant))

    @rule(id=ids)
    def look_at_one(self, id: str) -> None:
        known = self.live(id)
        user = self.known[id].user
        entry, states = self.memory.get(id, user_id=user), self.memory.history(id, user_id=user)
        if known is None:
            assert (entry, states) == (None, ())
            return
        assert entry is not None
        shown = (entry.content, entry.tags, entry.metadata, entry.expires_at, entry.version)
        assert shown == (known.states[-1], known.tags, known.metadata, known.expires_at, len(known.states))
        assert [state.content for state in states] == known.states

    @rule(user=users, tag=st.none() | st.sampled_from(["x", "y"]))
    def look_at_all(self, user: str, tag: str | None) -> None:
        wanted = [
            id
            for id, known in reversed(self.known.items())
            if known.user == user and self.live(id) and (tag is None or tag in known.tags)
        ]
        filter = None if tag is None else [tag]
        shown: list[str] = []
        cursor = None
        while True:
            page = self.memory.list(user_id=user, tags=filter, limit=3, cursor=cursor)
            shown += [entry.id for entry in page.memories]
            assert page.total_count == len(wanted)
            cursor = page.next_cursor
            if cursor is None:
                break
        assert shown == wanted
        hits = self.memory.search("tea and cats at the harbour", user_id=user, tags=filter, threshold=0, limit=100)
        assert sorted([hit.id for hit in hits] + [each.id for each in hits.duplicates]) == sorted(wanted)
        assert hits.total_count == len(hits)
        assert {hit.id: hit.content for hit in hits} == {hit.id: self.known[hit.id].states[-1] for hit in hits}


@pytest.fixture
def two_apps(store_url: str, clock: ManualClock) -> Iterator[tuple[SyncApp, SyncApp]]:
    never = MemorySettings(sweep_interval_s=0)
    with (
        SyncApp(app_on(store_url, clock=clock, memory=never)) as one,
        SyncApp(app_on(store_url, clock=clock, memory=never)) as two,
    ):
        yield one, two
    assert loose_ends(store_url) == {}


def test_memory_behaves_like_a_dictionary(two_apps: tuple[SyncApp, SyncApp], clock: ManualClock) -> None:
    class OnThisStore(Memories):
        apps = two_apps

    OnThisStore.clock = clock
    run_state_machine_as_test(
        OnThisStore,
        settings=settings(
            max_examples=12,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
