"""Skills as plain JSON objects, for doors. Not for storage: rows have their own form."""

from lamina.kernel.text import moment_text
from lamina.skill.types import ImportReport, Skill, SkillHit, SkillRun, SkillTool, SkillVersion

Record = dict[str, object]


def skill_record(skill: Skill) -> Record:
    """Every field of a skill; moments in UTC."""
    return {
        "name": skill.name,
        "description": skill.description,
        "type": skill.type.value,
        "definition": dict(skill.definition),
        "parameters": dict(skill.parameters),
        "metadata": dict(skill.metadata),
        "version": skill.version,
        "status": skill.status.value,
        "requires_approval": skill.requires_approval,
        "created_by": skill.created_by,
        "decided_by": skill.decided_by,
        "origin": skill.origin.value,
        "use_count": skill.use_count,
        "success_count": skill.success_count,
        "confidence": skill.confidence,
        "created_at": moment_text(skill.created_at),
        "updated_at": moment_text(skill.updated_at),
        "last_used_at": None if skill.last_used_at is None else moment_text(skill.last_used_at),
    }


def version_record(version: SkillVersion) -> Record:
    """One version of a skill."""
    return {
        "version": version.version,
        "description": version.description,
        "type": version.type.value,
        "definition": dict(version.definition),
        "parameters": dict(version.parameters),
        "created_by": version.created_by,
        "saved_at": moment_text(version.saved_at),
    }


def hit_record(hit: SkillHit) -> Record:
    """A skill that was found."""
    return {"skill": skill_record(hit.skill), "score": hit.score, "signals": dict(hit.signals)}


def run_record(run: SkillRun) -> Record:
    """What a run gave; what JSON cannot hold is shown as text."""
    steps = [{"step": one.step, "tool": one.tool, "result": one.result} for one in run.steps]
    return {"name": run.name, "version": run.version, "type": run.type.value, "output": run.output, "steps": steps}


def tool_record(tool: SkillTool) -> Record:
    """What a model is told about a tool."""
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def import_record(report: ImportReport) -> Record:
    """What an import did."""
    return {
        "created": [skill.name for skill in report.created],
        "skipped": list(report.skipped),
        "failed": dict(report.failed),
        "left_out": list(report.left_out),
    }
