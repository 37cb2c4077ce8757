"""Which embedding model a store's vectors come from.

Exactly one model is active. Re-embedding adds a second one, `building`, fills in its vectors beside the old, and
then switches in one transaction; until then every search uses the old model, afterwards every search uses the new.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.schema import dump_json, load_json
from lamina.index.calibration import Calibration
from lamina.index.tables import embedding_model


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredModel:
    """A model of this store; `calibration` is None until one was fitted."""

    id: int
    name: str
    dimensions: int
    state: str
    calibration: Calibration | None


def active_model(link: Link) -> StoredModel | None:
    """The model whose vectors searches use; None for a store that has none yet."""
    return _find(link, embedding_model.c.state == "active")


def building_model(link: Link) -> StoredModel | None:
    """The model an unfinished re-embedding was filling in."""
    return _find(link, embedding_model.c.state == "building")


def retired_models(link: Link) -> list[StoredModel]:
    """Models that were replaced; their vectors can go."""
    rows = link.execute(sa.select(*_COLUMNS).where(embedding_model.c.state == "retired").order_by(embedding_model.c.id))
    return [_model(row) for row in rows]


def add_model(link: Link, *, name: str, dimensions: int, state: str, now: int) -> StoredModel:
    """Register a model."""
    statement = sa.insert(embedding_model).values(name=name, dimensions=dimensions, state=state, created_at=now)
    found = link.execute(statement.returning(embedding_model.c.id)).scalar_one()
    return StoredModel(id=found, name=name, dimensions=dimensions, state=state, calibration=None)


def save_calibration(link: Link, model_id: int, calibration: Calibration) -> None:
    """Keep a fitted calibration with its model."""
    link.execute(
        sa.update(embedding_model)
        .where(embedding_model.c.id == model_id)
        .values(calibration=calibration.to_json() if link.name == "sqlite" else load_json(calibration.to_json()))
    )


def set_state(link: Link, model_id: int, state: str) -> None:
    """Move a model on: building, active, retired."""
    link.execute(sa.update(embedding_model).where(embedding_model.c.id == model_id).values(state=state))


def model_state(link: Link, model_id: int) -> str | None:
    """Where a model stands; None when it is gone."""
    return link.execute(sa.select(embedding_model.c.state).where(embedding_model.c.id == model_id)).scalar_one_or_none()


def drop_model(link: Link, model_id: int) -> None:
    """Forget a model that has no vectors left."""
    link.execute(sa.delete(embedding_model).where(embedding_model.c.id == model_id))


_COLUMNS = (
    embedding_model.c.id,
    embedding_model.c.name,
    embedding_model.c.dimensions,
    embedding_model.c.state,
    embedding_model.c.calibration,
)


def _find(link: Link, condition: sa.ColumnElement[bool]) -> StoredModel | None:
    row = link.execute(sa.select(*_COLUMNS).where(condition).order_by(embedding_model.c.id.desc())).first()
    return None if row is None else _model(row)


def _model(row: Any) -> StoredModel:
    id, name, dimensions, state, stored = row
    return StoredModel(id=id, name=name, dimensions=dimensions, state=state, calibration=_calibration(stored))


def _calibration(stored: Any) -> Calibration | None:
    fitted = load_json(stored)
    try:
        return None if fitted is None else Calibration.from_json(dump_json(fitted))
    except ValueError:  # one of another form; without one, the model is calibrated anew when the store is opened
        return None
