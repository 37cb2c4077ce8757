"""`lamina key`: the keys that let callers of the service in."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag, moment, moment_option
from lamina.cli.output import one_line

if TYPE_CHECKING:
    from lamina.access.types import Key, NewKey
    from lamina.app import App

commands = typer.Typer(
    name="key",
    help="The keys that let callers of the service in. Without any, only this machine is let in.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


class Rights(StrEnum):
    """What a key may allow; a test keeps them equal to `Right`."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@command(
    commands,
    "create",
    whose=True,
    examples=(
        "lamina key create laptop",
        "lamina key create dashboard --right read --expires 90d",
        "lamina key create ann-phone --user ann",
        "lamina key create operator --right admin --tenant acme --json",
    ),
)
def create(
    call: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you will know it by.")],
    right: Annotated[
        Rights, typer.Option("--right", metavar="NAME", help="What it allows: read, write or admin.")
    ] = Rights.WRITE,
    expires: Annotated[str | None, moment_option("--expires", "When it ends: a moment, or a span such as 90d.")] = None,
) -> None:
    """Make a key and print its secret, this once. With --user and the like it is for them alone."""

    async def work(app: "App") -> "NewKey":
        ends = moment(expires, "--expires", now=datetime.now(UTC))
        return await app.keys.create(name, right=right.value, expires_at=ends, **call.identifiers)

    made = call.run(work, create=True)
    call.output.show({**_record(made.key), "secret": made.secret}, made.secret)
    call.output.note("Keep it now: it is stored nowhere and is not shown again.")
    call.output.note("Clients send it as their API key, or in the header Authorization: Bearer SECRET.")
    call.output.note(f"Take it back with: lamina key revoke {made.key.id}")


@command(commands, "list", examples=("lamina key list", "lamina key list --all --json"))
def list_(call: Invocation, all: Annotated[bool, flag("--all", "Also those that were revoked.")] = False) -> None:
    """List the keys of a tenant, newest first, with their last use."""

    async def work(app: "App") -> "tuple[Key, ...]":
        return await app.keys.list(revoked=all)

    keys = call.run(work)
    none = "no keys: the service lets in this machine, and nobody else"
    call.output.show([_record(key) for key in keys], _table(keys) if keys else none)


@command(commands, "revoke", examples=("lamina key revoke 3f9a0c2b71de4456",))
def revoke(
    call: Invocation,
    id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, or its secret; `lamina key list` shows ids.")],
) -> None:
    """Take a key back for good. A running service refuses it within a second."""

    async def work(app: "App") -> "tuple[Key, bool]":
        return await app.keys.revoke(id), await app.keys.any()

    key, is_any = call.run(work)
    call.output.show(_record(key), f"revoked {key.id}")
    if not is_any:
        call.output.note("It was the last one: on a loopback address the service lets in this machine without a key.")


def _record(key: "Key") -> dict[str, object]:
    from lamina.access.records import key_record

    return {**key_record(key), "tenant": key.tenant}


def _table(keys: "tuple[Key, ...]") -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold", expand=True)
    table.add_column("key", no_wrap=True)
    table.add_column("name", overflow="fold", ratio=1)
    table.add_column("may", no_wrap=True)
    table.add_column("last use", no_wrap=True)
    now = datetime.now(UTC)
    for key in keys:
        whom = ", ".join(f"{name.removesuffix('_id')} {value}" for name, value in key.identifiers.to_dict().items())
        lines = [one_line(key.name), *([one_line(f"for {whom}", "cyan")] if whom else ())]
        if ends := _end(key, now):
            lines.append(ends)
        used = f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never"
        table.add_row(key.id, Text("\n").join(lines), key.right.value, used)
    return table


def _end(key: "Key", now: datetime) -> Text | None:
    if key.revoked_at is not None:
        return Text(f"revoked {key.revoked_at:%Y-%m-%d %H:%M}", style="red")
    if key.expires_at is None:
        return None
    over = key.expires_at <= now
    return Text(f"{'expired' if over else 'until'} {key.expires_at:%Y-%m-%d %H:%M}", style="red" if over else "dim")
