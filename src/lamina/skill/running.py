"""Run one approved skill: put the parameters in, hold it to its limits, and say what came of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import anyio
import anyio.to_thread

from lamina.errors import SkillFailedError
from lamina.kernel.clock import Clock
from lamina.kernel.redact import redact
from lamina.skill import sandbox, template
from lamina.skill.composite import ToolSet, check_steps, run_steps
from lamina.skill.define import require_harmless
from lamina.skill.sandbox import Sandbox, ScriptRequest
from lamina.skill.schema import check_arguments, parameter_names
from lamina.skill.settings import SkillSettings
from lamina.skill.types import Skill, SkillRun, SkillType, StepDone

_LONGEST_ERROR = 2_000
_MEGABYTE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRunner:
    """Runs skills of every type."""

    sandbox: Sandbox
    tools: ToolSet
    settings: SkillSettings
    clock: Clock

    async def prepare(self, skill: Skill, arguments: Mapping[str, object] | None) -> dict[str, object]:
        """The arguments with defaults, checked, for a skill that may run here and now.

        Raises InvalidInputError for arguments that do not fit, ScriptRefusedError for a script that the check refuses
        today, ConfigurationError where nothing can hold a script.
        """
        checked = check_arguments(skill.parameters, arguments)
        if skill.type is SkillType.SCRIPT:
            await anyio.to_thread.run_sync(require_harmless, str(skill.definition["script"]))
            await self.sandbox.require()
        return checked

    async def run(self, skill: Skill, arguments: Mapping[str, object]) -> SkillRun:
        """Run with prepared arguments. Raises SkillFailedError."""
        output: object
        steps: tuple[StepDone, ...] = ()
        if skill.type is SkillType.COMPOSITE:
            steps = await self._composite(skill, arguments)
            output = steps[-1].result
        elif skill.type is SkillType.SCRIPT:
            output = await self._script(skill, arguments)
        else:
            output = await self._template(skill, arguments)
        return SkillRun(name=skill.name, version=skill.version, type=skill.type, output=output, steps=steps)

    async def _composite(self, skill: Skill, arguments: Mapping[str, object]) -> tuple[StepDone, ...]:
        steps = check_steps(skill.definition["steps"], parameter_names(skill.parameters))
        with anyio.move_on_after(self.settings.timeout_s):
            return await run_steps(steps, arguments, self.tools.call)
        raise _stopped("timeout_s", self.settings.timeout_s)

    async def _script(self, skill: Skill, arguments: Mapping[str, object]) -> str:
        settings = self.settings
        request = ScriptRequest(
            script=str(skill.definition["script"]),
            variables={f"SKILL_{name.upper()}": _as_text(value) for name, value in arguments.items()},
            limits=sandbox.Limits(
                seconds=settings.timeout_s,
                memory_bytes=settings.memory_mb * _MEGABYTE,
                work_bytes=settings.work_mb * _MEGABYTE,
                processes=settings.max_processes,
                output_bytes=settings.max_output_bytes,
            ),
        )
        result = await self.sandbox.run(request)
        if result.reached is not None:
            raise _stopped(result.reached, getattr(settings, result.reached))
        if result.status != 0:
            said = redact(result.stderr.strip())[-_LONGEST_ERROR:]
            raise SkillFailedError(
                f"The script ended with status {result.status}{': ' + said if said else '.'}",
                details={"status": result.status, "stderr": said},
            )
        return result.stdout

    async def _template(self, skill: Skill, arguments: Mapping[str, object]) -> str:
        settings = self.settings
        limits = template.Limits(seconds=settings.template_timeout_s, output_bytes=settings.max_output_bytes)
        text = str(skill.definition["template"])
        return await anyio.to_thread.run_sync(
            lambda: template.render_template(text, arguments, limits=limits, clock=self.clock)
        )


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _stopped(limit: str, value: object) -> SkillFailedError:
    return SkillFailedError(
        f"The skill was stopped: it reached skill.{limit} = {value}.", details={"limit": f"skill.{limit}"}
    )
