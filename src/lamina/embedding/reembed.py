"""Changes the embedding model of a store without a moment in which searches see two models.

The new model's vectors are written beside the old ones, in batches, each durable on its own: an interrupted run
resumes where it stopped. When nothing is missing, one transaction switches the active model; until then every
search uses the old vectors, afterwards the new. Entries that were added or changed meanwhile are caught up with
before the switch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa

from lamina.database.engine import Database
from lamina.database.link import Link, Prepared
from lamina.database.schema import to_micros
from lamina.embedding.adoption import MODEL_LOCK, fit
from lamina.embedding.types import Embedder
from lamina.embedding.vectors import answered
from lamina.errors import ConfigurationError
from lamina.index.models import (
    StoredModel,
    active_model,
    add_model,
    building_model,
    drop_model,
    model_state,
    retired_models,
    save_calibration,
    set_state,
)
from lamina.index.store import pack_vector
from lamina.index.tables import index_vector
from lamina.kernel.clock import Clock
from lamina.kernel.text import content_hash

Progress = Callable[[int, int], None]
"""Called with the entries done and the entries there are."""

_BATCH = 256
_DROP_BATCH = 5_000
_PUT = Prepared(sa.insert(index_vector))


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingText:
    """An entry that has no vector of the new model yet."""

    entry: int
    scope_id: int
    tenant: str
    text: str


class TextSource(Protocol):
    """A room's searchable texts."""

    def count(self, link: Link) -> int:
        """How many entries there are."""
        ...

    def pending(self, link: Link, model_id: int, *, after: int, limit: int, hold: bool = False) -> list[PendingText]:
        """Entries above `after` without a vector of the model, ascending; `hold` keeps them unchanged until commit."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReembedReport:
    """What happened: entries embedded by this run, those an earlier run had done, and the models."""

    embedded: int
    resumed: int
    model: str
    previous: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembedding:
    """A change of model, safe to interrupt and to run again."""

    database: Database
    embedder: Embedder
    sources: Sequence[TextSource]
    clock: Clock
    progress: Progress = lambda done, total: None

    async def run(self) -> ReembedReport:
        """Give every entry a vector of the new model, then switch the store to it."""
        await self._clean()
        previous = await self.database.read(active_model)
        old = previous.name if previous else None
        if previous is not None and self._is_target(previous):
            return ReembedReport(embedded=0, resumed=0, model=previous.name, previous=old)
        model = await self.database.write(self._choose)
        calibration = await fit(self.embedder)
        await self.database.write(lambda link: save_calibration(link, model.id, calibration))
        total = await self.database.read(lambda link: sum(source.count(link) for source in self.sources))
        resumed = await self.database.read(lambda link: _vectors(link, model.id))
        embedded = 0
        self.progress(resumed, total)
        while not await self.database.write(lambda link: self._switch(link, model)):
            for source in self.sources:
                after = -1
                while (step := await self._step(source, model, after)) is not None:
                    after, done = step
                    embedded += done
                    self.progress(min(resumed + embedded, total), total)
        await self._clean()
        return ReembedReport(embedded=embedded, resumed=resumed, model=model.name, previous=old)

    def _is_target(self, model: StoredModel) -> bool:
        return (model.name, model.dimensions) == (self.embedder.name, self.embedder.dimensions)

    def _choose(self, link: Link) -> StoredModel:
        """The model an unfinished run was filling in, if it is the same one, else a new one."""
        link.lock(MODEL_LOCK)
        unfinished = building_model(link)
        if unfinished is not None:
            if self._is_target(unfinished):
                return unfinished
            set_state(link, unfinished.id, "retired")
        return add_model(
            link,
            name=self.embedder.name,
            dimensions=self.embedder.dimensions,
            state="building",
            now=to_micros(self.clock.now()),
        )

    async def _step(self, source: TextSource, model: StoredModel, after: int) -> tuple[int, int] | None:
        """Embed the next batch: the last entry looked at and how many were stored; None when nothing is pending."""
        batch = await self.database.read(lambda link: source.pending(link, model.id, after=after, limit=_BATCH))
        if not batch:
            return None
        answer = await self.embedder.embed([item.text for item in batch], purpose="document")
        vectors = answered(self.embedder.name, answer, rows=len(batch), dimensions=self.embedder.dimensions)
        rows = {
            item: {
                "model_id": model.id,
                "scope_id": item.scope_id,
                "entry": item.entry,
                "tenant": item.tenant,
                "content_hash": content_hash(item.text),
                "vector": pack_vector(vector) if vector.any() else None,
            }
            for item, vector in zip(batch, vectors, strict=True)
        }

        def store(link: Link) -> int:
            _refuse_overtaken(link, model)
            # What was changed or deleted while it was being embedded is left to a later batch.
            still = source.pending(link, model.id, after=after, limit=_BATCH, hold=True)
            current = [rows[item] for item in still if item in rows]
            return link.run_many(_PUT, current) if current else 0

        return batch[-1].entry, await self.database.write(store)

    def _switch(self, link: Link, model: StoredModel) -> bool:
        """Make the new model the active one, unless an entry still lacks its vector."""
        link.lock(MODEL_LOCK)
        if link.name == "postgresql":  # no add or update may be under way while we look and switch
            link.raw.execute("LOCK TABLE scope IN EXCLUSIVE MODE")
        if _refuse_overtaken(link, model) == "active":  # another process did the same work and was first
            return True
        if any(source.pending(link, model.id, after=-1, limit=1) for source in self.sources):
            return False
        previous = active_model(link)
        if previous is not None:
            set_state(link, previous.id, "retired")
        set_state(link, model.id, "active")
        return True

    async def _clean(self) -> None:
        """Remove the vectors of models that are no longer used, in batches."""
        for model in await self.database.read(retired_models):
            while await self.database.write(lambda link, id=model.id: _drop_some(link, id)):  # type: ignore[misc]
                pass
            await self.database.write(lambda link, id=model.id: drop_model(link, id))  # type: ignore[misc]


def _refuse_overtaken(link: Link, model: StoredModel) -> str:
    """The model's state; raises ConfigurationError when a change to another model took its place."""
    state = model_state(link, model.id)
    if state not in ("building", "active"):
        raise ConfigurationError(
            f"A change to another model took the place of this one to {model.name}; run one change at a time.",
            details={"model": model.name},
        )
    return state


def _vectors(link: Link, model_id: int) -> int:
    counted = sa.select(sa.func.count()).select_from(index_vector).where(index_vector.c.model_id == model_id)
    return int(link.execute(counted).scalar_one())


def _drop_some(link: Link, model_id: int) -> int:
    columns = index_vector.c
    some = sa.select(columns.scope_id, columns.entry).where(columns.model_id == model_id).limit(_DROP_BATCH)
    place = sa.tuple_(columns.scope_id, columns.entry)
    gone = link.execute(sa.delete(index_vector).where(columns.model_id == model_id, place.in_(some)))
    return gone.rowcount
