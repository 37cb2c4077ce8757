"""Joins a skill service from the pieces of an open app."""

from collections.abc import Callable, Iterable

from lamina.database.engine import Database
from lamina.embedding.job import EmbeddingSink
from lamina.embedding.query import QueryEmbedder
from lamina.index.engine import SearchEngine
from lamina.kernel.audit import AuditSink
from lamina.kernel.clock import Clock
from lamina.observability.metrics import Metrics
from lamina.skill.bubblewrap import BubblewrapSandbox
from lamina.skill.composite import ToolSet
from lamina.skill.running import SkillRunner
from lamina.skill.sandbox import LimitsOnly, Sandbox
from lamina.skill.service import SkillService
from lamina.skill.settings import SkillSettings


def open_skills(
    *,
    database: Database,
    engine: SearchEngine,
    settings: SkillSettings,
    clock: Clock,
    metrics: Metrics,
    audit: AuditSink,
    tenant: str,
    enabled: bool,
    embedder: QueryEmbedder | None = None,
    embeddings: EmbeddingSink | None = None,
    session: Callable[[], str | None] = lambda: None,
    tools: Iterable[Callable[..., object]] = (),
) -> SkillService:
    """The skills of a tenant, with the sandbox that the settings name."""
    sandbox: Sandbox = BubblewrapSandbox() if settings.sandbox == "bubblewrap" else LimitsOnly()
    return SkillService(
        database=database,
        engine=engine,
        settings=settings,
        clock=clock,
        metrics=metrics,
        audit=audit,
        runner=SkillRunner(sandbox=sandbox, tools=ToolSet(tools), settings=settings, clock=clock),
        tenant=tenant,
        enabled=enabled,
        embedder=embedder,
        embeddings=embeddings,
        session=session,
    )
