"""Tells the story to a store: every event at its own time, through the verbs that everybody uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lamina.app import App
from lamina.config import Settings
from lamina.database.address import parse_address
from lamina.demo.settings import demo_settings
from lamina.demo.story import Event, Story, read_story
from lamina.demo.talking import Talking
from lamina.errors import InvalidInputError
from lamina.kernel.clock import ManualClock, SystemClock
from lamina.memory.reading import count_memories
from lamina.memory.types import Source
from lamina.observability.metrics import Metrics

Progress = Callable[[int, int | None], None]
_BEGUN, _ENDED = "demo_begun", "demo_ended"
_BASE = "You are Wren, the assistant of the people at Fernhill. Answer briefly."


async def fill(settings: Settings, *, progress: Progress = lambda done, total: None) -> bool:
    """Tell the story to a store, so that it ends yesterday; False where it is there already.

    A new file appears under its name only when the story is told to its end. Raises InvalidInputError for a tenant
    that holds something else, or the beginning of a story that was interrupted.
    """
    path = parse_address(settings.database.url).path
    if path is None or path.exists() or settings.database.url == ":memory:":
        return await _fill(settings, progress)
    part = path.with_name(f"{path.name}.part")
    _remove(part)
    try:
        database = replace(settings.database, url=str(part))
        told = await _fill(settings.model_copy(update={"database": database}), progress)
        part.replace(path)
    finally:
        _remove(part)
    return told


def _remove(store: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        store.with_name(store.name + ending).unlink(missing_ok=True)


async def _fill(settings: Settings, progress: Progress) -> bool:
    story = read_story()
    today = SystemClock().now().replace(hour=0, minute=0, second=0, microsecond=0)
    clock = ManualClock(today - timedelta(days=story.days))
    changed = demo_settings(settings)
    async with App(changed, clock=clock, metrics=Metrics(), observing=False) as app:
        if await _is_told(app):
            return False
        audit = app.for_tenant(app.settings.memory.tenant).audit
        await audit.record(action=_BEGUN, actor="demo")
        await Teller(app=app, clock=clock, start=clock.now()).tell(story, progress)
        await audit.record(action=_ENDED, actor="demo")
    return True


async def _is_told(app: App) -> bool:
    if (await app.audit.list(action=_ENDED, limit=1)).rows:
        return True
    begun = bool((await app.audit.list(action=_BEGUN, limit=1)).rows)
    if begun or await _holds_something(app):
        what = "an unfinished demo" if begun else "something else"
        raise InvalidInputError(
            f"The store holds {what} already; the demo wants a place of its own.",
            details={"next": "Name a new one, for instance --store other.db, or another --tenant."},
        )
    return False


async def _holds_something(app: App) -> bool:
    tenant, now = app.settings.memory.tenant, SystemClock().now()
    memories = await app.parts.database.read(lambda link: count_memories(link, tenant, now))
    known = await app.knowledge.list(limit=1)
    return bool(memories or known.total_count or (await app.sessions.list(limit=1)).total_count)


@dataclass(kw_only=True)
class Teller:
    """Makes the events happen in an open app whose clock it moves."""

    app: App
    clock: ManualClock
    start: datetime
    _talking: Talking = field(init=False)
    _named: dict[str, str] = field(default_factory=dict)
    """Memories that change later, by the name the story has for them."""

    def __post_init__(self) -> None:
        self._talking = Talking(app=self.app, clock=self.clock)

    async def tell(self, story: Story, progress: Progress) -> None:
        """Everything, from the first event to the last; the background work of each day is done with the day."""
        for link in story.hierarchy:
            await self.app.hierarchy.set(**link)
        for number, event in enumerate(story.events, start=1):
            self._wait_for(event)
            await self._happen(event.what)
            progress(number, len(story.events))
        await self.app.observation.observe_now()

    def _wait_for(self, event: Event) -> None:
        due = self.start + timedelta(days=event.day, hours=event.at.hour, minutes=event.at.minute)
        self.clock.advance(max(0.0, (due - self.clock.now()).total_seconds()))

    async def _happen(self, what: Mapping[str, Any]) -> None:
        app, talking = self.app, self._talking
        match what:
            case {"talk": about, "lines": lines}:
                await talking.talk(about["session"], about["user"], lines)
            case {"memory": new}:
                await self._remember(**new)
            case {"update": change}:
                await app.memory.update(
                    self._named[change["name"]], content=change["content"], user_id=change["user_id"]
                )
            case {"knowledge": known}:
                await app.knowledge.save(**known)
            case {"reference": known}:
                await app.references.save(**known)
            case {"correct": said}:
                await app.learning.correct(said["trigger"], said["fix"], session_key=said["session"])
            case {"outcome": told}:
                await talking.outcome(told)
            case {"tools": used}:
                await self._work(**used)
            case {"triple": [subject, predicate, other]}:
                await app.graph.add(subject, predicate, other, valid_from=self.clock.now())
            case {"alias": [name, other]}:
                await app.graph.alias(name, other)
            case {"skill": drafted}:
                await app.skills.create(**drafted)
            case {"approve": decided}:
                await app.skills.approve(decided["skill"], by=decided["by"])
            case {"run": used}:
                await app.skills.run(used["skill"], used["with"])
            case {"ask": asked}:
                await self._ask(**asked)
            case _:
                raise ValueError(f"the story has no such event: {sorted(what)}")

    async def _remember(self, *, name: str | None = None, source: Mapping[str, Any] | None = None, **new: Any) -> None:
        added = await self.app.memory.add(**new, source=None if source is None else Source(**source))
        if name is not None:
            self._named[name] = added.id

    async def _work(self, *, session: str, times: int = 1, then: str | None = None, **used: Any) -> None:
        """A tool at work while nobody talks; `then` is what it says after it failed and was helped."""
        for _ in range(times):
            await self._talking.use_tool(session, used)
            self.clock.advance(60)
        if then is not None:
            await self._talking.use_tool(session, {"name": used["name"], "with": used["with"], "result": then})

    async def _ask(self, *, query: str, session: str, **identifiers: str) -> None:
        await self.app.context.assemble(_BASE, query=query, session_key=session, **identifiers)  # type: ignore[arg-type]
