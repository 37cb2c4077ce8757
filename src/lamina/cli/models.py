"""`lamina reembed` and `lamina calibrate`. The rooms that do the work are imported when a command runs."""

import json
import os
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.table import Table

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.output import one_line, plain

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
    import asyncio

    try:
        with call.output.progress("embedding") as progress:
            report = asyncio.run(_reembed(call, progress))
    except KeyboardInterrupt:
        call.output.note("The store still uses its old model. Run the same command again to go on.")
        raise
    document = {
        "embedded": report.embedded,
        "resumed": report.resumed,
        "model": report.model,
        "previous": report.previous,
    }
    if report.previous == report.model:
        call.output.show(document, plain(f"nothing to do: the store uses {report.model}"))
        return
    before = f", {report.resumed} by an earlier run" if report.resumed else ""
    call.output.show(document, plain(f"{report.embedded} embedded{before}; the store now uses {report.model}"))
    if call.embedder is not None:
        call.output.note("Put this into lamina.toml, so that every command uses it:")
        call.output.note(f"[embedding]\nmodel = {json.dumps(call.embedder)}")


async def _reembed(call: Invocation, progress: "Progress") -> "ReembedReport":
    from lamina.database.engine import Database
    from lamina.database.upkeep import existing_store
    from lamina.embedding.factory import create_embedder
    from lamina.embedding.reembed import Reembedding
    from lamina.house.texts import all_texts
    from lamina.kernel.clock import SystemClock

    settings = call.settings().settings
    existing_store(settings.database)
    # Not through the app: it refuses to open a store with another model than its own.
    embedder = await create_embedder(settings.embedding, environ=os.environ)
    database = Database(settings.database)
    try:
        await database.open(create=False)
        change = Reembedding(
            database=database, embedder=embedder, sources=all_texts(), clock=SystemClock(), progress=progress
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

    async def work(app: "App") -> "tuple[Calibration | None, Calibration]":
        from lamina.embedding.adoption import fit
        from lamina.index.models import save_calibration

        model = app.parts.provider.model
        calibration = await fit(app.parts.embedder)
        await app.parts.database.write(lambda link: save_calibration(link, model.id, calibration))
        return model.calibration, calibration

    before, fitted = call.run(work)
    sample = _sample_size()
    changed = before != fitted
    table = Table(box=box.ROUNDED, border_style="dim", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("embedder", one_line(fitted.embedder))
    table.add_row("unrelated", f"a similarity up to {fitted.unrelated:.4f} counts nothing")
    table.add_row("related", f"a similarity from {fitted.related:.4f} on counts in full")
    table.add_row("fitted to", f"{sample} questions and {sample} memories that Lamina ships, no labels")
    table.add_row("kept", "in the store; programs that have it open see it when they open it again")
    table.add_row("before", _scale(before) if changed else "the same")
    scales = {"before": None if before is None else _numbers(before), "sample": sample, "changed": changed}
    call.output.show({"embedder": fitted.embedder, **_numbers(fitted), **scales}, table)


def _scale(calibration: "Calibration | None") -> str:
    return "none" if calibration is None else f"{calibration.unrelated:.4f} to {calibration.related:.4f}"


def _numbers(calibration: "Calibration") -> dict[str, float]:
    return {"unrelated": calibration.unrelated, "related": calibration.related}


def _sample_size() -> int:
    from lamina.index.calibration import calibration_texts

    return len(calibration_texts()[0])
