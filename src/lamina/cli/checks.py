"""What `lamina doctor` looks at. Each check changes nothing and says what to do about what it found."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from lamina.access.rows import count_keys
from lamina.cli.consistency import count_conversations, count_entries, find_loose_ends, find_loose_messages
from lamina.cli.output import next_step
from lamina.cli.sizes import bytes_text, count_text
from lamina.config import LoadedSettings, Settings
from lamina.database.settings import DatabaseSettings
from lamina.database.upkeep import StoreStatus, find_damage, free_space, read_status, read_store, try_writing
from lamina.embedding.factory import create_embedder
from lamina.errors import ConfigurationError, LaminaError
from lamina.index.models import active_model, building_model
from lamina.kernel.clock import SystemClock

State = Literal["ok", "warning", "problem", "not checked"]
_LITTLE_SPACE = 100_000_000
_MANY_MARKS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at; `next` is what to do about it."""

    name: str
    state: State
    found: str
    next: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The configured embedder as it answered."""

    name: str
    dimensions: int


def configuration_check(loaded: LoadedSettings) -> Check:
    """The settings were read, which is all that can go wrong with them."""
    changed = sum(row.origin != "default" for row in loaded.rows())
    return Check(name="configuration", state="ok", found=f"{changed} changed, the rest at its default")


def failure(name: str, error: LaminaError) -> Check:
    """A check that met an error of the house."""
    return Check(name=name, state="problem", found=error.message, next=next_step(error), code=error.code)


async def embedder_check(settings: Settings) -> tuple[Check, Model | None]:
    """Whether the configured embedder can be loaded and answers."""
    try:
        embedder = await create_embedder(settings.embedding, environ=os.environ)
        try:
            vectors = await embedder.embed(["Does the embedder answer?"], purpose="query")
        finally:
            await embedder.aclose()
    except ConfigurationError as error:
        error.details.setdefault("next", "`lamina config show embedding` says what is set, and where.")
        return failure("embedder", error), None
    except LaminaError as error:
        error.details.setdefault("next", "Check the endpoint, its key and the network, then run this again.")
        return failure("embedder", error), None
    model = Model(name=embedder.name, dimensions=int(vectors.shape[1]))
    return Check(name="embedder", state="ok", found=f"{model.name} answers, {model.dimensions} dimensions"), model


def store_checks(settings: DatabaseSettings, model: Model | None) -> Iterator[Check]:
    """Everything about the store, from the outside in; ends early where the rest could not be looked at."""
    try:
        status = read_status(settings)
    except LaminaError as error:
        yield failure("store", error)
        return
    yield Check(name="store", state="ok", found=f"{status.address}, {status.engine}, {bytes_text(status.size_bytes)}")
    schema = _schema(status)
    yield schema
    yield _guarded("disk space", lambda: _disk(settings, status))
    if schema.state != "ok":
        return
    yield _guarded("pages", lambda: _pages(settings, status))
    yield _guarded("writing", lambda: _writing(settings))
    yield _guarded("model", lambda: _model(settings, model))
    yield _guarded("index", lambda: _index(settings))
    yield _guarded("conversations", lambda: _conversations(settings))
    yield _guarded("keys", lambda: _keys(settings))


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except LaminaError as error:
        return failure(name, error)


def _schema(status: StoreStatus) -> Check:
    if status.schema == status.newest:
        return Check(name="schema", state="ok", found=f"version {status.schema}, current")
    if status.schema is None:
        return Check(
            name="schema",
            state="problem",
            found="the database holds no store yet",
            next="`lamina db migrate` creates one there; check the address first.",
        )
    if status.schema > status.newest:
        return Check(
            name="schema",
            state="problem",
            found=f"version {status.schema}, this Lamina knows {status.newest}",
            next="Upgrade Lamina: pip install --upgrade lamina",
        )
    return Check(
        name="schema",
        state="problem",
        found=f"version {status.schema}, newest is {status.newest}",
        next="`lamina db backup FILE`, then `lamina db migrate`.",
    )


def _disk(settings: DatabaseSettings, status: StoreStatus) -> Check:
    free = free_space(settings)
    if free is None:
        return Check(name="disk space", state="not checked", found="it is the server's")
    found = f"{bytes_text(free)} free"
    if free < _LITTLE_SPACE:
        step = "Free some space soon: a write that does not fit is refused."
        return Check(name="disk space", state="problem", found=found, next=step)
    if free < 2 * status.size_bytes:
        step = "Enough for now, but `lamina db vacuum` and a backup need as much as the store again."
        return Check(name="disk space", state="warning", found=found, next=step)
    return Check(name="disk space", state="ok", found=found)


def _pages(settings: DatabaseSettings, status: StoreStatus) -> Check:
    if status.engine != "SQLite":
        return Check(name="pages", state="not checked", found="PostgreSQL looks after its own")
    damage = find_damage(settings)
    if damage is not None:
        step = "Open a backup with --store, or save what can be read: `lamina export FILE`."
        return Check(name="pages", state="problem", found=damage, next=step)
    return Check(name="pages", state="ok", found="no damage found")


def _writing(settings: DatabaseSettings) -> Check:
    try_writing(settings)
    return Check(name="writing", state="ok", found="a transaction was committed")


def _model(settings: DatabaseSettings, model: Model | None) -> Check:
    active, building = read_store(settings, lambda link: (active_model(link), building_model(link)))
    if active is None:
        return Check(name="model", state="ok", found="none yet; the first command that opens the store chooses")
    if model is not None and (active.name, active.dimensions) != (model.name, model.dimensions):
        return Check(
            name="model",
            state="problem",
            found=f"the store's vectors come from {active.name}, the embedder is {model.name}",
            next="`lamina reembed` moves the store to this embedder; or set embedding.model to the store's.",
        )
    if building is not None:
        return Check(
            name="model",
            state="warning",
            found=f"{active.name}; a change to {building.name} was not finished",
            next="`lamina reembed --embedder ...` with that model goes on where it stopped, unless it still runs.",
        )
    if active.calibration is None:
        return Check(
            name="model",
            state="warning",
            found=f"{active.name}, not calibrated: scores are rough",
            next="Run `lamina calibrate`.",
        )
    return Check(name="model", state="ok", found=f"{active.name}, calibrated")


def _index(settings: DatabaseSettings) -> Check:
    (memories, marks), loose = read_store(settings, lambda link: (count_entries(link), find_loose_ends(link)))
    found = f"{count_text(memories, 'memory', 'memories')}, {count_text(marks, 'mark')} of deletions"
    if loose:
        return Check(
            name="index",
            state="problem",
            found=", ".join(f"{count} {name}" for name, count in loose.items()),
            next="Build a new one: `lamina export all.jsonl`, then `lamina import all.jsonl --store new.db`.",
        )
    if marks > _MANY_MARKS and marks > memories:
        return Check(name="index", state="warning", found=found, next="`lamina db vacuum` removes the marks.")
    return Check(name="index", state="ok", found=found)


def _conversations(settings: DatabaseSettings) -> Check:
    (sessions, messages), loose = read_store(
        settings, lambda link: (count_conversations(link), find_loose_messages(link))
    )
    found = f"{count_text(sessions, 'session')}, {count_text(messages, 'message')}"
    if loose:
        return Check(
            name="conversations",
            state="problem",
            found=", ".join(f"{count} {name}" for name, count in loose.items()),
            next="Open a backup with --store; `lamina session show KEY --all --json` still reads what is there.",
        )
    return Check(name="conversations", state="ok", found=found)


def _keys(settings: DatabaseSettings) -> Check:
    good, expired = read_store(settings, lambda link: count_keys(link, SystemClock().now()))
    if not good and not expired:
        return Check(name="keys", state="ok", found="none: a service lets in this machine and nobody else")
    found = f"{good} good, {expired} expired"
    if not good:
        step = "Nobody comes in: make a key with `lamina key create`, or revoke the expired ones."
        return Check(name="keys", state="warning", found=found, next=step)
    return Check(name="keys", state="ok", found=found)
