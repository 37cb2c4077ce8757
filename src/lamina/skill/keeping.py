"""What stands behind the verbs of skills: checking, storing, deciding, running and reporting for one tenant."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Self

import anyio

from lamina.database.engine import Database
from lamina.database.slots import Slot
from lamina.embedding.cached import Vector
from lamina.embedding.job import EmbeddingJob, EmbeddingSink
from lamina.embedding.query import QueryEmbedder
from lamina.embedding.types import Purpose
from lamina.errors import ConfigurationError, LaminaError, RateLimitedError, SkillNotFoundError
from lamina.index.engine import SearchEngine
from lamina.index.store import indexable
from lamina.kernel.audit import AuditSink
from lamina.kernel.checks import check_name
from lamina.kernel.clock import Clock
from lamina.observability.metrics import Metrics
from lamina.skill.define import check_draft, check_skill_name, require_harmless
from lamina.skill.folder import parse_document
from lamina.skill.rows import searched_text, skill_scope
from lamina.skill.running import SkillRunner
from lamina.skill.settings import SkillSettings
from lamina.skill.store import SaveRequest, count_run, decide_skill, get_skill, insert_skill
from lamina.skill.types import Draft, Skill, SkillOrigin, SkillRun, SkillStatus, SkillType

CREATE_LIMIT: Final = "skill.max_per_day"
_log = logging.getLogger("lamina.skill")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillKeeper:
    """Keeps and runs the skills of one tenant."""

    database: Database
    engine: SearchEngine
    settings: SkillSettings
    clock: Clock
    metrics: Metrics
    audit: AuditSink
    runner: SkillRunner
    tenant: str
    enabled: bool
    """What `knowledge.enabled` says."""
    embedder: QueryEmbedder | None = None
    """Without one, questions and skills are matched by their words alone."""
    embeddings: EmbeddingSink | None = None
    """Where saved texts wait for their vectors; without it vectors are computed during the save."""
    session: Callable[[], str | None] = lambda: None
    """The session of the current request, for the audit log."""
    actor: str = "agent"
    """Who is said to have done it."""

    def for_tenant(self, tenant: str) -> Self:
        """The same for another tenant; raises InvalidInputError for a blank one."""
        return replace(self, tenant=check_name("tenant", tenant))

    def acting_as(self, actor: str) -> Self:
        """The same with another name in the audit log; raises InvalidInputError for a blank one."""
        return replace(self, actor=check_name("actor", actor))

    async def _get(self, name: str) -> Skill:
        known = self._known(name)
        skill = await self.database.read(lambda link: get_skill(link, self.tenant, known))
        if skill is None:
            raise not_found(name)
        return skill

    async def _checked(
        self,
        name: object,
        description: object,
        type: SkillType | str,
        definition: object,
        parameters: Mapping[str, object] | None,
        metadata: Mapping[str, object] | None,
    ) -> Draft:
        # On a thread: following a long script takes longer than others should wait.
        return await asyncio.to_thread(
            check_draft,
            name=name,
            description=description,
            type=type,
            definition=definition,
            parameters=parameters,
            metadata=metadata,
        )

    async def _request(self, draft: Draft, origin: SkillOrigin) -> SaveRequest:
        text = searched_text(draft.name, draft.description)
        vector = None
        if self.embeddings is None:
            vector = await self._vector(text, "document", "skill_create")
        return SaveRequest(
            tenant=self.tenant,
            draft=draft,
            status=SkillStatus.ACTIVE if self.settings.auto_approve else SkillStatus.DRAFT,
            requires_approval=not self.settings.auto_approve,
            created_by=self.actor,
            origin=origin,
            now=self.clock.now(),
            indexable=indexable(text, vector),
            model_id=self.embedder.model_id if self.embedder is not None and vector is not None else None,
        )

    async def _create(self, draft: Draft, origin: SkillOrigin) -> Skill:
        request = await self._request(draft, origin)
        slot, most = self._slot(), self.settings.max_per_day
        try:
            row, stored = await self.database.write(lambda link: insert_skill(link, request, slot, most=most))
        except RateLimitedError as error:
            await self._record("skill_create", draft.name, {"refused": error.code, **error.details})
            raise
        self._queue(row, stored)
        details = {"type": stored.type.value, "status": stored.status.value, "origin": stored.origin.value}
        await self._record("skill_create", stored.name, details)
        return stored

    async def _import(self, text: str) -> Skill:
        document = await asyncio.to_thread(parse_document, text)
        draft = await self._checked(
            document.name,
            document.description,
            document.type,
            document.definition,
            document.parameters,
            document.metadata,
        )
        return await self._create(draft, SkillOrigin.IMPORT)

    async def _decide(self, name: str, status: SkillStatus, by: str | None, version: int | None, action: str) -> Skill:
        decider = check_name("by", self.actor if by is None else by)
        old = await self._get(name)
        if status is SkillStatus.ACTIVE and old.type is SkillType.SCRIPT:
            await asyncio.to_thread(require_harmless, str(old.definition["script"]))
            version = old.version if version is None else version  # what was checked is what is approved
        decided = await self.database.write(
            lambda link: decide_skill(link, self.tenant, old.name, status, decider, version)
        )
        if decided is None:
            raise not_found(name)
        await self._record(action, decided.name, {"version": decided.version, "by": decider})
        return decided

    async def _run(self, skill: Skill, arguments: Mapping[str, object]) -> SkillRun:
        started = self.clock.monotonic()
        success = False
        outcome = "cancelled"
        try:
            result = await self.runner.run(skill, arguments)
            success, outcome = True, "ok"
        except LaminaError as error:
            outcome = error.code
            raise
        finally:
            # Also a run that was cancelled is counted and leaves its row.
            with anyio.CancelScope(shield=True):
                await self._note_run(skill, success, outcome, self.clock.monotonic() - started)
        return result

    async def _note_run(self, skill: Skill, success: bool, outcome: str, seconds: float) -> None:
        try:
            await self._count(skill.name, success=success)
        except LaminaError as error:  # what the run gave is not lost because counting it failed
            self.metrics.operation_failed("skill_record_use", error.code)
            _log.warning("a run of the skill %s was not counted (%s)", skill.name, error.code)
        details = {"version": skill.version, "type": skill.type.value, "outcome": outcome, "seconds": round(seconds, 3)}
        await self._record("skill_execute", skill.name, details)

    async def _count(self, name: str, *, success: bool) -> bool:
        now = self.clock.now()
        return await self.database.write(lambda link: count_run(link, self.tenant, name, success=success, now=now))

    def _queue(self, row: int, skill: Skill) -> None:
        if self.embeddings is not None:
            text = searched_text(skill.name, skill.description)
            self.embeddings.submit(EmbeddingJob(scope_key=skill_scope(self.tenant), entry=row, text=text))

    async def _vector(self, text: str, purpose: Purpose, operation: str) -> Vector | None:
        if self.embedder is None:
            return None
        try:
            return await self.embedder.embed(text, tenant=self.tenant, purpose=purpose)
        except LaminaError as error:  # words find most of it, and a back-fill finds what has no vector
            self.metrics.operation_failed(operation, error.code)
            return None

    async def _record(self, action: str, target: str, details: Mapping[str, object]) -> None:
        await self.audit.record(
            tenant=self.tenant,
            action=action,
            actor=self.actor,
            target=target,
            details=details,
            session_key=self.session(),
        )

    def _slot(self) -> Slot:
        return Slot(tenant=self.tenant, name=CREATE_LIMIT, period=self.clock.now().date().isoformat())

    def _known(self, name: str) -> str:
        self._require_enabled()
        return check_skill_name(name)

    def _require_enabled(self) -> None:
        if not self.enabled:
            raise ConfigurationError(
                "Skills are switched off with knowledge: set `knowledge.enabled = true` in lamina.toml, "
                "LAMINA_KNOWLEDGE__ENABLED=true in the environment, or open with knowledge={'enabled': True}.",
                details={"setting": "knowledge.enabled", "next": "Switch it on, then run the command again."},
            )

    @contextmanager
    def _verb(self, operation: str) -> Iterator[None]:
        """Measure a verb, and name it in the errors that leave it."""
        with self.metrics.measure(operation):
            try:
                yield
            except LaminaError as error:
                error.operation = error.operation or operation
                raise


def not_found(name: str) -> SkillNotFoundError:
    """There is no skill of this name."""
    return SkillNotFoundError(f"There is no skill named {name[:80]}.", details={"name": name[:80]})
