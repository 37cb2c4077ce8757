"""Between the nouns of skills and their rows, and the texts of skills for late vectors."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.schema import dump_json, from_micros, load_json, to_micros
from lamina.embedding.reembed import PendingText
from lamina.index.late import HeldEntry
from lamina.index.store import ScopeKey
from lamina.index.tables import index_vector
from lamina.skill.tables import skill, skill_version
from lamina.skill.types import Skill, SkillOrigin, SkillStatus, SkillType, SkillVersion

_FIELDS = (
    "row", "indexed", "name", "description", "type", "definition", "parameters", "metadata", "version", "status",
    "requires_approval", "created_by", "decided_by", "origin", "use_count", "success_count", "created_at",
    "updated_at", "last_used_at",
)  # fmt: skip
COLUMNS: tuple[sa.Column[Any], ...] = tuple(skill.c[name] for name in _FIELDS)
"""In the order `skill_from_row` reads them; the row's number and its place in the index come first."""
NAME, DESCRIPTION, TYPE, STATUS, ORIGIN = map(_FIELDS.index, ("name", "description", "type", "status", "origin"))
VERSION_FIELDS = ("version", "description", "type", "definition", "parameters", "metadata", "created_by", "saved_at")
VERSION_COLUMNS: tuple[sa.Column[Any], ...] = tuple(skill_version.c[name] for name in VERSION_FIELDS)


def skill_scope(tenant: str) -> ScopeKey:
    """A tenant's skills are one scope."""
    return ScopeKey(tenant=tenant, kind="skill", key="all", label="skill")


def searched_text(name: str, description: str) -> str:
    """What terms and vectors are made from: the name, the words in it, and the description."""
    words = " ".join(part for part in re.split(r"[-_]+|(?<=[a-z0-9])(?=[A-Z])", name) if part)
    return f"{name}\n{words}\n{description}" if words != name else f"{name}\n{description}"


def skill_from_row(row: Any) -> Skill:
    """A skill from a row of `COLUMNS`."""
    return Skill(
        name=row[2],
        description=row[3],
        type=SkillType(row[4]),
        definition=_object(row[5]),
        parameters=_object(row[6]),
        metadata=_object(row[7]),
        version=row[8],
        status=SkillStatus(row[9]),
        requires_approval=bool(row[10]),
        created_by=row[11],
        decided_by=row[12],
        origin=SkillOrigin(row[13]),
        use_count=row[14],
        success_count=row[15],
        created_at=from_micros(row[16]),
        updated_at=from_micros(row[17]),
        last_used_at=None if row[18] is None else from_micros(row[18]),
    )


def skill_values(tenant: str, one: Skill) -> dict[str, Any]:
    """The stored form of a skill, without its place in the index."""
    return {
        "tenant": tenant,
        "name": one.name,
        "description": one.description,
        "type": one.type.value,
        "definition": dump_json(dict(one.definition)),
        "parameters": dump_json(dict(one.parameters)),
        "metadata": dump_json(dict(one.metadata)),
        "version": one.version,
        "status": one.status.value,
        "requires_approval": one.requires_approval,
        "created_by": one.created_by,
        "decided_by": one.decided_by,
        "origin": one.origin.value,
        "use_count": one.use_count,
        "success_count": one.success_count,
        "created_at": to_micros(one.created_at),
        "updated_at": to_micros(one.updated_at),
        "last_used_at": None if one.last_used_at is None else to_micros(one.last_used_at),
    }


def version_from_row(row: Any) -> SkillVersion:
    """A version from a row of `VERSION_COLUMNS`."""
    return SkillVersion(
        version=row[0],
        description=row[1],
        type=SkillType(row[2]),
        definition=_object(row[3]),
        parameters=_object(row[4]),
        metadata=_object(row[5]),
        created_by=row[6],
        saved_at=from_micros(row[7]),
    )


def _object(value: object) -> Mapping[str, object]:
    return cast(Mapping[str, object], load_json(value))


class SkillTexts:
    """Skills as a `TextSource` and a `LateOwner`."""

    def count(self, link: Link) -> int:
        """How many skills there are, over all tenants."""
        return int(link.execute(sa.select(sa.func.count()).select_from(skill)).scalar_one())

    def pending(self, link: Link, model_id: int, *, after: int, limit: int, hold: bool = False) -> list[PendingText]:
        """Skills above row `after` without a vector of the model; `hold` locks them against changes."""
        vectors = sa.select(index_vector.c.entry).where(
            index_vector.c.model_id == model_id,
            index_vector.c.scope_id == skill.c.scope_id,
            index_vector.c.entry == skill.c.row,
        )
        statement = (
            sa.select(skill.c.row, skill.c.scope_id, skill.c.tenant, skill.c.name, skill.c.description)
            .where(skill.c.row > after, ~vectors.exists())
            .order_by(skill.c.row)
            .limit(limit)
        )
        if hold and link.name == "postgresql":
            statement = statement.with_for_update(of=skill, read=True)
        return [
            PendingText(entry=row[0], scope_id=row[1], tenant=row[2], text=searched_text(row[3], row[4]))
            for row in link.execute(statement)
        ]

    def hold(self, link: Link, tenant: str, entries: Sequence[int]) -> list[HeldEntry]:
        """Those of the skills that exist, locked until the commit, ascending."""
        statement = (
            sa.select(skill.c.row, skill.c.indexed, skill.c.name, skill.c.description)
            .where(skill.c.tenant == tenant, skill.c.row.in_(entries))
            .order_by(skill.c.row)
        )
        if link.name == "postgresql":
            statement = statement.with_for_update()
        return [
            HeldEntry(entry=row[0], key=skill_scope(tenant), indexed=row[1], text=searched_text(row[2], row[3]))
            for row in link.execute(statement)
        ]

    def moved(self, link: Link, tenant: str, entries: Sequence[int], version: int) -> None:
        """Note where the skills' index rows are now."""
        changed = sa.update(skill).where(skill.c.tenant == tenant, skill.c.row.in_(entries))
        link.execute(changed.values(indexed=version))
