"""Joins observational memory to the store and to whoever writes the notes."""

from collections.abc import Callable
from datetime import datetime

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.kernel.clock import Clock
from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.llm.types import ChatModel
from lamina.observability.metrics import Metrics
from lamina.observation.desk import Compactor, Desk, Writers
from lamina.observation.pipeline import Pipeline
from lamina.observation.render import entry_counter
from lamina.observation.service import ObservationService
from lamina.observation.settings import ObservationSettings
from lamina.observation.worker import ObservationWorker
from lamina.session.archiving import compact_session
from lamina.session.counting import message_tokens
from lamina.session.reading import StoredSession


def open_observation(
    *,
    database: Database,
    settings: ObservationSettings,
    clock: Clock,
    metrics: Metrics,
    tenant: str,
    writers: Callable[[], Writers],
    count: TokenCounter = estimate_tokens,
) -> ObservationService:
    """Observational memory; while it is on, with a worker for the caller to start and stop.

    `writers` is asked only then. Raises ConfigurationError for a model that cannot work.
    """
    desk = worker = None
    if settings.enabled:
        desk = Desk(
            database=database,
            settings=settings,
            clock=clock,
            metrics=metrics,
            writers=writers(),
            compactor=session_compactor(count) if settings.compact else None,
            count=count,
        )
        worker = ObservationWorker(Pipeline(desk))
    return ObservationService(
        database=database, settings=settings, metrics=metrics, tenant=tenant, desk=desk, worker=worker
    )


def writers_of(model: ChatModel | None, *, count: TokenCounter = estimate_tokens) -> Writers:
    """Who writes: the model, where there is one; else notes are extracted, provisionally."""
    from lamina.observation.extractive_observer import ExtractiveObserver
    from lamina.observation.extractive_reflector import ExtractiveReflector
    from lamina.observation.model_observer import ModelObserver
    from lamina.observation.model_reflector import ModelReflector

    extractive = ExtractiveObserver(count=count)
    if model is None:
        return Writers(observer=extractive, reflector=ExtractiveReflector(count=count))
    return Writers(
        observer=ModelObserver(model),
        reflector=ModelReflector(model, count=entry_counter(count)),
        model=model.name,
        fallback=extractive,
    )


def session_compactor(count: TokenCounter = estimate_tokens) -> Compactor:
    """Archives observed messages in their session, and puts the summary in their place."""

    def compact(link: Link, held: StoredSession, *, up_to: int, summary: str, now: datetime) -> None:
        tokens = message_tokens(count, summary)
        compact_session(link, held, up_to=up_to, summary=summary, tokens=tokens, now=now)

    return compact
