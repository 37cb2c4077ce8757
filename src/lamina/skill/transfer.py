"""Skills with all their versions, for an export and from an import.

Whether a skill was approved travels with it: an import takes the right that approving takes. But scripts are checked
anew, and one that the check refuses comes in switched off, so that nothing is lost and nothing of it runs.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.schema import dump_json, load_json
from lamina.errors import ScriptRefusedError
from lamina.index.late import put_terms
from lamina.index.store import touch
from lamina.kernel.checks import refuse
from lamina.skill.define import LARGEST_DEFINITION, LARGEST_METADATA, LONGEST_DESCRIPTION, check_draft, check_skill_name
from lamina.skill.rows import searched_text, skill_scope
from lamina.skill.store import INSERT, KEEP_VERSION, delete_skill
from lamina.skill.tables import skill, skill_version
from lamina.skill.types import SkillOrigin, SkillStatus, SkillType
from lamina.transfer.fields import (
    Field,
    Shape,
    choice,
    each,
    flag,
    hidden,
    json_object,
    moment,
    name,
    optional,
    text,
    whole,
)
from lamina.transfer.port import Batch, Carried, Cursor, Outcome, Record
from lamina.transfer.rows import count_rows, insert_one, page, present_keys

_VERSIONS = 2**31 - 1
_WHAT = {
    "description": hidden(text(longest=LONGEST_DESCRIPTION)),
    "type": choice(SkillType),
    "definition": json_object(max_size=LARGEST_DEFINITION),
    "parameters": json_object(max_size=LARGEST_DEFINITION),
    "metadata": json_object(max_size=LARGEST_METADATA),
    "version": whole(least=1, most=_VERSIONS),
    "created_by": name(),
}
_SKILL = Shape(
    "skill",
    name=Field(lambda _, given: check_skill_name(given)),
    **_WHAT,
    status=choice(SkillStatus),
    requires_approval=flag(),
    decided_by=optional(name()),
    origin=choice(SkillOrigin),
    use_count=whole(),
    success_count=whole(),
    created_at=moment(),
    updated_at=moment(),
    last_used_at=optional(moment()),
)
_VERSION = Shape("versions", **_WHAT, saved_at=moment())


class SkillCarrier:
    """Skills; a name that is there stays, or goes with all its versions."""

    kind = "skill"

    def count(self, link: Link, tenant: str) -> int:
        """How many skills there are."""
        return count_rows(link, skill, tenant)

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """Skills in the order in which they were made, each with its versions, oldest first."""
        columns = skill_version.c
        found = page(link, skill, tenant, _SKILL.names, after, limit)
        rows = link.execute(
            sa.select(columns.skill_row, *(columns[name] for name in _VERSION.names))
            .where(columns.tenant == tenant, columns.skill_row.in_([row for row, _ in found]))
            .order_by(columns.skill_row, columns.version)
        )
        versions: dict[int, list[Record]] = {}
        for row in rows:
            versions.setdefault(row[0], []).append(_VERSION.record(row[1:]))
        return [(row, {**_SKILL.record(values), "versions": versions.get(row, [])}) for row, values in found]

    def parse(self, given: object) -> Carried:
        """A skill with its versions; what it does now is checked as if somebody made it."""
        values = _SKILL.values(given, further=("versions",))
        assert isinstance(given, dict)
        versions = [_VERSION.values(one) for one in each(given, "versions", least=1)]
        numbers = [one["version"] for one in versions]
        if numbers != sorted(set(numbers)) or numbers[-1] != values["version"]:
            refuse("The versions must rise, up to the skill's own.", None, field="versions")
        if any(_said(versions[-1], name) != _said(values, name) for name in ("type", "definition", "parameters")):
            refuse("The last version must be what the skill does now.", None, field="versions")
        checked = {**values, **_checked(values)}
        return Carried(
            key=values["name"],
            values=checked,
            parts=versions,
            text=searched_text(values["name"], checked["description"]),
        )

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Store skills with their versions."""
        tenant = batch.tenant
        present = present_keys(link, skill.c.name, batch)
        chosen = batch.chosen(present)
        for key in sorted(present) if batch.on_conflict == "replace" else ():
            delete_skill(link, tenant, key)
        if chosen:
            place = touch(link, skill_scope(tenant), added=len(chosen))
            common = {"tenant": tenant, "scope_id": place.scope_id, "indexed": place.version}
            rows = [insert_one(link, INSERT[link.name], item, common) for item in chosen]
            pairs = list(zip(rows, chosen, strict=True))
            terms = [(row, item.indexed) for row, item in pairs]
            put_terms(link, place, tenant=tenant, rows=terms, model_id=batch.model_id)
            kept = [{**one, "tenant": tenant, "skill_row": row} for row, item in pairs for one in item.parts]
            link.run_many(KEEP_VERSION, kept)
        return batch.outcome(chosen, present)


def _said(values: Mapping[str, Any], name: str) -> object:
    return values[name] if name == "type" else load_json(values[name])


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """What the check changes of a skill: hidden secrets, and the status of a script that it refuses."""
    definition, parameters, metadata = (load_json(values[name]) for name in ("definition", "parameters", "metadata"))
    try:
        draft = check_draft(
            name=values["name"],
            description=values["description"],
            type=values["type"],
            definition=definition,
            parameters=parameters,  # type: ignore[arg-type]
            metadata=metadata,  # type: ignore[arg-type]
        )
    except ScriptRefusedError:
        return {"status": SkillStatus.DISABLED.value}
    return {"description": draft.description, "metadata": dump_json(dict(draft.metadata))}
