"""Joins a graph to the rooms whose texts it is made from."""

import logging
from collections.abc import Collection, Sequence

from lamina.database.engine import Database
from lamina.database.texts import StoredTexts
from lamina.graph.buffer import GraphBuffer
from lamina.graph.extract import RuleExtractor, TripleExtractor
from lamina.graph.model_extract import MODEL_EXTRACTOR, ModelExtractor
from lamina.graph.service import GraphService
from lamina.graph.settings import GraphSettings
from lamina.kernel.clock import Clock
from lamina.kernel.retry import RetryPolicy
from lamina.llm.types import ChatModel
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.graph")


def open_graph(
    *,
    database: Database,
    texts: Sequence[StoredTexts],
    settings: GraphSettings,
    clock: Clock,
    metrics: Metrics,
    tenant: str,
    retry: RetryPolicy,
    extractor: TripleExtractor | None = None,
    model: ChatModel | None = None,
    hidden: Collection[str] = (),
) -> GraphService:
    """A graph over the rooms' texts; while it is on, with a buffer for the caller to start and stop.

    `model` reads the texts where `settings.extraction` asks for one; without it the rules read what is new, and leave
    what a model has read as it is. Texts of the `hidden` kinds are neither read nor shown, nor is what was read from
    them before.
    """
    texts = [source for source in texts if source.kind not in hidden]
    buffer = None
    if settings.enabled:
        buffer = GraphBuffer(
            database=database,
            texts=texts,
            extractor=extractor or _extractor(settings, model, clock, metrics),
            respected=(MODEL_EXTRACTOR,) if settings.extraction == "model" else (),
            clock=clock,
            metrics=metrics,
            settings=settings.buffer,
            retry=retry,
        )
    return GraphService(
        database=database,
        settings=settings,
        clock=clock,
        metrics=metrics,
        tenant=tenant,
        texts=texts,
        buffer=buffer,
        hidden=hidden,
    )


def _extractor(settings: GraphSettings, model: ChatModel | None, clock: Clock, metrics: Metrics) -> TripleExtractor:
    if settings.extraction == "rules":
        return RuleExtractor()
    if model is None:
        _log.warning("graph.extraction is model, but there is none: set llm.model, or pass one; the rules read")
        return RuleExtractor()
    return ModelExtractor(model, clock=clock, metrics=metrics)
