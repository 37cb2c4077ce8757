"""The `lamina.toml` that `lamina init` writes: few settings, each with a word on what it does. Pure."""

import json
from dataclasses import dataclass

_KEY_NOTE = "# The key is read from this variable of the environment; it never stands in a file."


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What somebody wants to begin with."""

    store: str
    embedder: str
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    rooms: bool = True
    """Whether knowledge, notes and the graph are switched on beside memory."""


def settings_text(chosen: Choices) -> str:
    """The file, ready to be read by `lamina` and by people."""
    parts = [
        "# Settings of Lamina. `lamina config show` prints all there are, `lamina config show memory` what they do.\n"
        "# A variable of the environment wins over this file: LAMINA_STORE, or LAMINA_MEMORY__THRESHOLD for\n"
        "# memory.threshold.",
        _section(
            "database",
            "# A file for SQLite, or an address such as postgresql://user@host/name.",
            _line("url", chosen.store),
        ),
        _section(
            "embedding",
            "# What turns text into vectors: static (shipped, offline), openai:MODEL, onnx:FOLDER or fastembed:NAME.",
            _line("model", chosen.embedder),
            *(_endpoint(chosen) if chosen.embedder.startswith("openai:") else ()),
        ),
        _model(chosen),
        _section("knowledge", "# Knowledge, learnings from tools, skills and references.", _switch(chosen.rooms)),
        _section("observational_memory", "# Notes on long conversations.", _switch(chosen.rooms)),
        _section("graph", "# People, things and how they are related, read from what is saved.", _switch(chosen.rooms)),
        _section(
            "context", "# Keep the receipt of every prompt, for `lamina context receipts`.", "store_receipts = true"
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _model(chosen: Choices) -> str:
    about = "# The chat model that writes notes on conversations; without one Lamina writes them itself."
    if chosen.model is None:
        return _section("llm", about, '# model = "gpt-4o-mini"', '# base_url = "http://localhost:11434/v1"')
    return _section("llm", about, _line("model", chosen.model), *_endpoint(chosen))


def _endpoint(chosen: Choices) -> tuple[str, ...]:
    address = () if chosen.base_url is None else (_line("base_url", chosen.base_url),)
    key = () if chosen.api_key_env is None else (_KEY_NOTE, _line("api_key_env", chosen.api_key_env))
    return (*address, *key)


def _section(name: str, *lines: str) -> str:
    return "\n".join((f"[{name}]", *lines))


def _line(name: str, value: str) -> str:
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"


def _switch(on: bool) -> str:
    return f"enabled = {str(on).lower()}"
