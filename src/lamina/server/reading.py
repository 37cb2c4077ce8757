"""The OpenAPI document arranged for reading: chapters of operations, each with what it takes and gives. Pure."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup, escape

Document = Mapping[str, Any]

_METHODS: Final = ("get", "post", "put", "patch", "delete")
_CODE: Final = re.compile(r"`([^`]+)`")
_PLACES: Final = ("path", "body", "query", "header", "cookie")
_HOST: Final = "http://127.0.0.1:7077"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Something that a request takes."""

    name: str
    place: str
    """`path`, `query`, `header` or `body`."""
    type: str
    required: bool
    text: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Something that an operation answers."""

    status: str
    text: Markup
    example: str

    @property
    def is_success(self) -> bool:
        """Whether it did what was asked."""
        return self.status.startswith("2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path."""

    id: str
    method: str
    path: str
    summary: str
    paragraphs: tuple[Markup, ...]
    fields: tuple[Field, ...]
    command: str
    replies: tuple[Reply, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """The operations of one resource."""

    name: str
    operations: tuple[Operation, ...]


def chapters(document: Document) -> tuple[Chapter, ...]:
    """Every operation, by its first tag, in the order of the document."""
    found: dict[str, list[Operation]] = {}
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                operation = item[method]
                found.setdefault(operation["tags"][0], []).append(_operation(document, path, method, operation))
    return tuple(Chapter(name=name, operations=tuple(operations)) for name, operations in found.items())


def _operation(document: Document, path: str, method: str, operation: Document) -> Operation:
    body = _only(operation.get("requestBody", {}).get("content", {}))
    parameters = [_resolved(document, one) for one in operation.get("parameters", ())]
    fields = [*map(_parameter, parameters), *_body_fields(document, body)]
    replies = operation["responses"].items()
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        paragraphs=tuple(as_text(part) for part in operation.get("description", "").split("\n\n") if part),
        fields=tuple(sorted(fields, key=lambda field: _PLACES.index(field.place))),
        command=_command(path, method, parameters, body),
        replies=tuple(_reply(status, _resolved(document, reply)) for status, reply in replies),
    )


def _parameter(parameter: Document) -> Field:
    return Field(
        name=parameter["name"],
        place=parameter["in"],
        type=_type(parameter["schema"]),
        required=parameter.get("required", False),
        text=as_text(parameter.get("description", "")),
    )


def _body_fields(document: Document, content: Document) -> list[Field]:
    schema = _resolved(document, content.get("schema", {}))
    needed = schema.get("required", ())
    return [
        Field(
            name=name,
            place="body",
            type=_type(value),
            required=name in needed,
            text=as_text(value.get("description") or _resolved(document, value).get("description", "")),
        )
        for name, value in schema.get("properties", {}).items()
    ]


def _type(schema: Document) -> str:
    """A word for a type: `string`, `list of string`, the name of a schema."""
    if "$ref" in schema:
        return "object"
    if "anyOf" in schema:
        kinds = dict.fromkeys(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
        return " or ".join(kinds)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    return str(schema.get("format") or schema.get("type", "anything"))


def _reply(status: str, reply: Document) -> Reply:
    contents = reply.get("content", {})
    return Reply(status=status, text=as_text(reply["description"]), example=_shown(_only(contents).get("example")))


def _command(path: str, method: str, parameters: list[Document], body: Document) -> str:
    """The request as one could type it."""
    for one in parameters:
        if one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", str(_example(one)))
    query = "&".join(
        f"{one['name']}={_example(one)}" for one in parameters if one["in"] == "query" and _example(one) is not None
    )
    words = ["curl", "-s", f"{_HOST}{path}{'?' + query if query else ''}"]
    if method not in ("get", "post") or (method == "post" and not body):
        words[2:2] = ["-X", method.upper()]
    command = shlex.join(words)
    if "example" in body:
        sent = body["example"]
        text = sent if isinstance(sent, str) else json.dumps(sent, ensure_ascii=False)
        command += f" \\\n  -H 'content-type: application/json' \\\n  -d {shlex.quote(text)}"
    return command


def _example(parameter: Document) -> Any:
    schema = parameter.get("schema", {})
    examples = schema.get("examples") or parameter.get("examples")
    found = examples[0] if isinstance(examples, list) and examples else parameter.get("example")
    return found if found is not None or parameter["in"] != "path" else parameter["name"].upper()


def _shown(example: Any) -> str:
    if example is None or isinstance(example, str):
        return example or ""
    return json.dumps(example, ensure_ascii=False, indent=2)


def _only(contents: Document) -> Document:
    """The first of the forms that something comes in."""
    found: Document = next(iter(contents.values()), {})
    return found


def _resolved(document: Document, item: Document) -> Document:
    """What a reference stands for."""
    if "$ref" not in item:
        return item
    found: Any = document
    for step in item["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    resolved: Document = found
    return resolved


def as_text(text: str) -> Markup:
    """Plain text with `code` in it."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))
