"""Stores learnings: the transaction with its retries, the audit row, and who has to hear of a new text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.database.slots import Slot
from lamina.database.texts import RemovedListener
from lamina.embedding.job import EmbeddingJob, EmbeddingSink
from lamina.embedding.query import QueryEmbedder
from lamina.errors import LaminaError, RateLimitedError
from lamina.index.late import add_vectors
from lamina.index.store import pack_vector
from lamina.kernel.saved import SavedListener, SavedText
from lamina.kernel.text import content_hash
from lamina.knowledge.audit import AuditLog
from lamina.learning.rows import learning_scope, text_of, told_text
from lamina.learning.texts import LearningTexts
from lamina.learning.writing import Draft, LearningTakenError, Saved, learn
from lamina.observability.metrics import Metrics

LEARNING_LIMIT = "knowledge.max_learnings_per_session"
_ATTEMPTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSaver:
    """Saves for the engine and for the verbs alike."""

    database: Database
    metrics: Metrics
    audit: AuditLog
    embedder: QueryEmbedder | None = None
    embeddings: EmbeddingSink | None = None
    """Where saved texts wait for their vectors; without it a vector is computed right after the save."""
    on_saved: SavedListener | None = None
    on_removed: RemovedListener | None = None
    """Told inside the transaction that removes learnings."""

    async def save(self, draft: Draft, *, actor: str, session: str | None) -> Saved:
        """Store a learning together with its audit row, and announce it. Raises RateLimitedError, naming the limit."""
        try:
            saved = await self._store(draft, actor, session)
        except RateLimitedError as error:
            await self.audit.record(**_row(draft, actor, session, {"refused": error.code, **error.details}))
            raise
        if saved.outcome in ("created", "changed"):
            await self.announce(draft.tenant, saved, session)
        return saved

    async def _store(self, draft: Draft, actor: str, session: str | None) -> Saved:
        def work(link: Link) -> Saved:
            saved = learn(link, draft)
            if saved.outcome != "unchanged":
                details = {"outcome": saved.outcome, "learning": saved.learning.id, "fix": draft.fix}
                self.audit.add(link, **_row(draft, actor, session, details))
            return saved

        for _ in range(_ATTEMPTS - 1):
            try:
                return await self.database.write(work)
            except LearningTakenError:
                continue  # whoever was first is committed now: the next attempt finds the row
        return await self.database.write(work)

    async def announce(self, tenant: str, saved: Saved, session: str | None) -> None:
        """See to the vector of a new or changed text, and tell who listens."""
        text = text_of(saved.learning)
        if self.embeddings is not None:
            self.embeddings.submit(EmbeddingJob(scope_key=learning_scope(tenant), entry=saved.row, text=text))
        elif self.embedder is not None:
            await self._embed(tenant, saved.row, text, self.embedder)
        if self.on_saved is not None:
            event = SavedText(
                tenant=tenant,
                kind="learning",
                key=saved.learning.id,
                text=told_text(saved.learning),
                created=saved.outcome == "created",
                session_key=session,
            )
            self.on_saved(event)

    async def _embed(self, tenant: str, row: int, text: str, embedder: QueryEmbedder) -> None:
        try:
            vector = await embedder.embed(text, tenant=tenant, purpose="document")
            vectors = {row: (content_hash(text), pack_vector(vector))}
            await self.database.write(
                lambda link: add_vectors(
                    link, LearningTexts(), tenant=tenant, model_id=embedder.model_id, vectors=vectors
                )
            )
        except LaminaError as error:  # its words are enough to find it, and a back-fill finds what has no vector
            self.metrics.operation_failed("learning_embed", error.code)


def _row(draft: Draft, actor: str, session: str | None, details: Mapping[str, object]) -> dict[str, Any]:
    """The audit row of a save."""
    about = {"tool": draft.tool, "pattern": draft.pattern, "category": draft.category.value}
    return {
        "tenant": draft.tenant,
        "action": "learning_save",
        "actor": actor,
        "target": draft.trigger,
        "details": {**about, **details},
        "session_key": session,
    }


def slot_of(tenant: str, session: str | None) -> Slot | None:
    """What a new learning takes; outside of every session there is none to limit."""
    return None if session is None else Slot(tenant=tenant, name=LEARNING_LIMIT, holder=session)
