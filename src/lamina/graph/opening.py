"""Joins a graph to the rooms whose texts it is made from."""

from collections.abc import Collection, Sequence

from lamina.database.engine import Database
from lamina.database.texts import StoredTexts
from lamina.graph.buffer import GraphBuffer
from lamina.graph.extract import RuleExtractor, TripleExtractor
from lamina.graph.service import GraphService
from lamina.graph.settings import GraphSettings
from lamina.kernel.clock import Clock
from lamina.kernel.retry import RetryPolicy
from lamina.observability.metrics import Metrics


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
    hidden: Collection[str] = (),
) -> GraphService:
    """A graph over the rooms' texts; while it is on, with a buffer for the caller to start and stop.

    Texts of the `hidden` kinds are neither read nor shown, nor is what was read from them before.
    """
    texts = [source for source in texts if source.kind not in hidden]
    buffer = None
    if settings.enabled:
        buffer = GraphBuffer(
            database=database,
            texts=texts,
            extractor=extractor or RuleExtractor(),
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
