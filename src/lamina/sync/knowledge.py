"""Knowledge, references and the audit log without `await`."""

from lamina.knowledge.audit import AuditLog
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from lamina.sync.loop import Twin, blocking


class SyncKnowledge(Twin[KnowledgeService]):
    """`app.knowledge`, blocking."""

    save = blocking(KnowledgeService.save)
    get = blocking(KnowledgeService.get)
    history = blocking(KnowledgeService.history)
    delete = blocking(KnowledgeService.delete)
    list = blocking(KnowledgeService.list)
    search = blocking(KnowledgeService.search)
    used = blocking(KnowledgeService.used)
    boost = blocking(KnowledgeService.boost)
    decay = blocking(KnowledgeService.decay)
    saves_taken = blocking(KnowledgeService.saves_taken)
    reset_saves = blocking(KnowledgeService.reset_saves)

    def for_tenant(self, tenant: str) -> "SyncKnowledge":
        """The same knowledge for another tenant."""
        return SyncKnowledge(self._inner.for_tenant(tenant), self._loop)

    def acting_as(self, actor: str) -> "SyncKnowledge":
        """The same knowledge with another name in the audit log."""
        return SyncKnowledge(self._inner.acting_as(actor), self._loop)


class SyncReferences(Twin[ReferenceService]):
    """`app.references`, blocking."""

    save = blocking(ReferenceService.save)
    get = blocking(ReferenceService.get)
    delete = blocking(ReferenceService.delete)
    list = blocking(ReferenceService.list)
    search = blocking(ReferenceService.search)

    def for_tenant(self, tenant: str) -> "SyncReferences":
        """The same references for another tenant."""
        return SyncReferences(self._inner.for_tenant(tenant), self._loop)

    def acting_as(self, actor: str) -> "SyncReferences":
        """The same references with another name in the audit log."""
        return SyncReferences(self._inner.acting_as(actor), self._loop)


class SyncAudit(Twin[AuditLog]):
    """`app.audit`, blocking."""

    record = blocking(AuditLog.record)
    list = blocking(AuditLog.list)
