"""Skills are created, approved, changed, found, run, counted and removed."""

import pytest

from lamina.app import App
from lamina.errors import (
    ConfigurationError,
    InvalidInputError,
    ScriptRefusedError,
    SkillFailedError,
    SkillNotActiveError,
    SkillNotFoundError,
)
from lamina.kernel.clock import ManualClock
from lamina.skill.service import SkillService
from lamina.skill.types import SkillStatus, SkillType
from tests.skill.opening import loose_ends, make_script, make_template, skilled_app

pytestmark = pytest.mark.anyio

TEMPLATE = {"template": "Hello {{ who }}"}
HOSTILE_NAMES = [
    "../../x",
    "a/b",
    "/etc/passwd",
    "..",
    ".",
    ".hidden",
    "a\\b",
    "",
    " ",
    "a b",
    "a\x00b",
    "a\nb",
    "é",
    "a" * 59,
]
HOSTILE_NAMES += ["-rf", "_x", "a.md", "C:", "~", "$HOME", "a%2fb", "skill\u202e", "a'b", 'a"b', "a;b"]


@pytest.mark.requirement("knowledge.skill.create")
async def test_a_created_skill_is_a_draft_and_becomes_a_tool_when_approved(skills: SkillService) -> None:
    draft = await skills.create("greet", description="Greets", type="template", definition=TEMPLATE)
    assert (draft.status, draft.version, draft.requires_approval) == (SkillStatus.DRAFT, 1, True)
    assert await skills.tools() == ()
    with pytest.raises(SkillNotActiveError):
        await skills.run("greet", {"who": "Ann"})
    active = await skills.approve("greet", by="ann")
    assert (active.status, active.decided_by) == (SkillStatus.ACTIVE, "ann")
    (tool,) = await skills.tools()
    assert (tool.name, tool.description) == ("skill_greet", "Greets")
    assert tool.parameters["required"] == ["who"]
    assert await tool.call(who="Ann") == "Hello Ann"


@pytest.mark.requirement("knowledge.skill.create")
async def test_everything_is_checked_at_once_and_nothing_is_kept(skills: SkillService) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await skills.create(
            "../../x",
            description=" ",
            type="template",
            definition={"template": "{{ a.b( }}"},
            parameters={"type": "object", "properties": {"a": {"type": "colour"}}},
        )
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    assert len(problems) == 3
    assert (await skills.list()).total_count == 0


@pytest.mark.requirement("knowledge.skill.create")
async def test_the_configuration_may_approve_by_itself(store_url: str, clock: ManualClock) -> None:
    async with skilled_app(store_url, clock=clock, auto_approve=True) as app:
        skill = await app.skills.create("greet", description="Greets", type="template", definition=TEMPLATE)
        assert (skill.status, skill.requires_approval) == (SkillStatus.ACTIVE, False)


@pytest.mark.requirement("knowledge.skill.name")
@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_a_name_from_which_a_path_could_be_built_is_refused(sqlite_url: str, name: str) -> None:
    async with skilled_app(sqlite_url) as app:
        with pytest.raises(InvalidInputError):
            await app.skills.create(name, description="x", type="template", definition=TEMPLATE)
        with pytest.raises(InvalidInputError):
            await app.skills.get(name)
        assert (await app.skills.list()).total_count == 0


@pytest.mark.requirement("knowledge.skill.script-check")
async def test_a_dangerous_script_is_refused_at_creation_with_its_reasons(skills: SkillService) -> None:
    with pytest.raises(ScriptRefusedError) as caught:
        await skills.create("clean", description="x", type="script", definition={"script": "ls\nrm -rf /home"})
    assert caught.value.details["reasons"] == ["line 2: deletes a home folder: /home [delete]"]
    assert (await skills.list()).total_count == 0


