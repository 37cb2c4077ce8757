"""`lamina reembed` and `lamina calibrate`. The rooms that do the work are imported when a command runs."""

import asyncio
import json
import os
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.table import Table

from lamina.cli.command import command
from lamina.cli.invocation import Invocation

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.embedding.reembed import Progress, ReembedReport
    from lamina.index.calibration import Calibration

commands = typer.Typer()
_PANEL = "Store"


@command(
    commands,
    "reembed",
    panel=_PANEL,
    examples=(
        "lamina reembed --embedder onnx:models/e5-small",
        "lamina reembed --embedder openai:text-embedding-3-small",
    ),
)
def reembed(call: Invocation) -> None:
    """Change the store's embedding model to the configured one, or to that of --embedder.

    Searches use the old model until every memory of every tenant has its new vector. Interrupt it whenever you
    like: the same command goes on where it stopped.
    """
    with call.output.progress("embedding") as progress:
        try:
            report = asyncio.run(_reembed(call, progress))
        except (KeyboardInterrupt, asyncio.CancelledError):
            call.output.note("The store still uses its old model. Run the same command again to go on.")
            raise
    words = f"{report.embedded} embedded, {report.resumed} done before; the store now uses {report.model}"
    if report.previous == report.model:
        words = f"nothing to do: the store uses {report.model}"
    document = {
        "embedded": report.embedded,
        "resumed": report.resumed,
        "model": report.model,
        "previous": report.previous,
    }
    call.output.show(document, words)
    if call.embedder is not None and report.previous != report.model:
        call.output.note(f'To open it from now on: model = "{call.embedder}" under [embedding] in lamina.toml.')


async def _reembed(call: Invocation, progress: "Progress") -> "ReembedReport":
    from lamina.database.engine import Database
    from lamina.database.upkeep import existing_store
    from lamina.embedding.factory import create_embedder
    from lamina.embedding.reembed import Reembedding
    from lamina.kernel.clock import SystemClock
    from lamina.memory.texts import MemoryTexts

    settings = call.settings().settings
    existing_store(settings.database)
    # Not through the app: it refuses to open a store with another model than its own.
    embedder = await create_embedder(settings.embedding, environ=os.environ)
    database = Database(settings.database)
    try:
        await database.open(create=False)
        change = Reembedding(
            database=database, embedder=embedder, sources=[MemoryTexts()], clock=SystemClock(), progress=progress
        )
        return await change.run()
    finally:
        await database.close()
        await embedder.aclose()


@command(commands, "calibrate", panel=_PANEL, examples=("lamina calibrate", "lamina calibrate --json"))
def calibrate(call: Invocation) -> None:
    """Fit anew what the embedder's similarities mean, from texts that Lamina ships, and keep it in the store.

    A new store does this by itself; run it after the model behind an endpoint changed.
    """

    async def work(app: "App") -> "Calibration":
        from lamina.embedding.adoption import fit
        from lamina.index.models import save_calibration

        model = app.parts.provider.model
        calibration = await fit(app.parts.embedder)
        await app.parts.database.write(lambda link: save_calibration(link, model.id, calibration))
        return calibration

    fitted = json.loads(call.run(work).to_json())
    table = Table(box=box.ROUNDED, border_style="dim", show_header=False)
    for name, value in fitted.items():
        table.add_row(name, f"{value:.4f}" if isinstance(value, float) else str(value))
    call.output.show(fitted, table)
