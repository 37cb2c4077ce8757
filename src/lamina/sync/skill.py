"""Skills without `await`."""

from lamina.skill.service import SkillService
from lamina.sync.loop import Twin, blocking


class SyncSkills(Twin[SkillService]):
    """`app.skills`, blocking."""

    create = blocking(SkillService.create)
    update = blocking(SkillService.update)
    get = blocking(SkillService.get)
    history = blocking(SkillService.history)
    list = blocking(SkillService.list)
    search = blocking(SkillService.search)
    approve = blocking(SkillService.approve)
    reject = blocking(SkillService.reject)
    run = blocking(SkillService.run)
    record_use = blocking(SkillService.record_use)
    delete = blocking(SkillService.delete)
    tools = blocking(SkillService.tools)
    import_folder = blocking(SkillService.import_folder)
    export_folder = blocking(SkillService.export_folder)
    created_today = blocking(SkillService.created_today)

    def for_tenant(self, tenant: str) -> "SyncSkills":
        """The same skills for another tenant."""
        return SyncSkills(self._inner.for_tenant(tenant), self._loop)

    def acting_as(self, actor: str) -> "SyncSkills":
        """The same skills with another name in the audit log."""
        return SyncSkills(self._inner.acting_as(actor), self._loop)
