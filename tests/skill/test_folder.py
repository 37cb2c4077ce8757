"""Skills travel as SKILL.md folders, and nothing else comes along."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInputError
from lamina.skill.define import check_draft
from lamina.skill.folder import LARGEST_FILE, find_folders, parse_document, render_document, write_folder
from lamina.skill.service import SkillService
from lamina.skill.types import Skill, SkillOrigin, SkillStatus, SkillType
from tests.skill.opening import make_script, make_template, skilled_app

NOW = datetime(2026, 1, 2, tzinfo=UTC)
FOREIGN = """---
name: review-code
description: >-
  Reviews a change.
  Use it when asked.
license: MIT
allowed-tools: Read Grep
when: 2026-01-02
---

# Review

Look at the diff; `{{ this }}` is no variable.

```bash
git diff
```
"""


def _skill(**fields: object) -> Skill:
    given: dict[str, object] = {
        "name": "one",
        "description": "Does one thing",
        "type": SkillType.TEMPLATE,
        "definition": {"template": "x"},
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        "metadata": {},
        **fields,
    }
    return Skill(
        **given,  # type: ignore[arg-type]
        version=3,
        status=SkillStatus.ACTIVE,
        requires_approval=True,
        created_by="ann",
        decided_by=None,
        origin=SkillOrigin.AGENT,
        use_count=0,
        success_count=0,
        created_at=NOW,
        updated_at=NOW,
        last_used_at=None,
    )


_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t`~#-"), min_size=1, max_size=80)


@given(
    st.sampled_from([("script", SkillType.SCRIPT), ("template", SkillType.TEMPLATE)]),
    _TEXT,
    _TEXT.filter(lambda text: bool(text.strip())),
    st.dictionaries(st.sampled_from(["license", "when_to_use"]), _TEXT),
)
def test_what_is_written_is_what_is_read(
    kind: tuple[str, SkillType], content: str, description: str, metadata: dict[str, str]
) -> None:
    skill = _skill(type=kind[1], definition={kind[0]: content}, description=description, metadata=metadata)
    read = parse_document(render_document(skill))
    assert (read.name, read.description, read.type) == (skill.name, skill.description, skill.type)
    assert (read.definition, read.parameters, read.metadata) == (skill.definition, skill.parameters, skill.metadata)


@pytest.mark.anyio
@pytest.mark.requirement("knowledge.skill.exchange")
async def test_skills_of_every_type_go_out_and_come_back_as_drafts(skills: SkillService, tmp_path: Path) -> None:
    await make_template(skills, "greet", "Hello {{ who }}\n```\n{% if who %}!{% endif %}")
    await make_script(skills, "count", "wc -l <<'E'\n$SKILL_TEXT\nE\n", text={"type": "string", "maxLength": 9})
    steps: list[object] = [{"tool": "a", "params": {"x": ["{{ inputs.n }}", 1.5, None]}}, {"tool": "b", "params": {}}]
    schema = {"properties": {"n": {"type": "integer"}}}
    await skills.create(
        "both", description="Both: a & b", type="composite", definition={"steps": steps}, parameters=schema
    )
    for name in ("greet", "count", "both"):
        written = await skills.export_folder(name, tmp_path)
        assert written == tmp_path / name / "SKILL.md"
        assert written.stat().st_mode & 0o077 == 0
    other = skills.for_tenant("other")
    report = await other.import_folder(tmp_path)
    assert (len(report.created), report.skipped, report.failed, report.left_out) == (3, (), {}, ())
    for name in ("greet", "count", "both"):
        there, here = await skills.get(name), await other.get(name)
        assert (here.status, here.version, here.origin) == (SkillStatus.DRAFT, 1, SkillOrigin.IMPORT)
        for field in ("description", "type", "definition", "parameters", "metadata"):
            assert getattr(here, field) == getattr(there, field)
    assert (await other.import_folder(tmp_path)).skipped == ("both", "count", "greet")


@pytest.mark.anyio
@pytest.mark.requirement("knowledge.skill.exchange")
async def test_a_folder_from_elsewhere_becomes_text_for_the_agent(skills: SkillService, tmp_path: Path) -> None:
    folder = tmp_path / "review"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(FOREIGN)
    report = await skills.import_folder(folder)
    (skill,) = report.created
    assert (skill.name, skill.description) == ("review-code", "Reviews a change. Use it when asked.")
    assert skill.metadata == {"license": "MIT", "allowed-tools": "Read Grep", "when": "2026-01-02"}
    assert report.left_out == ("review/scripts",)
    await skills.approve("review-code")
    assert "`{{ this }}` is no variable" in str((await skills.run("review-code")).output)


@pytest.mark.anyio
@pytest.mark.requirement("knowledge.skill.exchange")
async def test_import_validates_like_create_and_one_bad_folder_stops_no_other(
    skills: SkillService, tmp_path: Path
) -> None:
    bad = {
        "evil": "---\nname: evil\ndescription: x\ntype: script\nstatus: active\n---\n```bash\nrm -rf /\n```\n",
        "escape": "---\nname: ../../escape\ndescription: x\n---\ntext\n",
        "python": "---\nname: python\ndescription: x\ntype: template\n---\n```template\n{{ ''.__class__ }}\n```\n",
        "yaml": "---\nname: !!python/object/apply:os.system ['id']\n---\n",
        "bomb": "---\na: &a [x, x]\nb: &b [*a, *a]\nname: bomb\n---\n",
        "deep": "---\nname: " + "[" * 5_000 + "\n---\n",
        "open": "---\nname: open\n",
        "plain": "no front matter",
        "kind": "---\nname: kind\ndescription: x\ntype: fork\n---\n```\nx\n```\n",
        "nameless": "---\ndescription: x\n---\ntext\n",
    }
    for name, text in {**bad, "good": "---\nname: good\ndescription: fine\n---\ntext\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(text)
    report = await skills.import_folder(tmp_path)
    assert [skill.name for skill in report.created] == ["good"]
    assert set(report.failed) == set(bad)
    assert (await skills.list()).total_count == 1


@pytest.mark.parametrize(
    ("front", "problem"),
    # The reader's time grows with the square of the depth: without a bound this would not end.
    [("x: " + "[" * 30_000, "nested"), ("x: " + "{a: " * 15_000, "nested"), ("x: y\n" * 20_000, "characters")],
)
def test_front_matter_that_takes_for_ever_is_refused(front: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        parse_document(f"---\nname: slow\ndescription: x\n{front}\n---\ntext\n")


def test_links_pipes_and_large_files_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(FOREIGN)
    skills = tmp_path / "skills"
    for name in ("link", "pipe", "folder", "large", "bytes"):
        (skills / name).mkdir(parents=True)
    (skills / "link" / "SKILL.md").symlink_to(secret)
    os.mkfifo(skills / "pipe" / "SKILL.md")
    (skills / "folder" / "SKILL.md").mkdir()
    (skills / "large" / "SKILL.md").write_bytes(b"---\n" + b"a" * LARGEST_FILE)
    (skills / "bytes" / "SKILL.md").write_bytes(b"---\n\xff\xfe\n---\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "SKILL.md").write_text(FOREIGN)
    (skills / "linked").symlink_to(elsewhere)
    found = find_folders(skills, most=50)
    assert sorted(one.folder for one in found) == ["bytes", "folder", "large", "link", "linked", "pipe"]
    assert all(one.problem and not one.text for one in found)


def test_an_import_is_bounded_and_needs_a_folder(tmp_path: Path) -> None:
    for at in range(4):
        (tmp_path / f"s{at}").mkdir()
        (tmp_path / f"s{at}" / "SKILL.md").write_text(FOREIGN)
    with pytest.raises(InvalidInputError, match="at most 3"):
        find_folders(tmp_path, most=3)
    with pytest.raises(InvalidInputError):
        find_folders(tmp_path / "nowhere", most=3)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError):
        find_folders(tmp_path / "empty", most=3)


def test_an_export_never_writes_through_a_link_or_over_a_file(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = tmp_path / "target"
    target.mkdir()
    (target / "one").symlink_to(outside)
    with pytest.raises(InvalidInputError):
        write_folder(target, _skill(), overwrite=True)
    assert list(outside.iterdir()) == []
    (target / "one").unlink()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (target / "one").mkdir()
    (target / "one" / "SKILL.md").symlink_to(victim)
    with pytest.raises(InvalidInputError, match="exists"):
        write_folder(target, _skill(), overwrite=False)
    write_folder(target, _skill(), overwrite=True)
    assert victim.read_text() == "mine"
    assert not (target / "one" / "SKILL.md").is_symlink()


def test_a_hostile_name_never_becomes_a_path(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        write_folder(tmp_path / "in", _skill(name="../../x"), overwrite=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
async def test_an_import_takes_slots_like_a_creation(sqlite_url: str, tmp_path: Path) -> None:
    for at in range(3):
        (tmp_path / f"s{at}").mkdir()
        (tmp_path / f"s{at}" / "SKILL.md").write_text(FOREIGN.replace("review-code", f"s{at}"))
    async with skilled_app(sqlite_url, max_per_day=2) as app:
        report = await app.skills.import_folder(tmp_path)
        assert (len(report.created), list(report.failed)) == (2, ["s2"])
        assert "skill.max_per_day" in report.failed["s2"]


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_text_makes_the_reader_crash(front: str, body: str) -> None:
    try:
        read = parse_document(f"---\n{front}\n---\n{body}")
        check_draft(
            name=read.name,
            description=read.description,
            type=read.type,
            definition=read.definition,
            parameters=read.parameters,
            metadata=read.metadata,
        )
    except InvalidInputError:
        pass