@pytest.mark.requirement("knowledge.skill.script-check")
async def test_a_script_is_checked_again_when_it_runs(app: App, skills: SkillService) -> None:
    await make_script(skills, "tidy", "echo tidy")
    await _write_past_the_check(app, "rm -rf /home")
    with pytest.raises(ScriptRefusedError):
        await skills.run("tidy")
    with pytest.raises(ScriptRefusedError):
        await skills.approve("tidy")
    assert (await skills.get("tidy")).use_count == 0
    (row, *_) = (await app.audit.list(tenant=skills.tenant, action="skill_execute")).rows
    assert row.details["denied"] == "SCRIPT_REFUSED"


async def _write_past_the_check(app: App, script: str) -> None:
    import sqlalchemy as sa

    from lamina.database.link import Link, Prepared
    from lamina.database.schema import dump_json
    from lamina.skill.tables import skill

    statement = Prepared(sa.update(skill).values(definition=sa.bindparam("definition")))

    def write(link: Link) -> None:
        link.run(statement, {"definition": dump_json({"script": script})})

    await app.parts.database.write(write)


async def test_a_taken_name_is_refused_and_points_to_update(skills: SkillService) -> None:
    await make_template(skills)
    with pytest.raises(InvalidInputError, match="update it"):
        await skills.create("greet", description="other", type="template", definition=TEMPLATE)
    assert (await skills.get("greet")).description == "Says greet"


async def test_a_change_is_a_new_version_that_waits_for_approval_again(app: App, skills: SkillService) -> None:
    await make_template(skills)
    changed = await skills.update("greet", definition={"template": "Bye {{ name }}"})
    assert (changed.version, changed.status, changed.decided_by) == (2, SkillStatus.DRAFT, None)
    assert changed.parameters["required"] == ["name"]
    same = await skills.update("greet", definition={"template": "Bye {{ name }}"})
    assert same.version == 2
    assert [one.version for one in await skills.history("greet")] == [2, 1]
    assert [one.definition["template"] for one in await skills.history("greet")] == [
        "Bye {{ name }}",
        "Hello {{ who }}",
    ]
    with pytest.raises(SkillNotActiveError):
        await skills.run("greet", {"name": "Ann"})
    assert await loose_ends(app) == {}


async def test_what_was_looked_at_is_what_is_approved(skills: SkillService) -> None:
    await make_template(skills)
    await skills.update("greet", description="Greets, or not")
    with pytest.raises(InvalidInputError, match="version 2 now"):
        await skills.approve("greet", version=1)
    assert (await skills.approve("greet", version=2)).status is SkillStatus.ACTIVE


async def test_a_rejected_skill_is_disabled_and_does_not_run(skills: SkillService) -> None:
    await make_template(skills)
    assert (await skills.reject("greet", by="bob")).status is SkillStatus.DISABLED
    with pytest.raises(SkillNotActiveError, match="disabled"):
        await skills.run("greet", {"who": "Ann"})
    assert await skills.tools() == ()


@pytest.mark.requirement("knowledge.skill.counted")
async def test_every_run_counts_use_and_success_and_leaves_an_audit_row(app: App, skills: SkillService) -> None:
    await make_template(skills)
    template = "{% for one in many %}{{ one.missing }}{% endfor %}"
    await skills.create(
        "fragile",
        description="Fails",
        type="template",
        definition={"template": template},
        parameters={"type": "object", "properties": {"many": {"type": "array"}}, "required": ["many"]},
    )
    await skills.approve("fragile")
    with app.session("telegram:1:2"):
        await skills.run("greet", {"who": "Ann"})
        with pytest.raises(SkillFailedError):
            await skills.run("fragile", {"many": [{}]})
    greet, fragile = await skills.get("greet"), await skills.get("fragile")
    assert (greet.use_count, greet.success_count, round(greet.confidence, 3)) == (1, 1, 0.667)
    assert (fragile.use_count, fragile.success_count, round(fragile.confidence, 3)) == (1, 0, 0.333)
    rows = (await app.audit.list(tenant=skills.tenant, action="skill_execute")).rows
    assert [(row.target, row.details["outcome"], row.session_key) for row in rows] == [
        ("fragile", "SKILL_FAILED", "telegram:1:2"),
        ("greet", "ok", "telegram:1:2"),
    ]


