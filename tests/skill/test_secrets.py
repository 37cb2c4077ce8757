"""A skill never holds a secret: it is refused with its place, and nothing is kept."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import sqlalchemy as sa

from lamina.app import App
from lamina.database.link import Link
from lamina.errors import InvalidInputError, ScriptRefusedError
from lamina.kernel.clock import ManualClock
from lamina.skill.service import SkillService
from tests.skill.opening import skilled_app

pytestmark = pytest.mark.anyio

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
SCRIPT = f"set -eu\necho start\ncurl -H 'Authorization: token {SECRET}' https://api.example.org/x"


async def everything_stored(app: App) -> str:
    """The contents of the tables of skills and of the audit log."""

    def look(link: Link) -> str:
        tables = ("skill", "skill_version", "audit_log")
        return str([row for table in tables for row in link.execute(sa.text(f"SELECT * FROM {table}"))])

    return await app.parts.database.read(look)


async def test_a_script_with_a_secret_is_refused_and_the_line_is_named(store_url: str, clock: ManualClock) -> None:
    async with skilled_app(store_url, clock=clock) as app:
        with pytest.raises(ScriptRefusedError, match="line 3 holds a secret; take it as a parameter") as refused:
            await app.skills.create("push", description="Pushes", type="script", definition={"script": SCRIPT})
        assert refused.value.details["line"] == 3
        assert SECRET not in str(refused.value.to_dict())
        assert (await app.skills.list()).total_count == 0
        assert SECRET not in await everything_stored(app)


async def test_the_same_holds_for_a_new_version(skills: SkillService) -> None:
    await skills.create("push", description="Pushes", type="script", definition={"script": "echo hello"})
    with pytest.raises(ScriptRefusedError, match="line 3"):
        await skills.update("push", definition={"script": SCRIPT})
    assert (await skills.get("push")).version == 1


@pytest.mark.parametrize(
    ("type", "definition", "parameters", "words"),
    [
        ("template", {"template": f"Hello\nuse {SECRET}"}, None, "template holds a secret in line 2"),
        (
            "composite",
            {"steps": [{"tool": "a", "params": {}}, {"tool": "b", "params": {"auth": {"password": "hunter2"}}}]},
            None,
            r"Step 2 holds a secret in params\.auth\.password",
        ),
        (
            "template",
            {"template": "Hello {{ who }}"},
            {"type": "object", "properties": {"who": {"type": "string", "default": SECRET}}},
            r"parameters hold a secret in properties\.who\.default",
        ),
    ],
)
async def test_templates_steps_and_parameters_hold_none_either(
    skills: SkillService,
    type: str,
    definition: Mapping[str, object],
    parameters: Mapping[str, object] | None,
    words: str,
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        await skills.create("x", description="X", type=type, definition=definition, parameters=parameters)
    assert (await skills.list()).total_count == 0


async def test_metadata_and_description_keep_a_mark_in_its_place(skills: SkillService) -> None:
    kept = await skills.create(
        "greet",
        description=f"Greets with {SECRET}",
        type="template",
        definition={"template": "Hello"},
        metadata={"author": "ann@example.com", "note": f"made with {SECRET}"},
    )
    assert kept.description == "Greets with [redacted]"
    assert kept.metadata == {"author": "ann@example.com", "note": "made with [redacted]"}


async def test_references_and_variables_in_a_secrets_place_are_none(skills: SkillService) -> None:
    schema = {"type": "object", "properties": {"token": {"type": "string", "description": "The API token"}}}
    steps = {"steps": [{"tool": "call", "params": {"token": "{{ inputs.token }}", "url": "https://x"}}]}
    await skills.create("call", description="Calls", type="composite", definition=steps, parameters=schema)
    script = {"script": 'echo "Authorization: Bearer $TOKEN"'}
    await skills.create("say", description="Says", type="script", definition=script, parameters=schema)
    template = {"template": "Authorization: Bearer {{ token }}"}
    await skills.create("tell", description="Tells", type="template", definition=template, parameters=schema)
    assert (await skills.list()).total_count == 3


async def test_an_imported_script_with_a_secret_is_reported_and_stops_no_other(
    skills: SkillService, tmp_path: Path
) -> None:
    await skills.create("push", description="Pushes", type="script", definition={"script": "echo hello"})
    await skills.create("greet", description="Greets", type="template", definition={"template": "Hello"})
    for name in ("push", "greet"):
        await skills.export_folder(name, tmp_path)
        await skills.delete(name)
    page = tmp_path / "push" / "SKILL.md"
    page.write_text(page.read_text().replace("echo hello", f"echo {SECRET}"))
    report = await skills.import_folder(tmp_path)
    assert [skill.name for skill in report.created] == ["greet"]
    assert "holds a secret" in str(report)
    assert SECRET not in str(report)
