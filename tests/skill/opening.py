"""Opens apps with skills switched on, and builds skills that do something small."""

from typing import Any

import sqlalchemy as sa

from lamina.app import App
from lamina.config import Settings
from lamina.database.link import Link
from lamina.database.settings import DatabaseSettings
from lamina.kernel.clock import Clock
from lamina.knowledge.settings import KnowledgeSettings
from lamina.skill.service import SkillService
from lamina.skill.settings import SkillSettings
from lamina.skill.types import Skill
from tests.stores import static_embedder


def skilled_app(url: str, *, clock: Clock | None = None, enabled: bool = True, **settings: Any) -> App:
    """An app that reads neither files nor the environment; `settings` are those of skills."""
    chosen = Settings(
        database=DatabaseSettings(url=url),
        knowledge=KnowledgeSettings(enabled=enabled),
        skill=SkillSettings(**settings),
    )
    return App(chosen, embedder=static_embedder(), clock=clock, environ={})


async def make_script(skills: SkillService, name: str, script: str, **parameters: object) -> Skill:
    """An approved script."""
    schema = {"type": "object", "properties": parameters, "required": list(parameters)} if parameters else None
    await skills.create(
        name, description=f"Runs {name}", type="script", definition={"script": script}, parameters=schema
    )
    return await skills.approve(name)


async def make_template(skills: SkillService, name: str = "greet", template: str = "Hello {{ who }}") -> Skill:
    """An approved template."""
    await skills.create(name, description=f"Says {name}", type="template", definition={"template": template})
    return await skills.approve(name)


async def loose_ends(app: App) -> dict[str, int]:
    """What no failure and no race may leave: rows of skills, versions and the index that do not fit together."""
    checks = {
        "skills without index row": """
            SELECT count(*) FROM skill s LEFT JOIN index_entry e
            ON e.scope_id = s.scope_id AND e.version = s.indexed AND e.entry = s.row WHERE e.entry IS NULL""",
        "index rows without skill": """
            SELECT count(*) FROM index_entry e JOIN scope o ON o.id = e.scope_id AND o.kind = 'skill'
            LEFT JOIN skill s ON s.row = e.entry AND s.indexed = e.version
            WHERE s.row IS NULL AND e.terms IS NOT NULL""",
        "vectors without skill": """
            SELECT count(*) FROM index_vector v JOIN scope o ON o.id = v.scope_id AND o.kind = 'skill'
            LEFT JOIN skill s ON s.row = v.entry WHERE s.row IS NULL""",
        "skills whose versions have gaps": """
            SELECT count(*) FROM skill s
            WHERE s.version <> (SELECT count(*) FROM skill_version v WHERE v.skill_row = s.row)""",
        "versions without skill": """
            SELECT count(*) FROM skill_version v LEFT JOIN skill s ON s.row = v.skill_row WHERE s.row IS NULL""",
        "scopes that miscount": """
            SELECT count(*) FROM scope o WHERE o.kind = 'skill'
            AND o.entries <> (SELECT count(*) FROM skill s WHERE s.scope_id = o.id)""",
    }

    def look(link: Link) -> dict[str, int]:
        return {name: int(link.execute(sa.text(query)).scalar_one()) for name, query in checks.items()}

    return {name: count for name, count in (await app.parts.database.read(look)).items() if count}
