"""How skills look in a terminal."""

import json
from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from lamina.cli.output import plain
from lamina.cli.tables import moment
from lamina.skill.types import Skill, SkillHit, SkillStatus, SkillType, SkillVersion

_STYLES = {SkillStatus.ACTIVE: "green", SkillStatus.DRAFT: "yellow", SkillStatus.DISABLED: "red"}


def _table(*columns: str) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _status(skill: Skill) -> Text:
    return Text(skill.status.value, style=_STYLES[skill.status])


def skills_table(skills: Iterable[Skill]) -> Table:
    """Skills, one a row."""
    table = _table("Name", "Type", "Status", "Description", "Version", "Used", "Confidence")
    for one in skills:
        used = f"{one.success_count}/{one.use_count}"
        cells = (plain(one.name, "bold"), Text(one.type.value, style="cyan"), _status(one), plain(one.description))
        table.add_row(*cells, str(one.version), used, f"{one.confidence:.2f}")
    return table


def skill_hits_table(hits: Iterable[SkillHit]) -> Table:
    """Skills that were found, best first."""
    table = _table("Score", "Name", "Type", "Description")
    for hit in hits:
        kind = Text(hit.skill.type.value, style="cyan")
        table.add_row(f"{hit.score:.2f}", plain(hit.skill.name, "bold"), kind, plain(hit.skill.description))
    return table


def skill_fields(skill: Skill, versions: Sequence[SkillVersion] = ()) -> Table:
    """Everything about one skill."""
    table = Table(box=box.ROUNDED, border_style="dim", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    content = skill.definition.get(skill.type.value)
    if skill.type is SkillType.COMPOSITE:
        content = json.dumps(skill.definition["steps"], indent=2, ensure_ascii=False)
    rows = {
        "name": plain(skill.name),
        "description": plain(skill.description),
        "type": Text(skill.type.value, style="cyan"),
        "status": _status(skill),
        "version": Text(str(skill.version)),
        skill.type.value: plain(str(content)),
        "parameters": plain(json.dumps(skill.parameters, ensure_ascii=False)),
        "created": plain(f"{moment(skill.created_at)} by {skill.created_by} ({skill.origin.value})"),
        "decided by": plain(skill.decided_by or ""),
        "used": Text(f"{skill.use_count} times, {skill.success_count} with success, confidence {skill.confidence:.2f}"),
    }
    for version in versions:
        rows[f"version {version.version}"] = plain(f"{moment(version.saved_at)} by {version.created_by}")
    for name, value in rows.items():
        if value.plain:
            table.add_row(name, value)
    return table
