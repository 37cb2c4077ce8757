"""`lamina demo`: a small sample with a few questions, or a story of two weeks that fills a store."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from lamina.cli.command import command
from lamina.cli.documents import results_document
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag
from lamina.cli.tables import results_note, results_table

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.config import Settings
    from lamina.memory.types import SearchResults

commands = typer.Typer()
_LIMIT = 4


@command(
    commands,
    "demo",
    examples=("lamina demo", "lamina demo --store demo.db", "lamina demo --fill --store story.db"),
    panel="Look and check",
)
def demo(
    call: Invocation,
    fill: Annotated[bool, flag("--fill", "Fill a store with a story of two weeks instead, once.")] = False,
) -> None:
    """Store a sample conversation and some rules, then search them, layer by layer.

    Works on a temporary store, or in the tenant `demo` of the one that --store names. With --fill a store of its own,
    lamina-demo.db or the one that --store names, gets what three people and their assistant said, learned and decided
    in two weeks; `lamina serve --demo` shows it.
    """
    if fill:
        _fill(call)
    else:
        _show(call)


def _fill(call: Invocation) -> None:
    from lamina.kernel.text import mask_secrets

    settings, told = filled(call)
    store = mask_secrets(settings.database.url)
    words = f"two weeks of a story are in {store}" if told else f"{store} holds the story already"
    call.output.show({"store": store, "filled": told}, words)
    call.output.note(f"next: lamina serve --demo --store {store}")


def filled(call: Invocation) -> "tuple[Settings, bool]":
    """The settings of a store that holds the story, and whether it was told just now."""
    import asyncio

    from lamina.demo.settings import STORE, demo_settings
    from lamina.demo.telling import fill

    settings = replace(call, store=call.store or STORE).settings().settings
    with call.output.progress("two weeks go by") as progress:
        told = asyncio.run(fill(settings, progress=progress))
    return demo_settings(settings), told


def _show(call: Invocation) -> None:
    from lamina.cli import demo_sample as sample

    call = replace(call, tenant=call.tenant or sample.TENANT)
    if call.store is not None:
        answers = call.run(_ask, create=True)
    else:
        with tempfile.TemporaryDirectory(prefix="lamina-demo-") as folder:
            answers = replace(call, store=str(Path(folder) / "demo.db")).run(_ask, create=True)
    document = [results_document(question, results) for question, results in answers.items()]
    call.output.show(document, *_page(answers, call.store))


async def _ask(app: "App") -> "dict[str, SearchResults]":
    from lamina.cli import demo_sample as sample

    memory = app.memory
    tenant = app.settings.memory.tenant
    await app.hierarchy.set(
        tenant=tenant, project_id="shop", team_id="storefront", org_id="commerce", company_id="acme"
    )
    if not (await memory.list(layer="project", project_id="shop", limit=1)).memories:
        await memory.bulk_add([*sample.CONVERSATION, *sample.RULES])
    return {
        question: await memory.search(question, user_id="ana", project_id="shop", limit=_LIMIT, explain=True)
        for question, _ in sample.QUESTIONS
    }


def _page(answers: "dict[str, SearchResults]", store: str | None) -> list[RenderableType]:
    from lamina.cli import demo_sample as sample

    turns, rules = len(sample.CONVERSATION), len(sample.RULES)
    page: list[RenderableType] = [
        Text.assemble(("\nStored ", "bold"), f"{turns} turns of a conversation, {rules} facts and rules"),
        Text("user ana · project shop › team storefront › org commerce › company acme\n", style="dim"),
    ]
    for number, (question, remark) in enumerate(sample.QUESTIONS):
        results = answers[question]
        answer = results_table(results, explain=number == 1) if results else Text("  no results", style="bold yellow")
        page.append(
            Group(
                Text.assemble(("? ", "bold cyan"), (question, "bold")),
                Text(f"  {remark}", style="italic dim"),
                answer,
                Text(f"  {results_note(results)}\n", style="dim"),
            )
        )
    where = f" --store {store}" if store else ""
    page.append(
        Text.assemble(
            ("Next steps\n", "bold"),
            f'  lamina add "Prefers dark mode" --user u1{where}\n',
            f'  lamina search "dark mode" --user u1 --explain{where}\n',
            "  lamina --help",
        )
    )
    return page
