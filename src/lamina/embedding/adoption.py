"""Makes sure that a store and an embedder belong together before anything is searched."""

import logging
from dataclasses import replace

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.schema import to_micros
from lamina.embedding.static import StaticEmbedder
from lamina.embedding.types import Embedder
from lamina.embedding.vectors import answered
from lamina.errors import ConfigurationError, LaminaError
from lamina.index.calibration import Calibration, calibration_texts, fit_calibration
from lamina.index.models import StoredModel, active_model, add_model, save_calibration
from lamina.kernel.clock import Clock

_log = logging.getLogger("lamina.embedding")

MODEL_LOCK = 0x6D6F64656C  # "model": one process at a time chooses or switches a store's model


async def adopt(database: Database, embedder: Embedder, clock: Clock) -> StoredModel:
    """The store's active model, registered now if the store is new.

    Raises ConfigurationError, with the command that re-embeds, when the store's vectors come from another model.
    """

    def register(link: Link) -> StoredModel:
        link.lock(MODEL_LOCK)
        return active_model(link) or add_model(
            link,
            name=embedder.name,
            dimensions=embedder.dimensions,
            state="active",
            now=to_micros(clock.now()),
        )

    found = await database.read(active_model)
    model = await database.write(register) if found is None else found
    if (model.name, model.dimensions) != (embedder.name, embedder.dimensions):
        raise ConfigurationError(
            f"The store's vectors come from {model.name} ({model.dimensions} dimensions), the configured embedder "
            f"is {embedder.name} ({embedder.dimensions}). Configure the former, or run `lamina reembed`.",
            details={
                "stored": model.name,
                "stored_dimensions": model.dimensions,
                "configured": embedder.name,
                "configured_dimensions": embedder.dimensions,
            },
        )
    return model if model.calibration is not None else await _calibrated(database, embedder, model)


async def fit(embedder: Embedder) -> Calibration:
    """What this embedder's cosines mean, from the shipped texts and without labels; a second or so for a slow one."""
    memories, questions = calibration_texts()
    documents = await embedder.embed(memories, purpose="document")
    queries = await embedder.embed(questions, purpose="query")
    return fit_calibration(
        embedder.name,
        answered(embedder.name, documents, rows=len(memories), dimensions=embedder.dimensions),
        answered(embedder.name, queries, rows=len(questions), dimensions=embedder.dimensions),
    )


async def _calibrated(database: Database, embedder: Embedder, model: StoredModel) -> StoredModel:
    known = embedder.calibration if isinstance(embedder, StaticEmbedder) else None
    try:
        calibration = await fit(embedder) if known is None else known
    except (LaminaError, ValueError) as error:
        # The store can be used without it; the next open tries again, or `lamina calibrate`.
        _log.warning("%s could not be calibrated, scores are rough until it is: %s", embedder.name, error)
        return model
    await database.write(lambda link: save_calibration(link, model.id, calibration))
    return replace(model, calibration=calibration)
