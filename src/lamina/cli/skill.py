"""`lamina skill`: composites, scripts and templates that an agent keeps, after somebody approved them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.knowledge import ACTOR
from lamina.cli.options import flag, json_object
from lamina.cli.output import one_line
from lamina.cli.skill_check import check_corpus, check_files, read_script
from lamina.cli.skill_tables import skill_fields, skill_hits_table, skills_table
from lamina.errors import InvalidInputError
from lamina.skill.records import hit_record, import_record, run_record, skill_record, version_record
from lamina.skill.types import ImportReport, Skill, SkillHit, SkillPage, SkillRun, SkillVersion

if TYPE_CHECKING:
    from lamina.app import App

commands = typer.Typer(
    name="skill",
    help="Reusable skills: composites, scripts and templates. They run after somebody approved them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The skill's name.")]
_Version = Annotated[int | None, typer.Option(metavar="N", help="Only if this is the latest version.")]


@command(
    commands,
    "create",
    examples=(
        'lamina skill create greet --type template --description "Greets somebody" --text "Hello {{ who }}"',
        'lamina skill create count-lines --type script --description "Counts lines" --file count.sh '
        '--parameters \'{"properties": {"text": {"type": "string"}}, "required": ["text"]}\'',
        'lamina skill create report --type composite --description "Weather note" --file steps.json',
    ),
)
def create(
    call: Invocation,
    name: _Name,
    type: Annotated[str, typer.Option("--type", "-t", metavar="NAME", help="composite, script or template.")],
    description: Annotated[str, typer.Option(metavar="TEXT", help="What it does; this is what is searched.")],
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="The script, the template, or the steps.")] = None,
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="Read that from a file; - is stdin.")] = None,
    parameters: Annotated[str | None, typer.Option(metavar="JSON", help="A JSON schema of its parameters.")] = None,
    approve: Annotated[bool, flag("--approve", "Approve it at once.")] = False,
) -> None:
    """Keep a new skill. It is checked now, and runs only after it was approved."""
    content = _content(text, file)
    definition = _definition(type, content)
    schema = None if parameters is None else json_object(parameters, "--parameters")

    async def work(app: "App") -> Skill:
        skills = app.skills.acting_as(ACTOR)
        made = await skills.create(
            name, description=description, type=type, definition=definition, parameters=schema, origin="user"
        )
        return await skills.approve(name, version=made.version) if approve else made

    skill = call.run(work, create=True)
    call.output.show(skill_record(skill), skill.status.value)
    if skill.status.value == "draft":
        call.output.note(f"it runs after: lamina skill approve {skill.name}")


@command(commands, "list", examples=("lamina skill list", "lamina skill list --status draft --json"))
def list_(
    call: Invocation,
    status: Annotated[str | None, typer.Option(metavar="NAME", help="draft, active or disabled.")] = None,
    type: Annotated[str | None, typer.Option("--type", "-t", metavar="NAME", help="Only this type.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Skills on a page.")] = None,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Where the page before this one ended.")] = None,
) -> None:
    """List skills, newest name first."""

    async def work(app: "App") -> SkillPage:
        return await app.skills.list(status=status, type=type, limit=limit, cursor=cursor)

    page = call.run(work)
    document = {
        "skills": list(map(skill_record, page.skills)),
        "next_cursor": page.next_cursor,
        "total_count": page.total_count,
    }
    call.output.show(document, skills_table(page.skills) if page.skills else "no skills")
    if not page.skills:
        call.remark_if_off("knowledge")
    if page.next_cursor:
        call.output.note(f"more: the same command with --cursor {page.next_cursor}")


@command(commands, "show", examples=("lamina skill show greet", "lamina skill show greet --history --json"))
def show(
    call: Invocation,
    name: _Name,
    history: Annotated[bool, flag("--history", "Every version, newest first.")] = False,
) -> None:
    """Show a skill with all its fields: look before you approve."""

    async def work(app: "App") -> tuple[Skill, tuple[SkillVersion, ...]]:
        return await app.skills.get(name), await app.skills.history(name) if history else ()

    skill, versions = call.run(work)
    document = skill_record(skill) | ({"versions": list(map(version_record, versions))} if history else {})
    call.output.show(document, skill_fields(skill, versions))


@command(commands, "search", examples=('lamina skill search "greet a customer"',))
def search(
    call: Invocation,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or some words.")],
    status: Annotated[str, typer.Option(metavar="NAME", help="active, draft, disabled or all.")] = "active",
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", help="Results at most.")] = None,
) -> None:
    """Search names and descriptions."""

    async def work(app: "App") -> tuple[SkillHit, ...]:
        return await app.skills.search(query, status=None if status == "all" else status, limit=limit)

    hits = call.run(work)
    document = {"query": query, "results": list(map(hit_record, hits))}
    call.output.show(document, skill_hits_table(hits) if hits else "no results")
    if not hits:
        call.remark_if_off("knowledge")


@command(commands, "approve", examples=("lamina skill approve greet", "lamina skill approve greet --version 2"))
def approve(call: Invocation, name: _Name, version: _Version = None) -> None:
    """Let a skill run, and offer it as a tool."""

    async def work(app: "App") -> Skill:
        return await app.skills.acting_as(ACTOR).approve(name, version=version)

    skill = call.run(work)
    call.output.show(skill_record(skill), skill.status.value)


@command(commands, "reject", examples=("lamina skill reject greet",))
def reject(call: Invocation, name: _Name, version: _Version = None) -> None:
    """Never let a skill run, or not any more."""

    async def work(app: "App") -> Skill:
        return await app.skills.acting_as(ACTOR).reject(name, version=version)

    skill = call.run(work)
    call.output.show(skill_record(skill), skill.status.value)


@command(commands, "run", examples=('lamina skill run greet --arguments \'{"who": "Ann"}\'',))
def run(
    call: Invocation,
    name: _Name,
    arguments: Annotated[str | None, typer.Option("--arguments", "-a", metavar="JSON", help="Its parameters.")] = None,
) -> None:
    """Run an active skill. A composite needs tools, which only a program can offer: use the Python API for those."""
    given = json_object(arguments, "--arguments")

    async def work(app: "App") -> SkillRun:
        return await app.skills.acting_as(ACTOR).run(name, given)

    result = call.run(work)
    shown = result.output if isinstance(result.output, str) else json.dumps(result.output, default=str)
    if call.output.json:
        call.output.show(json.loads(json.dumps(run_record(result), default=str)))
    else:
        print(shown, end="" if shown.endswith("\n") else "\n")


@command(
    commands,
    "check",
    examples=("lamina skill check deploy.sh tidy.sh", "lamina skill check --jsonl commands.jsonl --json"),
)
def check(
    call: Invocation,
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE...", help="Scripts; - is stdin.")] = None,
    jsonl: Annotated[Path | None, typer.Option(metavar="FILE", help="Rows with command and label.")] = None,
) -> None:
    """Say whether scripts may run, with every reason against them; exit status 1 when one is refused.

    With --jsonl, each row's `label` is `dangerous` or anything else, and the shares that were refused are printed.
    """
    if (jsonl is None) == (not files):
        raise InvalidInputError("Name scripts, or rows with --jsonl; one of the two.", details={"field": "files"})
    if jsonl is not None:
        call.output.show(*check_corpus(jsonl))
        return
    document, table, refused = check_files(files or [])
    call.output.show(document, table)
    if refused:
        raise typer.Exit(1)


@command(commands, "import", examples=("lamina skill import skills/",))
def import_(
    call: Invocation,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder with a SKILL.md, or with such folders.")],
) -> None:
    """Create skills from SKILL.md folders; names that exist are skipped, and each is checked like a new one."""

    async def work(app: "App") -> ImportReport:
        return await app.skills.acting_as(ACTOR).import_folder(folder)

    report = call.run(work, create=True)
    lines = [f"created {skill.name} ({skill.status.value})" for skill in report.created]
    lines += [f"skipped {name}: it exists" for name in report.skipped]
    lines += [f"failed {name}: {why}" for name, why in report.failed.items()]
    call.output.show(import_record(report), *[one_line(one) for one in lines])
    if report.left_out:
        call.output.note(f"not kept: {', '.join(report.left_out[:10])}")
    if report.failed:
        raise typer.Exit(1)


@command(commands, "export", examples=("lamina skill export greet skills/",))
def export(
    call: Invocation,
    name: _Name,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where its folder is made.")],
    overwrite: Annotated[bool, flag("--overwrite", "Replace what is there.")] = False,
) -> None:
    """Write a skill as a SKILL.md folder."""

    async def work(app: "App") -> Path:
        return await app.skills.acting_as(ACTOR).export_folder(name, folder, overwrite=overwrite)

    written = call.run(work)
    call.output.show({"file": str(written)}, one_line(str(written)))


@command(commands, "delete", examples=("lamina skill delete greet",))
def delete(call: Invocation, name: _Name) -> None:
    """Forget a skill with all its versions."""

    async def work(app: "App") -> None:
        await app.skills.acting_as(ACTOR).delete(name)

    call.run(work)
    call.output.show({"name": name, "deleted": True}, "deleted")


def _content(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise InvalidInputError("Give the content with --text or with --file; one of the two.")
    if text is not None:
        return text
    return read_script(file or Path("-"))


def _definition(type: str, content: str) -> dict[str, object]:
    if type != "composite":
        return {type: content}
    try:
        steps = json.loads(content)
    except ValueError as error:
        raise InvalidInputError(f"The steps are not JSON: {error}", details={"field": "steps"}) from None
    return steps if isinstance(steps, dict) else {"steps": steps}
