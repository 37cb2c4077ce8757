"""The verbs of skills: what agents, doors and other rooms call.

While `knowledge.enabled` is off, nothing is kept, found or run: listings and searches are empty, and what asks for one
skill or wants to change one is told how to switch it on.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lamina.database.slots import taken_slots
from lamina.embedding.cached import Vector
from lamina.errors import InvalidInputError, LaminaError, RateLimitedError, SkillNotActiveError
from lamina.index.query import prepare_query
from lamina.kernel.checks import check_choice, check_limit, check_query, check_share
from lamina.skill.composite import ToolSet
from lamina.skill.folder import find_folders, write_folder
from lamina.skill.keeping import SkillKeeper, not_found
from lamina.skill.store import (
    active_skills,
    change_skill,
    delete_skill,
    get_versions,
    list_skills,
    skill_hits,
    skill_search,
)
from lamina.skill.types import (
    ImportReport,
    Skill,
    SkillHit,
    SkillOrigin,
    SkillPage,
    SkillRun,
    SkillStatus,
    SkillTool,
    SkillType,
    SkillVersion,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillService(SkillKeeper):
    """The skills of one tenant."""

    @property
    def toolset(self) -> ToolSet:
        """The tools that composites may call; add yours here."""
        return self.runner.tools

    async def create(
        self,
        name: str,
        *,
        description: str,
        type: SkillType | str,
        definition: Mapping[str, object],
        parameters: Mapping[str, object] | None = None,
        metadata: Mapping[str, object] | None = None,
        origin: SkillOrigin | str = SkillOrigin.AGENT,
    ) -> Skill:
        """Keep a new skill, a draft until somebody approves it. Everything is checked, also the script.

        Raises InvalidInputError that names every problem, ScriptRefusedError, RateLimitedError that names the limit,
        ConfigurationError while knowledge is off.
        """
        with self._verb("skill_create"):
            self._require_enabled()
            said = check_choice("origin", origin, SkillOrigin)
            draft = await self._checked(name, description, type, definition, parameters, metadata)
            return await self._create(draft, said)

    async def update(
        self,
        name: str,
        *,
        description: str | None = None,
        definition: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
        origin: SkillOrigin | str = SkillOrigin.AGENT,
    ) -> Skill:
        """Make a further version of what is given; it waits for approval again. Uses no slot of the day.

        The same content makes no version. Raises SkillNotFoundError, and what `create` raises.
        """
        with self._verb("skill_update"):
            old = await self._get(name)
            said = check_choice("origin", origin, SkillOrigin)
            # A new template brings new variables; everything else keeps the parameters it had.
            if parameters is None and (definition is None or old.type is not SkillType.TEMPLATE):
                parameters = old.parameters
            draft = await self._checked(
                old.name,
                old.description if description is None else description,
                old.type,
                old.definition if definition is None else definition,
                parameters,
                old.metadata,
            )
            request = await self._request(draft, said)
            changed = await self.database.write(lambda link: change_skill(link, request))
            if changed is None:
                raise not_found(name)
        row, stored, differs = changed
        if differs:
            self._queue(row, stored)
            await self._record("skill_update", stored.name, {"version": stored.version, "status": stored.status.value})
        return stored

    async def get(self, name: str) -> Skill:
        """The latest version. Raises SkillNotFoundError."""
        with self._verb("skill_get"):
            return await self._get(name)

    async def history(self, name: str) -> tuple[SkillVersion, ...]:
        """Every version, newest first. Raises SkillNotFoundError."""
        with self._verb("skill_history"):
            known = self._known(name)
            versions = await self.database.read(lambda link: get_versions(link, self.tenant, known))
            if not versions:
                raise not_found(name)
            return versions

    async def list(
        self,
        *,
        status: SkillStatus | str | None = None,
        type: SkillType | str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SkillPage:
        """One page of skills, newest name first. Raises InvalidInputError, InvalidCursorError."""
        with self._verb("skill_list"):
            chosen = None if status is None else check_choice("status", status, SkillStatus)
            kind = None if type is None else check_choice("type", type, SkillType)
            size = check_limit(self.settings.list_limit if limit is None else limit, most=self.settings.max_limit)
            if not self.enabled:
                return SkillPage(skills=(), next_cursor=None, total_count=0)
            return await self.database.read(
                lambda link: list_skills(link, self.tenant, status=chosen, type=kind, limit=size, cursor=cursor)
            )

    async def search(
        self,
        query: str,
        *,
        status: SkillStatus | str | None = SkillStatus.ACTIVE,
        limit: int | None = None,
        threshold: float | None = None,
        vector: Vector | None = None,
    ) -> tuple[SkillHit, ...]:
        """Skills whose name and description fit the query, best first; of every status with None.

        Raises QueryTooLongError, InvalidInputError.
        """
        settings = self.settings
        with self._verb("skill_search"):
            text = check_query(query, longest=settings.max_query_length)
            chosen = None if status is None else check_choice("status", status, SkillStatus)
            size = check_limit(settings.search_limit if limit is None else limit, most=settings.max_limit)
            least = settings.search_threshold if threshold is None else check_share("threshold", threshold)
            if not self.enabled:
                return ()
            if vector is None:
                vector = await self._vector(text, "query", "skill_search")
            asked, now = prepare_query(text, vector), self.clock.now()
            search = skill_search(self.engine, self.tenant, asked, status=chosen, limit=size, threshold=least, now=now)
            found = await self.database.read(lambda link: self.engine.search(link, search, asked, now=now.timestamp()))
            return skill_hits(found)

    async def approve(self, name: str, *, by: str | None = None, version: int | None = None) -> Skill:
        """Let a skill run. With `version`, only if that is still the latest: what was looked at is what is approved.

        Raises SkillNotFoundError, InvalidInputError, and ScriptRefusedError for a script the check refuses by now.
        """
        with self._verb("skill_approve"):
            return await self._decide(name, SkillStatus.ACTIVE, by, version, "skill_approve")

    async def reject(self, name: str, *, by: str | None = None, version: int | None = None) -> Skill:
        """Never let a skill run, or not any more. Raises SkillNotFoundError, InvalidInputError."""
        with self._verb("skill_reject"):
            return await self._decide(name, SkillStatus.DISABLED, by, version, "skill_reject")

    async def run(self, name: str, arguments: Mapping[str, object] | None = None) -> SkillRun:
        """Run an active skill; use and success are counted, and the run leaves an audit row.

        Raises SkillNotFoundError, SkillNotActiveError, InvalidInputError for arguments that do not fit,
        ScriptRefusedError, ConfigurationError without a sandbox, and SkillFailedError that says what was done.
        """
        with self._verb("skill_execute"):
            skill = await self._get(name)
            try:
                if skill.status is not SkillStatus.ACTIVE:
                    raise _not_active(skill)
                prepared = await self.runner.prepare(skill, arguments)
            except LaminaError as error:
                await self._record("skill_execute", skill.name, {"version": skill.version, "denied": error.code})
                raise
            return await self._run(skill, prepared)

    async def record_use(self, name: str, *, success: bool) -> None:
        """Count a use that somebody else made of a skill. Raises SkillNotFoundError."""
        with self._verb("skill_record_use"):
            known = self._known(name)
            if not await self._count(known, success=success):
                raise not_found(name)

    async def delete(self, name: str) -> None:
        """Forget a skill with all its versions and index rows. Raises SkillNotFoundError."""
        with self._verb("skill_delete"):
            known = self._known(name)
            if not await self.database.write(lambda link: delete_skill(link, self.tenant, known)):
                raise not_found(name)
        await self._record("skill_delete", known, {})

    async def tools(self) -> tuple[SkillTool, ...]:
        """Every active skill as a tool named `skill_<name>`; none while knowledge is off."""
        if not self.enabled:
            return ()
        skills = await self.database.read(lambda link: active_skills(link, self.tenant))
        return tuple(map(self._tool, skills))

    def _tool(self, skill: Skill) -> SkillTool:
        async def call(**arguments: object) -> object:
            return (await self.run(skill.name, arguments)).output

        return SkillTool(name=skill.tool_name, description=skill.description, parameters=skill.parameters, call=call)

    async def import_folder(self, path: Path | str) -> ImportReport:
        """Create a skill from each SKILL.md in a folder, or in the folders in it; names that exist are skipped.

        Imported skills are checked and wait for approval like created ones. One that fails does not stop the others;
        the report says why. Raises InvalidInputError for a folder without skills.
        """
        with self._verb("skill_import"):
            self._require_enabled()
            folder = Path(path)
            found = await asyncio.to_thread(find_folders, folder, most=self.settings.max_import)
            created: list[Skill] = []
            skipped: list[str] = []
            failed: dict[str, str] = {one.folder: one.problem for one in found if one.problem is not None}
            for one in found:
                if one.problem is not None:
                    continue
                try:
                    created.append(await self._import(one.text))
                except InvalidInputError as error:
                    if error.details.get("taken"):
                        skipped.append(one.folder)
                    else:
                        failed[one.folder] = error.message
                except RateLimitedError as error:
                    failed[one.folder] = error.message
        left_out = tuple(name for one in found for name in one.left_out)
        details = {"created": [one.name for one in created], "skipped": skipped, "failed": failed}
        await self._record("skill_import", folder.name, details)
        return ImportReport(created=tuple(created), skipped=tuple(skipped), failed=failed, left_out=left_out)

    async def export_folder(self, name: str, path: Path | str, *, overwrite: bool = False) -> Path:
        """Write a skill's SKILL.md into a folder of its own below `path` and return the file.

        Raises SkillNotFoundError, InvalidInputError when it cannot be written or is there already.
        """
        with self._verb("skill_export"):
            skill = await self._get(name)
            written = await asyncio.to_thread(write_folder, Path(path), skill, overwrite=overwrite)
        await self._record("skill_export", skill.name, {"version": skill.version})
        return written

    async def created_today(self) -> int:
        """How many of today's slots for new skills are taken."""
        return await self.database.read(lambda link: taken_slots(link, self._slot()))


def _not_active(skill: Skill) -> SkillNotActiveError:
    waits = skill.status is SkillStatus.DRAFT
    return SkillNotActiveError(
        f"The skill {skill.name} {'waits for approval' if waits else 'is disabled'}; approve it before it runs.",
        details={"name": skill.name, "status": skill.status.value, "next": f"lamina skill approve {skill.name}"},
    )
