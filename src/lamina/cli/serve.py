"""`lamina serve`: the whole service in one process."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.demo import filled
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag

if TYPE_CHECKING:
    from lamina.config import Settings
    from lamina.server.running import Running

commands = typer.Typer()


def _option(name: str, metavar: str, help: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help, show_default=False)


@command(
    commands,
    "serve",
    panel="Serve and connect",
    examples=(
        "lamina serve",
        "lamina serve --demo",
        "lamina serve --store agent.db --port 8080",
        "lamina serve --host 0.0.0.0",
    ),
)
def serve(
    call: Invocation,
    port: Annotated[int | None, _option("--port", "NUMBER", "The port to listen on, 7077 by default.")] = None,
    host: Annotated[str | None, _option("--host", "ADDRESS", "The address to listen on, this machine's own.")] = None,
    demo: Annotated[
        bool, flag("--demo", "Serve a store with a story of two weeks, lamina-demo.db by default.")
    ] = False,
) -> None:
    """Serve the store: the HTTP API, MCP, the OpenAI-compatible endpoint, metrics and the page, at one address.

    Runs until it is stopped: the first signal lets requests under way finish, the second ends it at once. The section
    `server` of the settings has the rest.
    """
    import asyncio

    from lamina.observability.logging import configure_logging
    from lamina.server.running import checked

    settings = filled(call)[0] if demo else call.settings().settings
    changes: dict[str, Any] = {name: value for name, value in (("port", port), ("host", host)) if value is not None}
    settings = settings.model_copy(update={"server": checked(settings.server, **changes)})
    configure_logging(settings.logging.level, settings.logging.format)
    asyncio.run(_serve(call, settings))


async def _serve(call: Invocation, settings: "Settings") -> None:
    import asyncio
    import contextlib
    import signal

    from lamina.app import App
    from lamina.server.running import serving

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def told() -> None:
        stop.set()
        for number in signals:  # the next one ends the process, whatever it is doing
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in signals:
        with contextlib.suppress(NotImplementedError):  # Windows: there Ctrl-C cancels this task instead
            loop.add_signal_handler(number, told)
    async with App(settings) as app, serving(app) as running:
        _announce(call, settings, running)
        await stop.wait()


def _announce(call: Invocation, settings: "Settings", running: "Running") -> None:
    from lamina.kernel.text import mask_secrets

    store = mask_secrets(settings.database.url)
    document = {
        "url": running.url,
        "api": f"{running.url}/v1",
        "docs": f"{running.url}/docs",
        "store": store,
        "keys": not running.open,
    }
    call.output.show(document, Text.assemble("Lamina serves ", store, " at ", (running.url, "bold")))
    if running.open:
        call.output.note("There is no key, so only programs of this machine are let in; `lamina key create` makes one")
    call.output.note("Ctrl-C stops it")
    sys.stdout.flush()
