"""The routes of the HTTP API as a page, from the OpenAPI document that the service gives out."""

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from fastapi import FastAPI

from lamina.api.routes import api_routes
from lamina.memory.types import Identifiers
from lamina.server import health
from lamina.server.openapi import finished
from lamina.server.reading import Field, Operation, chapters

_EVERYWHERE = {"400", "401", "403", "413", "429", "502", "503", "504"}
"""Statuses that any route may answer with; the page says so once."""
_IDENTIFIERS = [field.name for field in fields(Identifiers)]


def routes() -> str:
    """Every route: what it does, what it takes, and what an answer looks like."""
    service = FastAPI()
    service.router.routes += [*health.router.routes, *api_routes()]
    parts: list[str] = []
    for chapter in chapters(finished(service.openapi())):
        parts.append(f"## {chapter.name.capitalize()}")
        for operation in chapter.operations:
            parts += _operation(operation)
    return "\n\n".join(parts).replace("&#39;", "'")


def _operation(operation: Operation) -> Iterator[str]:
    yield f"### {operation.summary}"
    yield f"`{operation.method} {operation.path}`"
    yield from operation.paragraphs
    if rows := list(_rows(operation.fields)):
        yield "\n".join(["| name | in | takes | meaning |", "|---|---|---|---|", *rows])
    yield f"```sh\n{operation.command}\n```"
    for reply in operation.replies:
        if reply.is_success:
            yield f"Answers {reply.status}: {reply.text}"
            if reply.example:
                yield f"```json\n{_shown(reply.example)}\n```"
    refused = [reply for reply in operation.replies if not reply.is_success and reply.status not in _EVERYWHERE]
    if refused:
        yield "\n".join(f"- {reply.status}: {reply.text}" for reply in refused)


def _rows(given: tuple[Field, ...]) -> Iterator[str]:
    whose = [field for field in given if field.place == "query" and field.name in _IDENTIFIERS]
    if len(whose) == len(_IDENTIFIERS):
        names = ", ".join(f"`{field.name}`" for field in whose)
        yield f"| {names} | query | string | Whose it is. |"
    for field in given:
        # A header that every write takes is described once, above.
        if field.place != "header" and not (len(whose) == len(_IDENTIFIERS) and field in whose):
            needed = "**needed** " if field.required and field.place != "path" else ""
            takes = field.type.replace("|", "or")
            yield f"| `{field.name}` | {field.place} | {takes} | {needed}{field.text} |"


def _shown(example: str) -> str:
    try:
        return _drawn(json.loads(example))
    except json.JSONDecodeError:  # a stream: one object a line
        return example


def _drawn(value: Any, indent: str = "") -> str:
    """JSON with what is short on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + len(flat) <= 80:
        return flat
    inner = indent + "  "
    if isinstance(value, list):
        lines, ends = [_drawn(each, inner) for each in value], "[]"
    else:
        lines, ends = [f"{json.dumps(name)}: {_drawn(each, inner)}" for name, each in value.items()], "{}"
    return f"{ends[0]}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{ends[1]}"
