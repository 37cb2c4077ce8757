"""`lamina mcp`: the memory for clients that speak the Model Context Protocol."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lamina.cli.command import command, group_command
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.mcp.connection import Connection

commands = typer.Typer(name="mcp")

_ReadOnly = Annotated[bool, flag("--read-only", "Offer nothing that changes anything.")]


def _option(name: str, metavar: str, help: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help, show_default=False)


@group_command(
    commands,
    examples=(
        "lamina mcp --user ann",
        "lamina mcp --user ann --project harbour --read-only",
        "lamina mcp install --help",
    ),
    whose=True,
)
def mcp(call: Invocation, read_only: _ReadOnly = False) -> None:
    """Serve the memory over MCP on standard input and output, for a client that starts this command.

    Whose memory it is stands on the command line, or in variables such as X_LAMINA_USER; the model cannot choose it.
    """
    _require_sdk()

    async def serve(app: "App") -> None:
        import os
        import sys

        from lamina.mcp.stdio import local_connection

        connection = local_connection(app, call.identifiers, os.environ, read_only=read_only)
        if not connection.identifiers:
            call.output.note("Nobody is named, so nothing can be remembered: give --user, --project or X_LAMINA_USER")
        if sys.stdin.isatty():
            call.output.note(
                "Waiting for a client on standard input; `lamina mcp install` sets one up. Ctrl-C ends this"
            )
        await _until_stopped(app, connection)

    call.remark_if_off("knowledge")
    call.run(serve, create=True)


async def _until_stopped(app: "App", connection: "Connection") -> None:
    import asyncio
    import contextlib
    import os
    import signal

    from lamina.mcp.stdio import serve_stdio

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: there Ctrl-C cancels this task instead
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    serving = asyncio.create_task(serve_stdio(app, connection))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not serving.done():
        # The thread that waits for input cannot be woken. Whatever was accepted is stored once the app is closed.
        await app.close()
        os._exit(0)
    stopping.cancel()
    await serving


@command(
    commands,
    "install",
    examples=(
        "lamina mcp install --client claude-code --user ann",
        "lamina mcp install --client cursor --user ann --write",
        "lamina mcp install --client vscode --url http://127.0.0.1:7077/mcp --key",
    ),
    whose=True,
)
def install(
    call: Invocation,
    client: Annotated[str, _option("--client", "NAME", "claude-code, cursor or vscode.")],
    url: Annotated[str | None, _option("--url", "URL", "The /mcp of a running `lamina serve`.")] = None,
    key: Annotated[bool, flag("--key", "With --url: the service needs a key.")] = False,
    file: Annotated[Path | None, _option("--file", "FILE", "Another file than the project's own.")] = None,
    read_only: _ReadOnly = False,
    write: Annotated[bool, flag("--write", "Put it into the file, and leave the rest as it is.")] = False,
    replace: Annotated[bool, flag("--replace", "Replace another server named lamina.")] = False,
) -> None:
    """Print, or write, the configuration that makes a client use this memory.

    The client starts `lamina mcp` itself; with --url it goes to a service that runs. A key is never written: Claude
    Code and Cursor take it from the variable X_LAMINA_API_KEY, VS Code asks for it.
    """
    from lamina.errors import InvalidInputError
    from lamina.mcp import clients
    from lamina.mcp.names import HEADERS

    chosen = clients.CLIENTS.get(client)
    if chosen is None:
        raise InvalidInputError(f"There is no client {client!r}; choose one of {', '.join(clients.CLIENTS)}.")
    if url is None:
        wanted = clients.started_by(chosen, _words(call, read_only))
    elif read_only:
        raise InvalidInputError("What a service allows is a matter of the key: make one with --right read.")
    else:
        whose = {HEADERS[name]: str(value) for name, value in call.identifiers.items()}
        wanted = clients.reached_at(chosen, url, whose, key=key)
    _show(call, file or chosen.path, wanted, write=write, replace=replace)


def _show(call: Invocation, path: Path, wanted: dict[str, Any], *, write: bool, replace: bool) -> None:
    import json

    from lamina.mcp import clients

    text = clients.merged(path, wanted, replace=replace) if write else None
    kept = None if text is None else clients.write(path, text)
    document = {"path": str(path), "configuration": wanted, "written": text is not None}
    document |= {} if kept is None else {"backup": str(kept)}
    call.output.show(document, json.dumps(wanted, indent=2, ensure_ascii=False))
    if not call.identifiers:
        call.output.note("Nobody is named, so nothing can be remembered: add --user or --project")
    if not write:
        call.output.note(f"Put this into {path}, or run the command again with --write")
    elif text is None:
        call.output.note(f"{path} has it already")
    else:
        call.output.note(f"Written to {path}" + ("" if kept is None else f"; as it was before: {kept}"))


def _words(call: Invocation, read_only: bool) -> list[str]:
    """The command line that a client starts, from wherever it is: paths are whole."""
    import os
    import shutil
    import sys

    program = shutil.which("lamina", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    whose = [word for name, value in call.identifiers.items() for word in (f"--{name.removesuffix('_id')}", str(value))]
    tenant = [] if call.tenant is None else ["--tenant", call.tenant]
    embedder = [] if call.embedder is None else ["--embedder", call.embedder]
    return [
        *(program or "lamina", "mcp", *_place(call), *tenant, *embedder, *whose),
        *(["--read-only"] if read_only else []),
    ]


def _place(call: Invocation) -> list[str]:
    """The file with the settings, and the store where the file does not say so in a way that holds everywhere."""
    from lamina.config import settings_file
    from lamina.errors import InvalidInputError
    from lamina.kernel.text import mask_secrets

    loaded = call.settings()
    file = settings_file(call.config)
    config = [] if file is None else ["--config", str(file.resolve())]
    url = loaded.settings.database.url
    everywhere = "://" in url or url == ":memory:" or Path(url).is_absolute()
    if everywhere and loaded.origin("database.url").startswith("file "):
        return config
    if mask_secrets(url) != url:
        raise InvalidInputError(
            "The address of the store holds a password, which does not belong into this file.",
            details={"next": "Put the address into lamina.toml as database.url and give --config."},
        )
    return [*config, "--store", url if everywhere else str(Path(url).resolve())]


def _require_sdk() -> None:
    import importlib.util

    from lamina.errors import ConfigurationError

    if importlib.util.find_spec("mcp") is None:
        raise ConfigurationError("MCP needs its package: pip install 'lamina[mcp]'")
