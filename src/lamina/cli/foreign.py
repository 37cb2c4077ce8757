"""`lamina import --from`: takes over what other memories and chats hold. The readers are imported when it runs."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from lamina.cli.invocation import Invocation
from lamina.cli.output import one_line
from lamina.cli.sizes import count_text
from lamina.errors import InvalidInputError

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.importing.types import Report


def import_foreign(
    call: Invocation, origin: str, place: str, *, layouts: Sequence[str] = (), dry_run: bool = False
) -> None:
    """Read a file, a folder or an address, and show what was taken and what was not."""
    from lamina.importing.service import Origin, import_from
    from lamina.memory.types import Identifiers

    if "://" not in place and not Path(place).expanduser().exists():
        raise InvalidInputError(f"{place} is not there.", details={"next": "Check the path."})

    async def work(app: "App") -> "Report":
        with call.output.progress("reading" if dry_run else "importing") as progress:
            return await import_from(
                app,
                Origin(origin),
                Path(place).expanduser(),
                whose=Identifiers(**call.identifiers),
                layouts=[tuple(one.split("/")) for one in layouts],
                dry_run=dry_run,
                progress=progress,
            )

    if dry_run:  # nothing is written, so no store is made either
        report = Invocation(store=":memory:", config=call.config, tenant=call.tenant, output=call.output).run(
            work, create=True
        )
    else:
        report = call.run(work, create=True)
    document = {
        "source": report.source,
        "dry_run": report.dry_run,
        "memories": report.memories,
        "conversations": report.conversations,
        "messages": report.messages,
        "known": report.known,
        "expired": report.expired,
        "left_out": report.left_out,
    }
    call.output.show(document, *_lines(report))
    if report.conversations and not dry_run:
        who = call.identifiers.get("user_id")
        whose = f"--user {shlex.quote(who)}" if who else "--session KEY"
        call.output.note(f'next: lamina session list, and lamina session recall "some words" {whose}')


def _lines(report: "Report") -> list[Text]:
    counted = (
        (report.memories, count_text(report.memories, "memory", "memories")),
        (report.conversations, count_text(report.conversations, "conversation")),
        (report.messages, count_text(report.messages, "message")),
        (report.known, f"{report.known} there already"),
        (report.expired, f"{report.expired} expired"),
    )
    words = ", ".join(text for count, text in counted if count) or "nothing to import"
    lines = [Text(f"{words}{' would be taken' if report.dry_run and words[0].isdigit() else ''}")]
    for one in report.left_out:
        examples = ", ".join(map(str, one["examples"])) if isinstance(one["examples"], list) else ""
        lines.append(
            Text.assemble(
                ("  left out  ", "yellow"),
                f"{one['count']}: ",
                one_line(str(one["why"])),
                "  " if examples else "",
                one_line(f"({examples})" if examples else "", "dim"),
            )
        )
    return lines