async def test_uses_that_others_made_are_counted(skills: SkillService) -> None:
    await make_template(skills)
    await skills.record_use("greet", success=True)
    await skills.record_use("greet", success=False)
    found = await skills.get("greet")
    assert (found.use_count, found.success_count) == (2, 1)
    with pytest.raises(SkillNotFoundError):
        await skills.record_use("nobody", success=True)


@pytest.mark.requirement("knowledge.skill.run-template")
@pytest.mark.parametrize("arguments", [{}, {"who": "Ann", "extra": 1}, {"who": 3}, None])
async def test_a_missing_extra_or_unfitting_parameter_is_an_error(
    skills: SkillService, arguments: dict[str, object] | None
) -> None:
    await make_template(skills)
    with pytest.raises(InvalidInputError):
        await skills.run("greet", arguments)
    assert (await skills.get("greet")).use_count == 0


async def test_a_search_finds_active_skills_by_name_and_description(skills: SkillService) -> None:
    await skills.create(
        "release-notes", description="Collects what changed since the last tag", type="template", definition=TEMPLATE
    )
    await skills.create("water-plants", description="Reminds of the flowers", type="template", definition=TEMPLATE)
    assert await skills.search("what changed since the last release?") == ()
    await skills.approve("release-notes")
    await skills.approve("water-plants")
    assert [hit.skill.name for hit in await skills.search("what changed since the last release?")][:1] == [
        "release-notes"
    ]
    assert [hit.skill.name for hit in await skills.search("flowers")] == ["water-plants"]
    await skills.reject("water-plants")
    assert await skills.search("flowers") == ()
    assert [hit.skill.name for hit in await skills.search("flowers", status=None)] == ["water-plants"]


async def test_a_listing_pages_through_and_filters(skills: SkillService) -> None:
    for at in range(5):
        await make_template(skills, f"t{at}")
    await make_script(skills, "s", "echo")
    page = await skills.list(type=SkillType.TEMPLATE, limit=3)
    rest = await skills.list(type="template", limit=3, cursor=page.next_cursor)
    assert [one.name for one in (*page.skills, *rest.skills)] == ["t4", "t3", "t2", "t1", "t0"]
    assert (page.total_count, rest.next_cursor) == (5, None)
    assert (await skills.list(status="draft")).total_count == 0


async def test_a_deleted_skill_leaves_nothing(app: App, skills: SkillService) -> None:
    await make_template(skills)
    await skills.delete("greet")
    with pytest.raises(SkillNotFoundError):
        await skills.get("greet")
    assert await skills.search("greet", status=None) == ()
    assert await loose_ends(app) == {}
    with pytest.raises(SkillNotFoundError):
        await skills.delete("greet")


async def test_tenants_do_not_see_each_other(skills: SkillService) -> None:
    await make_template(skills)
    other = skills.for_tenant("other")
    for verb in (other.get, other.history, other.approve, other.reject, other.delete, other.run):
        with pytest.raises(SkillNotFoundError):
            await verb("greet")
    assert await other.search("greet", status=None) == ()
    assert (await other.list()).total_count == 0
    assert await other.tools() == ()
    await make_template(other, "greet", "Other {{ who }}")
    await other.delete("greet")
    assert (await skills.run("greet", {"who": "Ann"})).output == "Hello Ann"


async def test_skills_are_off_with_knowledge(store_url: str) -> None:
    async with skilled_app(store_url, enabled=False) as app:
        with pytest.raises(ConfigurationError, match=r"knowledge\.enabled"):
            await app.skills.create("greet", description="x", type="template", definition=TEMPLATE)
        with pytest.raises(ConfigurationError):
            await app.skills.run("greet")
        assert await app.skills.search("greet") == ()
        assert (await app.skills.list()).total_count == 0
        assert await app.skills.tools() == ()
