"""`lamina db`: the store as a whole. The rooms that do the work are imported when a command runs."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag
from lamina.cli.output import one_line, plain
from lamina.cli.sizes import bytes_text, count_text
from lamina.errors import InvalidInputError

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.database.settings import DatabaseSettings

commands = typer.Typer()
_group = typer.Typer(no_args_is_help=True, help="Look after the store: status, migrate, sweep, vacuum, backup.")
commands.add_typer(_group, name="db", rich_help_panel="Store")


@command(_group, "status", examples=("lamina db status", "lamina db status --store postgresql://localhost/lamina"))
def status(call: Invocation) -> None:
    """Show where the store is, its size and the version of its schema; changes nothing."""
    from lamina.database.upkeep import read_status

    found = read_status(call.settings().settings.database)
    current = found.schema == found.newest
    rows = {
        "store": found.address,
        "engine": found.engine,
        "schema": f"{found.schema or 'none'} ({'current' if current else f'newest is {found.newest}'})",
        "size": bytes_text(found.size_bytes),
    }
    table = Table(box=box.ROUNDED, border_style="dim", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, one_line(value))
    call.output.show({**asdict(found), "current": current}, table)
    if not current:
        call.output.note("next: `lamina db migrate`; `lamina doctor` says more")


@command(_group, "migrate", examples=("lamina db migrate",))
def migrate(call: Invocation) -> None:
    """Bring the store's schema to this version of Lamina; opening a store does the same."""
    from lamina.database.upkeep import upgrade_schema

    before, after = upgrade_schema(call.settings().settings.database)
    words = f"schema {after}, nothing to do" if before == after else f"schema {before or 'none'} is now {after}"
    call.output.show({"before": before, "after": after}, words)


@command(_group, "sweep", examples=("lamina db sweep",))
def sweep(call: Invocation) -> None:
    """Remove expired memories of every tenant now. A program that keeps a store open does this by itself."""

    async def work(app: "App") -> int:
        return await app.sweep()

    removed = call.run(work)
    call.output.show({"removed": removed}, f"{removed} expired removed" if removed else "nothing has expired")


@command(_group, "vacuum", examples=("lamina db vacuum",))
def vacuum(call: Invocation) -> None:
    """Drop the marks that deletions left, and give unused space back to the disk. Writers wait meanwhile."""
    import asyncio

    from lamina.database.upkeep import existing_store, vacuum

    settings = call.settings().settings.database
    existing_store(settings)
    with call.output.progress("tidying"):
        marks = asyncio.run(_drop_marks(settings))
        before, after = vacuum(settings)
    document = {"marks_removed": marks, "before_bytes": before, "after_bytes": after}
    words = f"{count_text(marks, 'mark')} of deletions removed; {bytes_text(before)} before, {bytes_text(after)} now"
    call.output.show(document, words)


async def _drop_marks(settings: "DatabaseSettings") -> int:
    from lamina.cli.consistency import tenants_with_marks
    from lamina.database.engine import Database
    from lamina.index.store import drop_tombstones

    database = Database(settings)
    try:
        await database.open(create=False)
        tenants = await database.read(tenants_with_marks)
        dropped = [await database.write(lambda link, name=name: drop_tombstones(link, tenant=name)) for name in tenants]  # type: ignore[misc]
    finally:
        await database.close()
    return sum(dropped)


@command(_group, "backup", examples=("lamina db backup lamina-backup.db", "lamina db backup nightly.db --force"))
def backup(
    call: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes.")],
    force: Annotated[bool, flag("--force", "Overwrite the file if it is there.")] = False,
) -> None:
    """Copy an embedded store while it is in use. The copy is a store of its own: open it with --store."""
    from lamina.database.upkeep import back_up

    if file.exists() and not force:
        raise InvalidInputError(f"{file} exists already.", details={"next": "Choose another name, or add --force."})
    if not file.absolute().parent.is_dir():
        raise InvalidInputError(f"The folder of {file} does not exist.", details={"next": "Create it first."})
    with call.output.progress("copying") as progress:
        size = back_up(call.settings().settings.database, file, progress)
    call.output.show({"file": str(file), "size_bytes": size}, plain(f"{bytes_text(size)} copied to {file}"))
    call.output.note(f"To look into it: lamina doctor --store {file}")
