"""`lamina init`: asks what is needed, writes `lamina.toml`, and tries it."""

import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lamina.cli.command import command
from lamina.cli.doctor import checks_table
from lamina.cli.init_file import Choices, settings_text
from lamina.cli.invocation import Invocation
from lamina.cli.options import flag
from lamina.cli.output import is_narrow
from lamina.errors import ConfigurationError, InvalidInputError, LaminaError

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.cli.checks import Check
    from lamina.config import Settings

commands = typer.Typer()
_DEFAULT_FILE = "lamina.toml"
_MODES = {False: 0o644, True: 0o600}
"""By whether the file holds a password."""


def _option(name: str, metavar: str, help: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help, show_default=False)


@command(
    commands,
    "init",
    panel="Look and check",
    examples=(
        "lamina init",
        "lamina init --store agent.db --yes",
        "lamina init --store postgresql://localhost/lamina --embedder openai:text-embedding-3-small",
        "lamina init --model llama3.1 --base-url http://localhost:11434/v1 --yes --json",
    ),
)
def init(
    call: Invocation,
    model: Annotated[str | None, _option("--model", "NAME", "The chat model; without one Lamina uses none.")] = None,
    base_url: Annotated[str | None, _option("--base-url", "URL", "Where the models answer, if not at OpenAI.")] = None,
    api_key_env: Annotated[
        str | None, _option("--api-key-env", "NAME", "The environment variable that holds their key.")
    ] = None,
    memory_only: Annotated[bool, flag("--memory-only", "Leave knowledge, notes and the graph switched off.")] = False,
    yes: Annotated[bool, flag("--yes", "Ask nothing: take the options, and the defaults for the rest.")] = False,
    force: Annotated[bool, flag("--force", "Replace the file if it is there.")] = False,
) -> None:
    """Write lamina.toml, or the file that --config names, and try the store, the embedder and the model in it.

    In a terminal it asks for what no option says. The exit status is 1 when something does not answer; the file is
    written all the same, to be corrected.
    """
    path = call.config or Path(_DEFAULT_FILE)
    if path.exists() and not force:
        raise InvalidInputError(f"{path} exists already.", details={"next": "Change it by hand, or add --force."})
    chosen = Choices(
        store=call.store or "lamina.db",
        embedder=call.embedder or "static",
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
        rooms=not memory_only,
    )
    if not yes and not call.output.json and _is_terminal():
        chosen = _asked(call, chosen)
    _write(path, chosen)
    with call.output.progress("trying it"):
        checks = _tried(Invocation(config=path, tenant=call.tenant, output=call.output))
    problems = sum(check.state == "problem" for check in checks)
    document = {"file": str(path), "working": not problems, "checks": [asdict(check) for check in checks]}
    call.output.show(document, f"wrote {path}", checks_table(checks, narrow=is_narrow(sys.stdout)))
    if problems:
        call.output.note(f"correct {path}, or run `lamina init --force` again; `lamina doctor` looks once more")
        raise typer.Exit(1)
    where = "" if call.config is None else f" --config {path}"
    call.output.note(f'next: lamina{where} add "Prefers dark mode" --user me, then lamina{where} serve')


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _asked(call: Invocation, chosen: Choices) -> Choices:
    """The choices, with answers for what no option said."""

    def ask(question: str, default: str) -> str:
        return str(typer.prompt(question, default=default, show_default=bool(default), err=True)).strip()

    store = call.store or ask("Where is the store (a file, or postgresql://...)", chosen.store)
    embedder = call.embedder or ask("Which embedder (static, openai:MODEL, fastembed:NAME)", chosen.embedder)
    model = chosen.model or ask("Which chat model writes notes (empty: none, Lamina does it itself)", "") or None
    base_url, key = chosen.base_url, chosen.api_key_env
    if (model or embedder.startswith("openai:")) and base_url is None:
        base_url = ask("Where do the models answer (empty: at OpenAI)", "") or None
        key = key or ask("Which environment variable holds the key", "OPENAI_API_KEY")
    rooms = chosen.rooms and typer.confirm("Switch on knowledge, notes and the graph?", default=True, err=True)
    return replace(chosen, store=store, embedder=embedder, model=model, base_url=base_url, api_key_env=key, rooms=rooms)


def _write(path: Path, chosen: Choices) -> None:
    """Write the file as a whole, for its owner alone where it holds a password."""
    from lamina.kernel.text import mask_secrets

    text, part = settings_text(chosen), path.with_name(f"{path.name}.part")
    secret = mask_secrets(chosen.store) != chosen.store
    try:
        part.unlink(missing_ok=True)
        with open(part, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, _MODES[secret])) as file:
            file.write(text)
        part.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {error.strerror}.", details={"next": "Check the folder and the disk."}
        ) from error


def _tried(call: Invocation) -> "list[Check]":
    """What the file leads to: each piece is tried, also where another one fails."""
    import asyncio

    from lamina.cli.checks import embedder_check, failure

    try:
        settings = call.settings().settings
    except LaminaError as error:
        return [failure("settings", error)]
    embedder, _ = asyncio.run(embedder_check(settings))
    store = _store_check(call, settings) if embedder.state == "ok" else None
    checks = [embedder, *(() if store is None else (store,))]
    return [*checks, asyncio.run(_model_check(settings))]


def _store_check(call: Invocation, settings: "Settings") -> "Check":
    from lamina.cli.checks import Check, failure
    from lamina.database.upkeep import read_status

    async def look(app: "App") -> None:
        await app.sweep()

    try:
        call.run(look, create=True)
        status = read_status(settings.database)
    except LaminaError as error:
        return failure("store", error)
    return Check(name="store", state="ok", found=f"{status.address}, {status.engine}, ready")


async def _model_check(settings: "Settings") -> "Check":
    from lamina.cli.checks import Check, failure
    from lamina.llm.factory import create_chat_model
    from lamina.llm.types import ChatMessage, ChatRequest

    try:
        model = create_chat_model(settings.llm, environ=os.environ)
        if model is None:
            return Check(name="chat model", state="not checked", found="none: notes are taken without one")
        try:
            await model.complete(ChatRequest(messages=(ChatMessage(role="user", content="Answer with: ok"),)))
        finally:
            await model.aclose()
    except LaminaError as error:
        error.details.setdefault("next", "Check the model's name, its address and its key.")
        return failure("chat model", error)
    return Check(name="chat model", state="ok", found=f"{model.name} answers")
