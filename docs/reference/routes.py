"""The routes of the HTTP API as a page, from the OpenAPI document that the service itself gives out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from fastapi import FastAPI

from lamina.api.routes import api_router
from lamina.memory.types import Identifiers

Schema = dict[str, Any]

_EVERYWHERE = {"400", "401", "403", "413", "422", "429", "502", "503", "504"}
"""Statuses that any route may answer with; the page says so once."""
_IDENTIFIERS = [field.name for field in fields(Identifiers)]
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}


def routes() -> str:
    """Every route: what it does, what it takes, and what an answer looks like."""
    service = FastAPI()
    service.include_router(api_router())
    document = service.openapi()
    shapes = Shapes(document["components"]["schemas"])
    operations = [(path, verb, found) for path, verbs in document["paths"].items() for verb, found in verbs.items()]
    parts: list[str] = []
    for tag in dict.fromkeys(found["tags"][0] for _, _, found in operations):
        parts.append(f"## {tag.capitalize()}")
        for path, verb, found in operations:
            if found["tags"][0] == tag:
                parts += _operation(f"{verb.upper()} {path}", found, shapes)
    return "\n\n".join(parts)


class Shapes:
    """The schemas of the document, read for people."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self._schemas = schemas

    def resolve(self, schema: Schema) -> Schema:
        """A schema itself instead of a pointer to it."""
        pointer = schema.get("$ref")
        return schema if pointer is None else self._schemas[pointer.rpartition("/")[2]]

    def words(self, schema: Schema) -> str:
        """What fits a schema."""
        found = self.resolve(schema)
        if "enum" in found:
            return ", ".join(f"`{value}`" for value in found["enum"])
        if "const" in found:
            return f"`{found['const']}`"
        if choices := found.get("anyOf") or found.get("oneOf"):
            some = [self.words(choice) for choice in choices if choice.get("type") != "null"]
            return " or ".join(dict.fromkeys(some))
        if found.get("type") == "array":
            return f"list of {self.words(found.get('items', {}))}"
        return _WORDS.get(found.get("type", ""), "object")

    def example(self, schema: Schema, *, whole: bool) -> Any:
        """A value that fits a schema: its example, else one put together; `whole` includes what may be left out."""
        for given in (schema, self.resolve(schema)):
            if "examples" in given:
                return given["examples"][0]
            if "default" in given and not whole:
                return given["default"]
        found = self.resolve(schema)
        if choices := found.get("anyOf") or found.get("oneOf"):
            return self.example(choices[0], whole=whole)
        if "properties" in found:
            return {name: self.example(each, whole=whole) for name, each in self._shown(found, whole=whole)}
        if found.get("type") == "array":
            return [self.example(found.get("items", {}), whole=whole)]
        if found.get("format") == "date-time":
            return "2026-03-02T18:30:00+00:00"
        simple = {"string": "…", "integer": 0, "number": 0.0, "boolean": False, "null": None}
        return found.get("const", found["enum"][0] if "enum" in found else simple.get(found.get("type", ""), {}))

    def _shown(self, found: Schema, *, whole: bool) -> Iterator[tuple[str, Schema]]:
        required = found.get("required", [])
        for name, each in found["properties"].items():
            if whole or name in required or "examples" in each:
                yield name, each


def _operation(head: str, found: Schema, shapes: Shapes) -> Iterator[str]:
    yield f"### {found['summary']}"
    yield f"`{head}`"
    yield found.get("description", "")
    body = found.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if rows := [*_parameters(found.get("parameters", []), shapes), *_fields(body, shapes)]:
        yield "\n".join(["| name | in | takes | meaning |", "|---|---|---|---|", *rows])
    if body is not None:
        yield _json(shapes.example(body, whole=False))
    yield from _answers(found["responses"], shapes)


def _parameters(parameters: Sequence[Schema], shapes: Shapes) -> Iterator[str]:
    whose = [f"`{each['name']}`" for each in parameters if each["in"] == "query" and each["name"] in _IDENTIFIERS]
    if len(whose) == len(_IDENTIFIERS):
        yield f"| {', '.join(whose)} | query | text | Whose it is. |"
        parameters = [each for each in parameters if each["name"] not in _IDENTIFIERS]
    for each in parameters:
        schema = each.get("schema", {})
        yield _row(each["name"], each["in"], schema, each.get("description", ""), each.get("required", False), shapes)


def _fields(body: Schema | None, shapes: Shapes) -> Iterator[str]:
    found = {} if body is None else shapes.resolve(body)
    for name, schema in found.get("properties", {}).items():
        said = schema.get("description") or shapes.resolve(schema).get("description", "")
        yield _row(name, "body", schema, said, name in found.get("required", []), shapes)


def _row(name: str, place: str, schema: Schema, said: str, required: bool, shapes: Shapes) -> str:
    needed = "**needed**. " if required and place != "path" else ""
    default = schema.get("default")
    otherwise = f" Default: `{json.dumps(default)}`." if default not in (None, {}, []) else ""
    cells = [f"`{name}`", place, shapes.words(schema), f"{needed}{' '.join(said.split())}{otherwise}"]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _answers(responses: dict[str, Schema], shapes: Shapes) -> Iterator[str]:
    for status, answer in responses.items():
        if status.startswith("2"):
            schema = answer.get("content", {}).get("application/json", {}).get("schema")
            said = "" if schema is None else shapes.resolve(schema).get("description", "")
            yield f"Answers {status}. {said}".rstrip()
            if schema:
                yield _json(shapes.example(schema, whole=True))
    special = [
        f"{status}: {answer['description']}" for status, answer in responses.items() if status not in _EVERYWHERE
    ]
    if refused := [line for line in special if not line.startswith("2")]:
        yield "\n".join(f"- {line}" for line in refused)


def _json(value: Any) -> str:
    return f"```json\n{_drawn(value)}\n```"


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
