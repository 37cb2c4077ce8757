"""`lamina proxy`: an endpoint that any client of OpenAI's protocol can use, with a memory."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.invocation import Invocation

if TYPE_CHECKING:
    from lamina.config import Settings
    from lamina.proxy.serving import Running

commands = typer.Typer()


def _option(name: str, metavar: str, help: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help, show_default=False)


@command(
    commands,
    "proxy",
    panel="Serve and connect",
    examples=(
        "lamina proxy --upstream https://api.openai.com/v1",
        "lamina proxy --upstream http://localhost:11434/v1 --port 7079 --store agent.db",
        "OPENAI_BASE_URL=http://127.0.0.1:7078/v1 python agent.py",
    ),
)
def proxy(
    call: Invocation,
    upstream: Annotated[str | None, _option("--upstream", "URL", "The endpoint that answers.")] = None,
    port: Annotated[int | None, _option("--port", "NUMBER", "The port to listen on, 7078 by default.")] = None,
    host: Annotated[str | None, _option("--host", "ADDRESS", "The address to listen on, this machine's own.")] = None,
) -> None:
    """Stand between a client and its model: the client changes its base URL, and the agent remembers.

    Runs until it is stopped. The section `proxy` of the settings has the rest.
    """
    import asyncio

    from lamina.observability.logging import configure_logging
    from lamina.proxy.serving import checked

    settings = call.settings().settings
    given = {"upstream": upstream, "port": port, "host": host}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    settings = settings.model_copy(update={"proxy": checked(settings.proxy, **changes)})
    configure_logging(settings.logging.level, settings.logging.format)
    asyncio.run(_serve(call, settings))


async def _serve(call: Invocation, settings: "Settings") -> None:
    import asyncio
    import contextlib
    import signal

    from lamina.app import App
    from lamina.proxy.serving import serving

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: there Ctrl-C cancels this task instead
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with App(settings) as app, serving(app) as running:
        _announce(call, settings, running)
        await stop.wait()


def _announce(call: Invocation, settings: "Settings", running: "Running") -> None:
    from lamina.kernel.text import mask_secrets

    upstream = mask_secrets(settings.proxy.upstream)
    document = {"url": running.url, "upstream": upstream, "store": mask_secrets(settings.database.url)}
    call.output.show(document, Text.assemble((running.url, "bold"), f" answers with {upstream} and remembers"))
    call.output.note("Give clients this base URL; Ctrl-C stops it")
    sys.stdout.flush()
