"""`lamina export` and `lamina import`. The rooms that do the work are imported when a command runs."""

import os
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from lamina.cli.command import command
from lamina.cli.foreign import import_foreign
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag
from lamina.errors import ConfigurationError, InvalidInputError

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.house.transfer import TenantTransfer, TransferReport

commands = typer.Typer()
_PANEL = "Store"
PARTS = ("memories", "knowledge", "references", "learnings", "skills", "sessions", "graph", "quarantine")
"""What can be exported by itself; a test keeps the names equal to those of `lamina.house.transfer`."""
_LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a line at most, so that a file without line ends does not fill the memory."""


_OUTCOMES = ("stored", "replaced", "skipped", "expired")


class Foreign(StrEnum):
    """Whose files are read; a test keeps the names equal to `lamina.importing.service.Origin`."""

    MEM0 = "mem0"
    LANGGRAPH = "langgraph"
    ADK = "adk"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class Conflict(StrEnum):
    """What happens to a line whose record is there already."""

    SKIP = "skip"
    REPLACE = "replace"
    ERROR = "error"


@command(
    commands,
    "export",
    panel=_PANEL,
    examples=(
        "lamina export all.jsonl",
        "lamina export - | gzip > all.jsonl.gz",
        "lamina export known.jsonl --only memories,knowledge",
    ),
)
def export(
    call: Invocation,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write; - is standard output.")],
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PARTS", help=f"Some parts of it, with commas: {', '.join(PARTS)}."),
    ] = None,
    force: Annotated[bool, flag("--force", "Overwrite the file if it is there.")] = False,
) -> None:
    """Write everything the tenant knows as JSON Lines: memories, knowledge, conversations and all the rest.

    History, versions, notes and decisions come along, all of one moment, whatever is written meanwhile. Keys, the audit
    log and the receipts of prompts stay behind, and vectors: whoever imports it embeds it. A file appears under its
    name only when it is complete. With --json a summary follows, unless FILE is -.
    """
    to_stdout = file == "-"
    chosen = None if only is None else [part.strip() for part in only.split(",")]

    async def work(app: "App") -> int:
        from lamina.database.upkeep import refuse_store_itself

        count = 0
        if not to_stdout:
            refuse_store_itself(app.parts.database.address, Path(file), Path(_part(file)))
        transfer = _transfer(app)
        transfer.chosen(chosen)  # a wrong part is told before a file is begun
        with _writing(file, force) as target, call.output.progress("exporting") as progress:

            def report(done: int, total: int | None) -> None:
                nonlocal count
                count = done
                progress(done, total)

            async with aclosing(transfer.export_lines(report, only=chosen)) as lines:
                async for line in lines:
                    target.write(line)
        return count

    count = call.run(work)
    if not to_stdout:
        call.output.show({"exported": count, "file": file}, f"{count} exported to {file}")


@command(
    commands,
    "import",
    panel=_PANEL,
    examples=(
        "lamina import all.jsonl",
        "zcat all.jsonl.gz | lamina import - --on-conflict replace",
        "lamina import --from mem0 ~/.mem0 --user ann --dry-run",
        "lamina import --from langgraph store.db --layout memories/{user_id}",
        "lamina import --from openai chatgpt-export.zip --user ann",
    ),
    whose=True,
)
def import_(
    call: Invocation,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What to read; - is standard input.")],
    origin: Annotated[
        Foreign | None, typer.Option("--from", help="Whose file or folder it is, if not Lamina's.", show_default=False)
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option("--layout", metavar="PATH", help="A namespace of LangGraph, such as memories/{user_id}."),
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", "With --from: say what would be taken, and take nothing.")] = False,
    on_conflict: Annotated[
        Conflict,
        typer.Option("--on-conflict", help="What happens to what is there already; conversations always stay."),
    ] = Conflict.SKIP,
) -> None:
    """Read what `lamina export` wrote, into this store and this tenant, and embed it anew.

    Lines are stored in batches; after an error or an interruption run the same command again, it skips what is there.
    A skill stays approved, but scripts are checked anew, and one that is refused comes in switched off. Memories can be
    written by hand: such a line needs `content` and `identifiers`.

    With --from, take over memories of mem0, LangGraph or ADK, or conversations of ChatGPT (openai) or Claude
    (anthropic); --user says whose they are where the file does not.
    """
    if origin is not None:
        import_foreign(call, origin.value, file, layouts=layout or (), dry_run=dry_run)
        return
    if dry_run or layout:
        name = "--dry-run" if dry_run else "--layout"
        raise InvalidInputError(f"{name} goes with --from.", details={"next": "Leave it away, or say --from."})

    async def work(app: "App") -> "TransferReport":
        with _reading(file) as source, call.output.progress("importing") as progress:
            return await _transfer(app).import_lines(_lines(source), on_conflict=on_conflict.value, progress=progress)

    try:
        report = call.run(work, create=True)
    except InvalidInputError as error:
        if "line" in error.details:
            error.details["next"] = "Correct the line and run the same command again; what is stored is skipped."
        raise
    words = [f"{getattr(report, name)} {name}" for name in _OUTCOMES if getattr(report, name)]
    call.output.show(asdict(report), ", ".join(words) or "nothing to import")
    if report.apart:
        call.output.note(f"{report.apart} messages were left out: their conversation went another way here")
    if report.expected is not None and report.done < report.expected:
        call.output.note(f"the file announced {report.expected} records and held {report.done}: is it complete?")


def _transfer(app: "App") -> "TenantTransfer":
    return app.for_tenant(app.settings.memory.tenant).transfer


def _part(file: str) -> str:
    """Where a file is written until it is complete."""
    return f"{file}.part"


@contextmanager
def _writing(file: str, force: bool) -> Iterator[IO[bytes]]:
    """The file to write, put in its place at the end; a failed one leaves nothing behind."""
    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if Path(file).exists() and not force:
        raise InvalidInputError(f"{file} exists already.", details={"next": "Choose another name, or add --force."})
    part = _part(file)
    try:
        with open(part, "wb") as target:
            yield target
        os.replace(part, file)
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be written: {error.strerror}.", details={"next": "Check the folder and the disk."}
        ) from error
    finally:
        Path(part).unlink(missing_ok=True)


@contextmanager
def _reading(file: str) -> Iterator[IO[bytes]]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        source = open(file, "rb")  # noqa: SIM115 -- closed below; opening alone may fail as a wrong path
    except OSError as error:
        raise InvalidInputError(
            f"{file} cannot be read: {error.strerror}.", details={"next": "Check the path."}
        ) from error
    with source:
        yield source


def _lines(source: IO[bytes]) -> Iterator[bytes]:
    number = 0
    while line := source.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise InvalidInputError(f"Line {number}: it has more than {_LONGEST_LINE} bytes.", details={"line": number})
        yield line
